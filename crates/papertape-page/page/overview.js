// The whole recording on one clock: a lane to the server, one to the client, one for stderr and events. Dragging zooms.
import { get } from "./api.js";
import { $ } from "./dom.js";
import { filter, set, state } from "./state.js";
import { colour } from "./theme.js";
import { duration, number } from "./units.js";

const canvas = $("overview").querySelector("canvas");
const LANES = [["to-server", "to server"], ["to-client", "to client"], ["stderr", "stderr, events"]];
const LEFT = 92;
const AXIS = 16;
const LANE = 22;
const RIGHT = 8;

let data = { from: 0, to: 0, width: 0, lanes: [[], [], []], bars: [] };
let asked = 0;
let marker;
let drag;

const width = () => Math.max(50, canvas.clientWidth - LEFT - RIGHT);
const range = () => Math.max(data.to - data.from, 1e-6);
const x = (time) => LEFT + ((time - data.from) / range()) * width();
const timeAt = (pixel) => data.from + (Math.max(0, Math.min(pixel - LEFT, width())) / width()) * range();

export async function refresh() {
  const ask = ++asked;
  const answer = await get("overview", { ...filter(), width: Math.round(width() / 3) });
  if (ask !== asked) return;
  data = answer;
  const [counts, errors, findings] = [0, 1, 2].map((what) => data.lanes.flat().reduce((sum, bucket) => sum + bucket[what + 1], 0));
  canvas.setAttribute("aria-label", `${number(counts)} frames from ${duration(data.from)} to ${duration(data.to)}, ${number(errors)} errors, ${number(findings)} with findings. Plus and minus zoom, the arrows move, 0 shows all.`);
  draw();
}

export function mark(row) {
  marker = row;
  draw();
}

function ticks(context) {
  const rough = range() / Math.max(2, width() / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
  context.fillStyle = colour("quiet");
  context.strokeStyle = colour("faint");
  for (let at = Math.ceil(data.from / step) * step; at <= data.to; at += step) {
    const pixel = Math.round(x(at)) + 0.5;
    context.beginPath();
    context.moveTo(pixel, AXIS);
    context.lineTo(pixel, AXIS + 3 * LANE);
    context.stroke();
    if (pixel < LEFT + width() - 40) context.fillText(at === 0 ? "0" : duration(at), pixel + 3, 11);
  }
}

function diamond(context, pixel, y) {
  context.fillStyle = colour("error");
  context.beginPath();
  context.moveTo(pixel, y - 5);
  context.lineTo(pixel + 4.5, y);
  context.lineTo(pixel, y + 5);
  context.lineTo(pixel - 4.5, y);
  context.fill();
}

function triangle(context, pixel, y) {
  context.fillStyle = colour("finding");
  context.beginPath();
  context.moveTo(pixel, y - 4);
  context.lineTo(pixel + 5, y + 5);
  context.lineTo(pixel - 5, y + 5);
  context.fill();
}

function lane(context, buckets, index) {
  const bottom = AXIS + (index + 1) * LANE - 3;
  const most = Math.max(1, ...buckets.map((bucket) => bucket[1]));
  const step = width() / Math.max(1, data.width);
  context.fillStyle = colour(LANES[index][0]);
  for (const [at, count] of buckets) {
    const tall = 4 + Math.round((Math.log1p(count) / Math.log1p(most)) * (LANE - 10));
    context.fillRect(LEFT + at * step, bottom - tall, Math.max(2, step - 1), tall);
  }
}

/** Requests from their frame to their answer: a bar, with a lighter end while they wait. */
function bars(context) {
  const ends = [[], []];
  for (const [start, end, index, kind] of data.bars) {
    const [from, to] = [x(Math.max(start, data.from)), x(Math.min(end, data.to))];
    let slot = ends[index].findIndex((last) => last + 2 < from);
    if (slot < 0) slot = ends[index].length < 3 ? ends[index].length : 2;
    ends[index][slot] = to;
    context.fillStyle = colour(kind === "error" ? "error" : kind === "pending" ? "quiet" : `${LANES[index][0]}-bar`);
    context.fillRect(from, AXIS + index * LANE + 2 + slot * 4, Math.max(2, to - from), 3);
  }
}

function draw() {
  const scale = devicePixelRatio || 1;
  const [wide, tall] = [canvas.clientWidth, AXIS + 3 * LANE + 2];
  canvas.width = Math.round(wide * scale);
  canvas.height = Math.round(tall * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = "11px system-ui, sans-serif";
  ticks(context);
  LANES.forEach(([name, title], index) => {
    const y = AXIS + index * LANE;
    context.fillStyle = colour(name);
    context.fillText(title, 10, y + 15);
    context.strokeStyle = colour("line");
    context.beginPath();
    context.moveTo(0, y + LANE - 0.5);
    context.lineTo(wide, y + LANE - 0.5);
    context.stroke();
    lane(context, data.lanes[index], index);
  });
  bars(context);
  const step = width() / Math.max(1, data.width);
  data.lanes.forEach((buckets, index) => {
    const middle = AXIS + index * LANE + LANE / 2;
    for (const [at, , errors, findings] of buckets) {
      const pixel = LEFT + (at + 0.5) * step;
      if (errors) diamond(context, pixel, middle);
      if (findings) triangle(context, pixel, middle + (errors ? 6 : 0));
    }
  });
  if (marker?.t !== undefined && marker.t >= data.from && marker.t <= data.to) {
    context.fillStyle = colour("accent");
    context.fillRect(x(marker.t) - 1, AXIS - 2, 2, 3 * LANE + 2);
  }
  if (drag && drag.to !== undefined) {
    context.globalAlpha = 0.25;
    context.fillStyle = colour("accent");
    context.fillRect(Math.min(drag.from, drag.to), AXIS, Math.abs(drag.to - drag.from), 3 * LANE);
    context.globalAlpha = 1;
  }
}

const zoomTo = (from, to) => set({ t0: Math.max(0, from).toFixed(6), t1: to.toFixed(6) });
export const showAll = () => set({ t0: "", t1: "" });

function zoom(factor) {
  const middle = marker?.t >= data.from && marker?.t <= data.to ? marker.t : (data.from + data.to) / 2;
  zoomTo(middle - (middle - data.from) * factor, middle + (data.to - middle) * factor);
}

function onKey(event) {
  const by = range() / 4;
  const keys = {
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    "-": () => (state.t1 ? zoom(2) : 0),
    0: showAll,
    ArrowLeft: () => state.t1 && zoomTo(data.from - by, data.to - by),
    ArrowRight: () => state.t1 && zoomTo(data.from + by, data.to + by),
  };
  if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  keys[event.key]();
  event.preventDefault();
  event.stopPropagation();
}

export function startOverview(jump) {
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    drag = { from: Math.max(LEFT, event.offsetX) };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return;
    drag.to = Math.max(LEFT, Math.min(event.offsetX, LEFT + width()));
    draw();
  });
  canvas.addEventListener("pointerup", () => {
    const done = drag;
    drag = undefined;
    if (!done) return;
    if (done.to !== undefined && Math.abs(done.to - done.from) > 4) {
      const [from, to] = [timeAt(Math.min(done.from, done.to)), timeAt(Math.max(done.from, done.to))];
      zoomTo(from, to);
    } else jump(timeAt(done.from));
    draw();
  });
  canvas.addEventListener("pointercancel", () => ((drag = undefined), draw()));
  canvas.addEventListener("dblclick", showAll);
  canvas.addEventListener("keydown", onKey);
  new ResizeObserver(() => (data.to ? refresh() : draw())).observe(canvas);
}

export { draw };
