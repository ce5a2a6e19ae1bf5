// One message: parsed, as text, as bytes, with the message that it belongs to, and what is wrong with it.
import { bytes, get } from "./api.js";
import { $, button, copy, el, shown } from "./dom.js";
import { hexdump, json, raw } from "./octets.js";
import { DIRECTIONS, outcome, what } from "./rows.js";
import { set, state } from "./state.js";
import { parse, tree } from "./tree.js";
import { duration, number, plural, since, size } from "./units.js";

const TABS = [["parsed", "Parsed"], ["raw", "Raw"], ["hex", "Hex"], ["pair", "Pair"], ["findings", "Findings"]];
/** What is fetched of a large message at first, and what with each step after that. */
const FIRST = 16 * 1024;
const STEP = 1024 * 1024;

let frame;
let loaded;
let asked = 0;
let jump = () => {};

export const current = () => frame;

const kinds = { request: "request", notification: "notification", response: "response", head: "HTTP head", part: "part of a message", stderr: "stderr", event: "event", invalid: "not a message", batch: "batch" };

function headline({ row, pair }) {
  const [sign, words, lane] = DIRECTIONS[row.d];
  const [text, kind, mark] = outcome(row);
  const parts = [el("span", { class: lane, title: words }, `${sign} #${row.n}`), " ", kinds[row.k] ?? row.k, " "];
  const [method, name] = what(row);
  parts.push(el("strong", {}, el("bdi", {}, [method, row.k === "event" || row.k === "request" || row.k === "response" ? name : ""].filter(Boolean).join(" "))));
  const facts = [row.i !== undefined && `id ${row.i}`, row.t !== undefined && `at ${since(row.t)} s`, `${number(row.s)} bytes`, row.x !== undefined && `exchange ${row.x}`];
  const line = el("p", { class: "facts" }, facts.filter(Boolean).join(" · "));
  if (text) line.append(" · ", el("span", { class: `outcome ${kind}` }, `${mark} ${text}`));
  if (pair) {
    const verb = { request: "answered by", response: "answers" }[row.k] ?? "about";
    line.append(" · ", `${verb} `, button(`#${pair.n}`, () => jump(pair.n), { class: "link" }), row.l !== undefined ? ` after ${duration(row.l)}` : "");
  }
  return [el("h2", {}, parts), line];
}

/** Bytes that are loaded step by step, and how they are shown. */
function stepwise(part, show, room) {
  const output = el("pre", { class: "bytes", tabindex: "0" });
  const more = el("p", { class: "more" });
  const draw = () => {
    output.textContent = show(part.bytes);
    const rest = part.size - part.bytes.length;
    more.replaceChildren();
    if (rest <= 0) return;
    const all = rest <= STEP || part.bytes.length + rest <= STEP;
    const label = all ? `Show all ${number(part.size)} bytes` : `Show ${size(STEP)} more of ${size(part.size)}`;
    more.append(`The first ${number(part.bytes.length)} bytes. `, button(label, async () => {
      await extend(part, all ? part.size : part.bytes.length + STEP);
      draw();
    }));
  };
  draw();
  return [el("p", { class: "act" }, button("copy", (event) => copy(output.textContent, event.currentTarget), { class: "small" }), room), output, more];
}

async function fetchPart(n, length = FIRST) {
  const answer = await bytes({ tape: state.tape, number: n, from: 0, length });
  return { n, ...answer };
}

async function extend(part, end) {
  while (part.bytes.length < Math.min(end, part.size)) {
    const length = Math.min(STEP, end - part.bytes.length);
    const next = await bytes({ tape: state.tape, number: part.n, from: part.bytes.length, length });
    if (!next.bytes.length) break;
    const joined = new Uint8Array(part.bytes.length + next.bytes.length);
    joined.set(part.bytes);
    joined.set(next.bytes, part.bytes.length);
    part.bytes = joined;
  }
}

function parsed(part, row) {
  const box = el("div", {});
  const draw = () => {
    if (part.bytes.length < part.size) {
      box.replaceChildren(el("p", { class: "more" }, `This message has ${number(part.size)} bytes. `,
        button(`Show all ${number(part.size)} bytes`, async () => { await extend(part, part.size); draw(); })),
        el("pre", { class: "bytes" }, raw(part.bytes.subarray(0, 2048)), "…"));
      return;
    }
    if (["stderr", "part", "head"].includes(row.k)) {
      box.replaceChildren(el("pre", { class: "bytes", tabindex: "0" }, shown(new TextDecoder().decode(part.bytes), true)));
      return;
    }
    try {
      box.replaceChildren(tree(parse(json(part.bytes))));
    } catch (error) {
      box.replaceChildren(el("p", { class: "outcome error" }, `Not JSON: ${shown(error.message)}`), el("pre", { class: "bytes", tabindex: "0" }, raw(part.bytes)));
    }
  };
  if (part.bytes.length < part.size && part.size <= 256 * 1024) extend(part, part.size).then(draw);
  draw();
  return box;
}

