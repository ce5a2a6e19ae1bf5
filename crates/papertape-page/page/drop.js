// A tape that is dropped on the page is sent to the local server, which reads it as any other.
import { postTape } from "./api.js";
import { $ } from "./dom.js";

const LARGEST = 512 * 1024 * 1024;

export function startDrop(open, problem) {
  let depth = 0;
  const hasFiles = (event) => Array.from(event.dataTransfer?.types ?? []).includes("Files");
  const show = (visible) => ($("drop").hidden = !visible);
  addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth += 1;
    show(true);
  });
  addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    if (!depth) show(false);
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", async (event) => {
    event.preventDefault();
    depth = 0;
    show(false);
    const file = event.dataTransfer?.files?.[0];
    if (!file) return;
    if (file.size > LARGEST) return problem(`${file.name} is too large to drop. Open it with: papertape page TAPE`);
    try {
      const { tape } = await postTape(file);
      open(tape);
    } catch (error) {
      problem(`${file.name}: ${error.message}`);
    }
  });
}
