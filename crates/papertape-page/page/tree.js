// JSON as a tree that folds. Numbers keep their digits; children are made when they are looked at.
import { button, copy, el, shown } from "./dom.js";

/** A number as it was written. */
class Digits {
  constructor(text) {
    this.text = text;
  }
}

/** Most members that are shown at once. */
const STEP = 200;

/** Reads JSON; numbers that JavaScript would change keep their text. */
export const parse = (text) =>
  JSON.parse(text, (_, value, context) =>
    typeof value === "number" && context?.source !== undefined && String(value) !== context.source ? new Digits(context.source) : value);

function write(value, indent = "") {
  if (value instanceof Digits) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}  `;
  const items = Array.isArray(value)
    ? value.map((item) => inner + write(item, inner))
    : Object.entries(value).map(([name, item]) => `${inner}${JSON.stringify(name)}: ${write(item, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return items.length ? `${open}\n${items.join(",\n")}\n${indent}${close}` : open + close;
}

const isLeaf = (value) => value === null || typeof value !== "object" || value instanceof Digits;

function leaf(value) {
  if (value instanceof Digits) return el("span", { class: "number" }, value.text);
  if (typeof value === "string") {
    const long = value.length > 2000;
    const text = el("span", { class: "string" }, `"${shown(long ? value.slice(0, 2000) : value, true)}${long ? "" : '"'}`);
    if (!long) return text;
    const more = button(`… ${value.length - 2000} more characters`, () => {
      text.textContent = `"${shown(value, true)}"`;
      more.remove();
    });
    return [text, more];
  }
  return el("span", { class: value === null ? "null" : typeof value }, String(value));
}

function tools(value, pointer) {
  const plain = typeof value === "string" ? value : write(value);
  return el("span", { class: "copy" },
    button("copy", (event) => copy(plain, event.currentTarget), { "aria-label": `copy the value of ${shown(pointer) || "all"}` }),
    pointer && button("pointer", (event) => copy(pointer, event.currentTarget), { "aria-label": `copy the JSON pointer ${shown(pointer)}` }));
}

function label(name) {
  return name === undefined ? null : [el("bdi", { class: typeof name === "number" ? "index" : "key" }, shown(name)), el("span", { class: "colon" }, ": ")];
}

function children(value, pointer, depth, from = 0) {
  const entries = Array.isArray(value) ? value.map((item, index) => [index, item]) : Object.entries(value);
  const escape = (name) => String(name).replaceAll("~", "~0").replaceAll("/", "~1");
  const made = entries.slice(from, from + STEP).map(([name, item]) => node(name, item, `${pointer}/${escape(name)}`, depth + 1));
  if (entries.length > from + STEP) {
    const more = button(`${entries.length - from - STEP} more`, () => more.replaceWith(...children(value, pointer, depth, from + STEP)));
    made.push(more);
  }
  return made;
}

function node(name, value, pointer, depth) {
  if (isLeaf(value)) return el("div", { class: "leaf" }, label(name), leaf(value), tools(value, pointer));
  const count = Array.isArray(value) ? value.length : Object.keys(value).length;
  const brackets = Array.isArray(value) ? `[${count}]` : `{${count}}`;
  const inside = el("div", { class: "children" });
  const open = depth < 3 || (depth < 5 && count <= 8);
  const details = el("details", {}, el("summary", {}, label(name), el("span", { class: "brackets" }, brackets), tools(value, pointer)), inside);
  const fill = () => details.open && !inside.childElementCount && inside.append(...children(value, pointer, depth));
  details.addEventListener("toggle", fill);
  details.open = open && count > 0;
  fill();
  return details;
}

export const tree = (value) => el("div", { class: "tree" }, node(undefined, value, "", 0));
