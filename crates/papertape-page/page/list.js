// The list of frames. Only the rows that are seen exist; they are filled again while scrolling.
import { get } from "./api.js";
import { $, el } from "./dom.js";
import { DIRECTIONS, outcome, time, what } from "./rows.js";
import { filter, set, state } from "./state.js";
import { duration, size } from "./units.js";

const ROW = 26;
const CHUNK = 200;
/** Chunks that are kept: the rest is fetched again when it is looked at. */
const KEPT = 20;
/** Browsers limit the height of an element. Beyond this a pixel of the scroll bar is more than a pixel of the list. */
const TALLEST = 8_000_000;

const COLUMNS = [
  ["number", "No."],
  ["time", "Time"],
  ["direction", ""],
  ["what", "Method and name"],
  ["outcome", "Answer"],
  ["size", "Size"],
  ["latency", "Latency"],
];
const MODES = { "": "Time (s)", clock: "Time of day", delta: "Since previous" };

const viewport = $("list");
const sheet = el("div", { class: "sheet", role: "presentation" });
const spacer = el("div", { class: "spacer", role: "presentation" });
const pool = [];
let chunks = new Map();
let total = 0;
let started;
let slowest = 0;
let epoch = 0;
let selected = -1;
let related = new Set();
let drawn = 0;
const onSelect = [];

export const whenSelected = (listener) => onSelect.push(listener);
export const position = () => selected;
export const length = () => total;

const rowsInView = () => Math.max(1, Math.floor(viewport.clientHeight / ROW));
const height = () => Math.min(total * ROW, TALLEST);

/** The row at the top, with a fraction. */
function top() {
  const [room, rows] = [height() - viewport.clientHeight, total - viewport.clientHeight / ROW];
  return room <= 0 || rows <= 0 ? 0 : (Math.min(viewport.scrollTop, room) / room) * rows;
}

function scrollToRow(row) {
  const [room, rows] = [height() - viewport.clientHeight, total - viewport.clientHeight / ROW];
  if (rows > 0) viewport.scrollTop = (Math.max(0, Math.min(row, rows)) / rows) * room;
}

export const rowAt = (index) => chunks.get(Math.floor(index / CHUNK))?.rows?.[index % CHUNK];

async function load(chunk) {
  const now = epoch;
  const entry = { rows: chunks.get(chunk)?.rows, complete: false, loading: true };
  chunks.delete(chunk);
  chunks.set(chunk, entry);
  for (const old of chunks.keys()) {
    if (chunks.size <= KEPT) break;
    chunks.delete(old);
  }
  try {
    const answer = await get("frames", { ...filter(), from: chunk * CHUNK, count: CHUNK });
    if (now !== epoch) return;
    entry.rows = answer.rows;
    entry.loading = false;
    if (answer.total !== total || chunk === 0) resize(answer.total);
  } catch (error) {
    entry.loading = false;
    if (now === epoch) document.dispatchEvent(new CustomEvent("problem", { detail: error.message }));
  }
  draw();
}

/** The rows of a chunk; those that may have changed since are asked for again, and shown as they were meanwhile. */
function want(chunk) {
  const entry = chunks.get(chunk);
  if (!entry || (entry.stale && !entry.loading)) load(chunk);
}

function resize(count) {
  total = count;
  spacer.style.height = `${height()}px`;
  viewport.setAttribute("aria-rowcount", String(total + 1));
  document.dispatchEvent(new CustomEvent("counted", { detail: total }));
}

function cell(column, index) {
  return el("span", { class: `cell ${column}`, role: "gridcell", "aria-colindex": index + 1 });
}

function poolRow() {
  const cells = COLUMNS.map(([name], index) => cell(name, index));
  const bar = el("i", { "aria-hidden": "true" });
  const latency = el("b", {});
  cells[6].append(bar, latency);
  const row = el("div", { class: "row", role: "row" }, cells);
  row.addEventListener("mousedown", (event) => {
    if (event.button === 0) select(Number(row.dataset.index));
  });
  return { row, cells, bar, latency };
}

