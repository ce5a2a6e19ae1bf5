// A report for paper: the recording, its findings, and the frames that the filter lists.
import { getNow } from "./api.js";
import { $, el } from "./dom.js";
import { findingCard } from "./detail.js";
import { DIRECTIONS, outcome, time, what } from "./rows.js";
import { filter, state } from "./state.js";
import { duration, number, size } from "./units.js";

/** The most frames of a report. */
const MOST = 2000;
const PAGE = 500;

function table(rows) {
  const line = (row, index) => {
    const [text, , mark] = outcome(row);
    const cells = [row.n, time(row, rows[index - 1], state.time, undefined), DIRECTIONS[row.d][0], el("bdi", {}, what(row).filter(Boolean).join(" ")), text && `${mark} ${text}`, size(row.s), row.l === undefined ? "" : duration(row.l)];
    return el("tr", {}, cells.map((cell) => el("td", {}, cell)));
  };
  const heads = ["No.", "Time (s)", "", "Method and name", "Answer", "Size", "Latency"];
  return el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", {}, head)))), el("tbody", {}, rows.map(line)));
}

/** `beforeprint` does not wait for answers, so these requests do not either. */
function report() {
  const rows = [];
  let total = 0;
  do {
    const answer = getNow("frames", { ...filter(), from: rows.length, count: PAGE });
    total = answer.total;
    rows.push(...answer.rows);
    if (!answer.rows.length) break;
  } while (rows.length < Math.min(total, MOST));
  const { findings = [] } = getNow("findings", { tape: state.tape });
  const facts = Array.from($("facts").children, (fact) => fact.cloneNode(true));
  const shown = rows.length < total ? `The first ${number(rows.length)} of ${number(total)} rows. ` : "";
  const filtered = [state.q && `text “${state.q}”`, state.method && `method ${state.method}`, state.only && `only ${state.only}`, state.t1 && `from ${state.t0} s to ${state.t1} s`].filter(Boolean);
  $("report").replaceChildren(
    el("h1", {}, $("title").textContent),
    el("dl", { class: "facts" }, facts),
    findings.length ? el("section", {}, el("h2", {}, "Findings"), findings.map((finding) => findingCard(finding, true))) : "",
    el("h2", {}, "Frames"),
    shown || filtered.length ? el("p", {}, shown, filtered.length ? `Filter: ${filtered.join(", ")}.` : "") : "",
    table(rows));
}

export const print = () => window.print();

export function startPrint() {
  $("print").addEventListener("click", print);
  addEventListener("beforeprint", report);
  addEventListener("afterprint", () => $("report").replaceChildren());
}
