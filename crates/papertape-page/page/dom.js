// Elements from plain values. Text becomes text nodes and nothing else: no function of this page parses markup.

/** An element; properties that begin with `on` are listeners, all others attributes. */
export function el(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(4).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const $ = (id) => document.getElementById(id);

export const button = (text, onclick, properties) => el("button", { type: "button", onclick, ...properties }, text);

const encoder = new TextEncoder();
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");

// Controls, invisible and bidirectional formatting, separators, surrogates, private use, unassigned, and fillers that look empty.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800]+/gu;

/** Text of a peer: what cannot be seen stands as bytes between ⟦ and ⟧, as on a tape. Line ends and tabs stay if `lines`. */
export function shown(text, lines = false) {
  return String(text).replace(HIDDEN, (run) => {
    const parts = lines ? run.split(/(\r?\n|\t)/) : [run];
    return parts.map((part) => (part === "" || (lines && /^(\r?\n|\t)$/.test(part)) ? part : `⟦${hex(encoder.encode(part))}⟧`)).join("");
  });
}

/** Copies, and says so on the button. */
export async function copy(text, from) {
  const before = from.textContent;
  try {
    await navigator.clipboard.writeText(text);
    from.textContent = "copied";
  } catch {
    from.textContent = "not allowed";
  }
  setTimeout(() => (from.textContent = before), 900);
}
