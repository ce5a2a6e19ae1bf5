// Light and dark: that of the system, until it is switched.
import { $ } from "./dom.js";

const KEY = "papertape-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

export const theme = () => localStorage.getItem(KEY) ?? (system.matches ? "dark" : "light");

export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function apply() {
  document.documentElement.dataset.theme = theme();
  $("theme").textContent = theme() === "dark" ? "☀" : "☾";
  for (const listener of listeners) listener(theme());
}

export function startTheme() {
  $("theme").addEventListener("click", () => {
    localStorage.setItem(KEY, theme() === "dark" ? "light" : "dark");
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}

/** A colour of the style sheet, for the canvas. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
