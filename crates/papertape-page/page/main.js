// Puts the parts together: what is selected, what is followed, and what has changed.
import { get } from "./api.js";
import { $ } from "./dom.js";
import { drawDetail, current, showFrame, showNone, showTab, startDetail } from "./detail.js";
import { startDrop } from "./drop.js";
import { clear, drawFilter, setMethods, startFilter } from "./filter.js";
import { drawHeader, notice } from "./header.js";
import { showKeys, startKeys } from "./keys.js";
import * as list from "./list.js";
import * as overview from "./overview.js";
import { print, startPrint } from "./print.js";
import { startSplitter } from "./splitter.js";
import { FILTER, onChange, set, state } from "./state.js";
import { onTheme, startTheme } from "./theme.js";
import { drawTry, startTry } from "./try.js";

let summary;
/** Whether the list stays at its end while frames arrive. Selecting a frame pauses it. */
let following = true;

const header = () => summary && drawHeader(summary, following, !following);

function problem(error) {
  notice(typeof error === "string" ? error : error.message);
}

function follow() {
  following = true;
  header();
  list.scrollToEnd();
}

function pause() {
  if (!following) return;
  following = false;
  header();
}

function describeEmpty(total) {
  const hint = $("empty");
  hint.hidden = total > 0 || !summary;
  if (hint.hidden) return;
  const filtered = state.q || state.only || state.method || state.t1;
  hint.textContent = filtered && summary.rows
    ? "No frame matches the filter. Esc clears it."
    : summary.state === "live" ? "Nothing has been recorded yet. Frames appear here as they cross." : `${summary.state === "failed" ? "There is nothing to show" : "This tape has no frames"}. Record one with: papertape tap -- COMMAND`;
}

async function show(row) {
  pause();
  overview.mark(row);
  try {
    const shown = await showFrame(row);
    if (!shown) return;
    list.relate([...(shown.pair ? [shown.pair.n] : []), ...shown.between.map((one) => one.n)]);
  } catch (error) {
    problem(error);
  }
}

async function jump(number) {
  if (await list.selectNumber(number, false)) return;
  // The filter hides it.
  clear();
  await list.selectNumber(number, false);
}

const pairKey = (kind) => {
  const frame = current();
  if (frame?.row.k === kind && frame.pair) jump(frame.pair.n);
};

/** Waits for changes of the recording, again and again. */
async function watch(tape) {
  let seen;
  while (tape === state.tape) {
    try {
      const answer = await get("recording", { tape, seen });
      if (tape !== state.tape) return;
      // Another recording may have begun in the place of this one.
      const first = seen === undefined || answer.epoch !== summary?.epoch;
      seen = answer.generation;
      summary = answer;
      update(first);
      if (answer.state !== "live" && answer.state !== "reading" && !answer.try) return;
    } catch (error) {
      if (error.status === 401 || error.status === 403) return problem(error);
      problem(error.status ? error : "papertape page has ended. Start it again, and open the URL that it prints.");
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
}

function update(first) {
  header();
  setMethods(summary.methods);
  list.setScale(summary);
  drawTry(summary.try);
  if (first) {
    list.reset();
    overview.refresh().catch(problem);
    if (state.sel) list.selectNumber(Number(state.sel), false).catch(problem);
    else showNone(summary);
    return;
  }
  list.grow();
  overview.refresh().catch(problem);
}

function openTape(tape) {
  set({ tape, q: "", only: "", method: "", t0: "", t1: "", sel: "" });
  following = true;
  summary = undefined;
  overview.mark();
  watch(tape);
}

onChange((changed) => {
  if (changed.includes("tape")) return;
  if (changed.some((name) => FILTER.includes(name))) {
    drawFilter();
    list.reset();
    overview.refresh().catch(problem);
    if (state.sel) list.selectNumber(Number(state.sel), false).catch(problem);
  }
  if (changed.includes("tab")) drawDetail().catch(problem);
  if (changed.includes("time")) list.timeChanged();
});

document.addEventListener("problem", ({ detail }) => problem(detail));
document.addEventListener("counted", ({ detail }) => {
  drawFilter(detail);
  describeEmpty(detail);
  if (following && summary?.state === "live") list.scrollToEnd();
});

const move = (step) => () => list.select(list.position() + step);
startTheme();
onTheme(overview.draw);
startFilter();
list.startList();
list.whenSelected(show);
startDetail((number) => jump(number).catch(problem));
overview.startOverview((time) => list.selectTime(time).catch(problem));
startSplitter();
startPrint();
startDrop(openTape, problem);
startTry({ jump: (number) => jump(number).catch(problem), problem });
$("follow").addEventListener("click", follow);
startKeys({
  j: move(1), ArrowDown: move(1), k: move(-1), ArrowUp: move(-1),
  PageDown: () => list.select(list.position() + list.page()), PageUp: () => list.select(list.position() - list.page()),
  Home: () => list.select(0), End: () => list.select(list.length() - 1), g: () => list.select(0), G: () => list.select(list.length() - 1),
  "[": () => pairKey("response"), "]": () => pairKey("request"),
  e: () => list.selectNext("errors", 1), E: () => list.selectNext("errors", -1),
  n: () => list.selectNext("findings", 1), N: () => list.selectNext("findings", -1),
  1: () => showTab(0), 2: () => showTab(1), 3: () => showTab(2), 4: () => showTab(3), 5: () => showTab(4),
  "/": () => $("search").focus(), "?": showKeys, f: follow, t: () => $("try").querySelector("input, textarea, button")?.focus(),
  Escape: () => clear(), list: () => $("list").focus(), print,
});
watch(0);
