// The filter bar: free text, chips, the method, and what is zoomed to.
import { $, button, el } from "./dom.js";
import { showAll } from "./overview.js";
import { set, state } from "./state.js";
import { duration, number, plural } from "./units.js";

const CHIPS = [
  [">", "→ to server"],
  ["<", "← to client"],
  ["!", "stderr"],
  ["*", "events"],
  ["r", "requests"],
  ["e", "✗ errors"],
  ["f", "▲ findings"],
];
let later;
let methods = "";

function toggle(letter) {
  const all = new Set(state.only);
  if (!all.delete(letter)) all.add(letter);
  set({ only: CHIPS.map(([each]) => each).filter((each) => all.has(each)).join("") });
}

/** A chip for each; they stay, so that a click never misses one. */
const chips = CHIPS.map(([letter, text]) => [letter, button(text, () => toggle(letter), { class: "chip" })]);
const zoomed = button("", showAll, { class: "chip", "aria-pressed": "true" });

export function drawFilter(total) {
  const search = $("search");
  // What was typed and is not looked for yet stays, also when something else has the focus by now.
  if (!later && search.value !== state.q && document.activeElement !== search) search.value = state.q;
  for (const [letter, chip] of chips) chip.setAttribute("aria-pressed", String(state.only.includes(letter)));
  zoomed.hidden = !state.t1;
  if (state.t1) {
    zoomed.textContent = `${duration(Number(state.t0))} – ${duration(Number(state.t1))} ×`;
    zoomed.setAttribute("aria-label", `Time ${zoomed.textContent}: show all`);
  }
  $("method").value = state.method;
  $("count").textContent = total === undefined ? "" : plural(total, "row");
}

export function setMethods(list) {
  const key = JSON.stringify(list);
  if (key === methods) return;
  methods = key;
  const options = list.map(([name, count]) => el("option", { value: name }, `${name} (${number(count)})`));
  $("method").replaceChildren(el("option", { value: "" }, "all methods"), ...options);
  $("method").value = state.method;
}

export function clear() {
  clearTimeout(later);
  later = undefined;
  $("search").value = "";
  set({ q: "", only: "", method: "", t0: "", t1: "" });
}

export function startFilter() {
  $("filter").addEventListener("submit", (event) => event.preventDefault());
  $("search").addEventListener("input", () => {
    clearTimeout(later);
    later = setTimeout(() => {
      later = undefined;
      set({ q: $("search").value });
    }, 150);
  });
  $("method").addEventListener("change", () => set({ method: $("method").value }));
  $("chips").append(...chips.map(([, chip]) => chip), zoomed);
  setMethods([]);
  drawFilter();
}
