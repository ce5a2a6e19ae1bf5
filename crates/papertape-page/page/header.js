// What was recorded: title, names and versions, revision, duration and counts; and whether it goes on.
import { $, el } from "./dom.js";
import { duration, number, plural, size } from "./units.js";

const STATES = {
  live: ["● live", "live"],
  reading: ["reading …", "busy"],
  complete: ["complete", ""],
  cut: ["cut", "warn"],
  open: ["not ended", "warn"],
  failed: ["not readable", "warn"],
};

const WHY = {
  cut: "The last line of this tape is incomplete: the recording was cut off, or is being written. Everything before it is shown; follow a tape that is being written with --live.",
  open: "This tape has no end: its recorder was killed, or is still writing. Follow it with --live.",
};

const fact = (name, value, properties) => el("div", properties, el("dt", {}, name), el("dd", {}, value));
const peer = ({ name, version }) => el("bdi", {}, version ? `${name} ${version}` : name);

export function drawHeader(summary, following, paused) {
  document.title = `${summary.title} – papertape`;
  $("title").textContent = summary.title;
  const facts = [];
  if (summary.client) facts.push(fact("client", peer(summary.client)));
  if (summary.server) facts.push(fact("server", peer(summary.server)));
  if (summary.revision) facts.push(fact("revision", summary.revision));
  facts.push(fact("duration", duration(summary.duration)), fact("frames", number(summary.frames)), fact("bytes", size(summary.bytes)));
  if (summary.errors) facts.push(fact("errors", `✗ ${number(summary.errors)}`, { class: "bad" }));
  if (summary.findings) facts.push(fact("findings", `▲ ${number(summary.findings)}`, { class: "suspect" }));
  if (summary.lost) facts.push(fact("lost", plural(summary.lost, "frame"), { class: "bad" }));
  $("facts").replaceChildren(...facts);
  const [text, kind] = STATES[summary.state] ?? ["", ""];
  const live = summary.state === "live";
  const status = live && paused ? "● live, list paused" : text;
  if ($("live").textContent !== status) $("live").textContent = status;
  $("live").className = live && paused ? "live paused" : kind;
  $("live").title = WHY[summary.state] ?? "";
  $("follow").hidden = !live || following;
  notice(summary.problem ?? (summary.state === "open" ? undefined : WHY[summary.state]));
}

/** A sentence below the header; none removes it. */
export function notice(text) {
  $("notice").hidden = !text;
  if ($("notice").textContent !== (text ?? "")) $("notice").textContent = text ?? "";
}
