// The keyboard.
import { $, button, el } from "./dom.js";

const KEYS = [
  ["j, k or ↓, ↑", "the next and the previous frame"],
  ["Page Up, Page Down, Home, End", "a page, the first and the last frame"],
  ["[ and ]", "the request and its answer"],
  ["e, E", "the next and the previous error"],
  ["n, N", "the next and the previous finding"],
  ["1 to 5", "Parsed, Raw, Hex, Pair, Findings"],
  ["/", "search"],
  ["t", "the form of Try it"],
  ["Esc", "back to the list; there: clear the filter"],
  ["f", "follow a live recording"],
  ["0, + and -", "in the overview: all of it, zoom"],
  ["Ctrl+P", "print a report"],
  ["?", "this list"],
];

export function showKeys() {
  const close = () => $("help").close();
  $("help").replaceChildren(
    el("h2", { id: "help-title" }, "Keys"),
    el("dl", {}, KEYS.map(([key, text]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)))),
    button("Close", close));
  $("help").showModal();
}

const typing = (target) => target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");

export function startKeys(actions) {
  $("keys").addEventListener("click", showKeys);
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "p") {
      event.preventDefault();
      actions.print();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
    if (typing(event.target)) {
      if (event.key === "Escape" && !event.target.closest("#try")) actions.list();
      return;
    }
    const inList = event.target === $("list") || event.target === document.body;
    const only = ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"].includes(event.key);
    const action = actions[event.key];
    if (!action || (only && !inList)) return;
    event.preventDefault();
    action();
  });
}
