// The width of the detail, by pointer and by keyboard.
import { $ } from "./dom.js";

export function startSplitter() {
  const [bar, main] = [$("splitter"), $("main")];
  const setWidth = (pixels) => {
    const width = Math.max(260, Math.min(pixels, main.clientWidth - 420));
    main.style.setProperty("--detail", `${width}px`);
    bar.setAttribute("aria-valuenow", Math.round(width));
  };
  bar.addEventListener("pointerdown", (event) => bar.setPointerCapture(event.pointerId));
  bar.addEventListener("pointermove", (event) => {
    if (bar.hasPointerCapture(event.pointerId)) setWidth(main.getBoundingClientRect().right - event.clientX);
  });
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: 24, ArrowRight: -24 }[event.key];
    if (!step) return;
    setWidth($("detail").clientWidth + step);
    event.preventDefault();
  });
}