async function pairTab({ row, pair, between }) {
  if (row.k !== "request" && row.k !== "response") return el("p", { class: "hint" }, "Only requests and responses are pairs.");
  const [request, response] = row.k === "request" ? [row, pair] : [pair, row];
  const side = async (title, one, missing) => {
    const box = el("section", {}, el("h3", {}, title, one ? [" ", button(`#${one.n}`, () => jump(one.n), { class: "link" })] : null));
    box.append(one ? parsed(one.n === loaded.n ? loaded : await fetchPart(one.n), one) : el("p", { class: "hint" }, missing));
    return box;
  };
  const sides = await Promise.all([
    side("Request", request, "The request is not on this tape."),
    side("Response", response, row.o === "cancelled" ? "The request was cancelled." : "There is no response on this tape."),
  ]);
  const middle = between.length && el("section", { class: "between" }, el("h3", {}, `${plural(between.length, "notification")} of this request`),
    el("ol", {}, between.map((one) => el("li", {}, button(`#${one.n}`, () => jump(one.n), { class: "link" }), ` ${one.t === undefined ? "" : `${since(one.t)} s `}`, el("bdi", {}, what(one).filter(Boolean).join(" "))))));
  return el("div", {}, el("div", { class: "pair" }, sides), middle);
}

export function findingCard(finding, withNumber) {
  return el("article", { class: `finding ${finding.severity}` },
    el("h3", {}, el("span", { class: "severity" }, finding.severity === "error" ? "✗ error" : finding.severity === "warning" ? "▲ warning" : "ℹ note"), ` ${finding.code} ${finding.title}`),
    el("p", {}, el("bdi", {}, finding.message), withNumber ? [" ", button(`#${finding.number}`, () => jump(finding.number), { class: "link" })] : null),
    finding.remedy && el("p", {}, el("strong", {}, "What to do: "), finding.remedy),
    finding.affects.length > 0 && el("div", {}, el("strong", {}, "Who breaks on it:"), el("ul", {}, finding.affects.map(({ name, effect, evidence }) => el("li", {}, `${name}: ${effect} `, el("small", {}, `(${evidence})`))))));
}

function findingsTab({ findings }) {
  if (!findings.length) return el("p", { class: "hint" }, "Nothing was found wrong with this frame.");
  return el("div", {}, findings.map((finding) => findingCard(finding)));
}

function tabBar() {
  const bar = el("div", { class: "tabs", role: "tablist", "aria-label": "Views of the frame" });
  TABS.forEach(([name, title], index) => {
    const chosen = tabName() === name;
    const count = name === "findings" && frame.findings.length ? ` (${frame.findings.length})` : "";
    bar.append(button(`${title}${count}`, () => set({ tab: name }), { role: "tab", id: `tab-${name}`, "aria-selected": String(chosen), "aria-controls": "panel", tabindex: chosen ? "0" : "-1", title: `Key ${index + 1}` }));
  });
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = TABS.findIndex(([name]) => name === tabName());
    showTab((at + step + TABS.length) % TABS.length);
    $(`tab-${tabName()}`)?.focus();
    event.preventDefault();
  });
  return bar;
}

const tabName = () => (TABS.some(([name]) => name === state.tab) ? state.tab : "parsed");
export const showTab = (index) => set({ tab: TABS[index][0] });

async function panel() {
  switch (tabName()) {
    case "raw": return stepwise(loaded, raw);
    case "hex": return stepwise(loaded, (octets) => hexdump(octets));
    case "pair": return pairTab(frame);
    case "findings": return findingsTab(frame);
    default: return parsed(loaded, frame.row);
  }
}

export async function drawDetail() {
  if (!frame || !loaded) return;
  const now = asked;
  const content = await panel();
  if (now !== asked) return;
  $("detail").replaceChildren(...headline(frame), tabBar(), el("div", { id: "panel", role: "tabpanel", "aria-labelledby": `tab-${tabName()}` }, content));
}

/** Shows a row of the list; returns the message with what belongs to it. */
export async function showFrame(row) {
  const now = ++asked;
  const [answer, part] = await Promise.all([get("frame", { tape: state.tape, number: row.n }), fetchPart(row.n)]);
  if (now !== asked) return undefined;
  frame = answer;
  loaded = part;
  await drawDetail();
  return answer;
}

/** Nothing is selected: all findings of the recording, or a hint. */
export async function showNone(summary) {
  const now = ++asked;
  frame = loaded = undefined;
  const { findings } = summary?.findings ? await get("findings", { tape: state.tape }) : { findings: [] };
  if (now !== asked) return;
  $("detail").replaceChildren(
    el("p", { class: "hint" }, "Select a frame to see its bytes. ", el("kbd", {}, "j"), " and ", el("kbd", {}, "k"), " move, ", el("kbd", {}, "?"), " lists all keys."),
    findings.length ? [el("h2", {}, plural(summary.findings, "finding")), findings.map((finding) => findingCard(finding, true))].flat().reduce((box, item) => (box.append(item), box), el("div", { id: "panel" })) : "");
}

export const startDetail = (select) => (jump = select);
