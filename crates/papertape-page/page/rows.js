// How a row of the list is written: words for directions, kinds and outcomes.
import { clock, duration, since } from "./units.js";

export const DIRECTIONS = {
  ">": ["→", "to the server", "to-server"],
  "<": ["←", "to the client", "to-client"],
  "!": ["!", "stderr", "stderr"],
  "*": ["∗", "event", "event"],
};

/** The outcome of a request, or of what a response says: text, class, and a sign so that colour is not all. */
export function outcome(row) {
  switch (row.o) {
    case "ok": return ["ok", "ok", "✓"];
    case "tool-error": return ["tool error", "error", "✗"];
    case "error": return [`error ${row.c ?? ""}`.trim(), "error", "✗"];
    case "cancelled": return ["cancelled", "quiet", "⊘"];
    case "pending": return ["waiting", "quiet", "…"];
    case "none": return ["no answer", "error", "∅"];
    case "invalid": return ["invalid", "error", "✗"];
    default: return ["", "", ""];
  }
}

/** What the row is, in words: `tools/call conjugate`. */
export function what(row) {
  switch (row.k) {
    case "request":
    case "notification": return [row.m, row.w];
    case "response": return [row.m ? `${row.m} ` : "", row.w, "response"];
    case "head": return ["HTTP", row.w];
    case "part": return ["part", row.w];
    default: return ["", row.w];
  }
}

export function time(row, previous, mode, started) {
  if (row.t === undefined) return "–";
  if (mode === "clock" && started) return clock(started + row.t);
  if (mode === "delta") return previous?.t === undefined ? "–" : `+${duration(Math.max(0, row.t - previous.t))}`;
  return since(row.t);
}