function fill({ row, cells, bar, latency }, index) {
  const data = rowAt(index);
  row.dataset.index = index;
  row.id = `row-${index}`;
  row.setAttribute("aria-rowindex", String(index + 2));
  row.setAttribute("aria-selected", String(index === selected));
  if (!data) {
    row.className = "row loading";
    for (const each of cells.slice(0, 6)) each.textContent = "";
    latency.textContent = bar.style.width = "";
    cells[3].textContent = "…";
    return;
  }
  const [sign, words, lane] = DIRECTIONS[data.d];
  const [text, kind, mark] = outcome(data);
  const [method, name, after] = what(data);
  row.className = `row ${lane} ${data.k}${index === selected ? " selected" : ""}${related.has(data.n) ? " related" : ""}${data.f ? " found" : ""}`;
  cells[0].textContent = data.n;
  cells[1].textContent = time(data, rowAt(index - 1), state.time, started);
  cells[2].textContent = sign;
  cells[2].title = words;
  cells[2].setAttribute("aria-label", words);
  cells[3].replaceChildren(
    ...(data.f ? [el("em", { class: "finding", title: "has findings", "aria-label": "has findings" }, "▲")] : []),
    el("span", { class: "method" }, method ?? ""),
    method && name ? " " : "",
    el("bdi", { class: "name" }, name ?? ""),
    after ? el("span", { class: "after" }, ` ${after}`) : "",
  );
  cells[4].textContent = text ? `${mark} ${text}` : "";
  cells[4].className = `cell outcome ${kind}`;
  cells[5].textContent = size(data.s);
  latency.textContent = data.l === undefined ? "" : duration(data.l);
  bar.style.width = data.l === undefined || !slowest ? "0" : `${Math.max(2, Math.round(Math.sqrt(data.l / slowest) * 44))}px`;
  bar.className = kind;
}

function draw() {
  drawn = 0;
  const first = top();
  const start = Math.floor(first);
  const needed = Math.min(total - start, Math.ceil(viewport.clientHeight / ROW) + 1);
  while (pool.length < needed) {
    const made = poolRow();
    pool.push(made);
    sheet.append(made.row);
  }
  while (pool.length > Math.max(needed, 0)) pool.pop().row.remove();
  if (needed > 0) {
    for (let chunk = Math.floor(start / CHUNK); chunk <= Math.floor((start + needed - 1) / CHUNK); chunk++) want(chunk);
  }
  pool.forEach((made, place) => fill(made, start + place));
  sheet.style.transform = `translateY(${-(first - start) * ROW}px)`;
  if (selected >= start && selected < start + needed) viewport.setAttribute("aria-activedescendant", `row-${selected}`);
  else viewport.removeAttribute("aria-activedescendant");
}

export const redraw = () => (drawn ||= requestAnimationFrame(draw));

/** Begins again: another filter, or another tape. */
export function reset() {
  epoch += 1;
  chunks = new Map();
  selected = -1;
  related = new Set();
  viewport.scrollTop = 0;
  total = 0;
  load(0);
}

/** More frames may be there; the last chunk, and answers to earlier requests, may have changed. */
export function grow() {
  for (const entry of chunks.values()) entry.stale = true;
  const last = Math.floor(Math.max(0, total - 1) / CHUNK);
  load(last).then(() => redraw());
}

export function scrollToEnd() {
  scrollToRow(total);
  redraw();
}

export function select(index, focus = true) {
  if (!total) return;
  selected = Math.max(0, Math.min(index, total - 1));
  const first = top();
  if (selected < first + 0.5) scrollToRow(selected - 1);
  else if (selected > first + rowsInView() - 1.5) scrollToRow(selected - rowsInView() + 2);
  if (focus) viewport.focus({ preventScroll: true });
  redraw();
  const chosen = selected;
  rowLoaded(chosen).then((row) => {
    if (!row || chosen !== selected) return;
    set({ sel: String(row.n) });
    for (const listener of onSelect) listener(row);
  });
}

async function rowLoaded(index) {
  if (!rowAt(index)) await load(Math.floor(index / CHUNK));
  return rowAt(index);
}

/** Selects a frame by its number, if the filter lists it. */
export async function selectNumber(number, focus = true) {
  return selectAt(await get("find", { ...filter(), number }), focus);
}

/** The next frame of a kind: `errors` or `findings`. */
export async function selectNext(only, step) {
  selectAt(await get("next", { ...filter(), from: selected, step, of: only }), true);
}

export const selectTime = async (time) => selectAt(await get("find", { ...filter(), time }), true);

/** Selects what the server has found; the list may have grown since. */
function selectAt({ position, total: now }, focus) {
  if (now > total) resize(now);
  if (position !== null) select(position, focus);
  return position !== null;
}

export function relate(numbers) {
  related = new Set(numbers);
  redraw();
}

export function setScale(summary) {
  started = summary.started;
  slowest = summary.slowest;
  redraw();
}

function nextMode() {
  const names = Object.keys(MODES);
  set({ time: names[(names.indexOf(state.time) + 1) % names.length] });
}

function drawColumns() {
  const heads = COLUMNS.map(([name, title], index) =>
    el("span", { class: `cell ${name}`, role: "columnheader", "aria-colindex": index + 1 },
      name === "time"
        ? el("button", { type: "button", title: "Since the start, time of day, or since the previous frame", onclick: nextMode }, MODES[state.time] ?? "Time")
        : title));
  $("columns").replaceChildren(...heads);
}

export function startList() {
  viewport.append(el("div", { class: "window", role: "presentation" }, sheet), spacer);
  viewport.addEventListener("scroll", redraw, { passive: true });
  new ResizeObserver(redraw).observe(viewport);
  drawColumns();
}

export function timeChanged() {
  drawColumns();
  redraw();
}

export const page = () => rowsInView() - 1;
