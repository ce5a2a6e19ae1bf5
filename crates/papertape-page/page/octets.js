// Bytes as text, as a tape has them, and as hexadecimal.
import { shown } from "./dom.js";

const hex = (byte) => byte.toString(16).padStart(2, "0");

/** How many bytes the UTF-8 character at `at` has; 0 if it is none. */
function characterAt(bytes, at) {
  const first = bytes[at];
  const length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (!length || at + length > bytes.length) return 0;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(at, at + length));
    return length;
  } catch {
    return 0;
  }
}

/** Every byte: what is not printable text stands between ⟦ and ⟧; after line ends the text goes on in the next line. */
export function raw(bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return breaks(escaped(text));
  } catch {
    return rawInvalid(bytes);
  }
}

const escaped = (text) => text.split("⟦").map((part) => shown(part)).join("⟦e2 9f a6⟧").replace(/ $/, "⟦20⟧");

const breaks = (text) => text.replace(/(0a⟧)(?=[^]*\S)/g, "$1\n");

function rawInvalid(bytes) {
  let [text, run, valid] = ["", [], 0];
  const flush = (end) => {
    text += escaped(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(valid, end)));
  };
  for (let at = 0; at < bytes.length; ) {
    const length = characterAt(bytes, at);
    if (length) {
      if (run.length) {
        text += `⟦${run.map(hex).join(" ")}⟧`;
        [run, valid] = [[], at];
      }
      at += length;
    } else {
      if (!run.length) flush(at);
      run.push(bytes[at]);
      at += 1;
    }
  }
  if (run.length) text += `⟦${run.map(hex).join(" ")}⟧`;
  else flush(bytes.length);
  return breaks(text);
}

/** Sixteen bytes a line: offset, hexadecimal, ASCII. */
export function hexdump(bytes, from = 0) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const line = bytes.subarray(at, at + 16);
    const digits = Array.from(line, hex);
    const ascii = Array.from(line, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${(from + at).toString(16).padStart(8, "0")}  ${digits.slice(0, 8).join(" ").padEnd(23)}  ${digits.slice(8).join(" ").padEnd(23)}  ${ascii}`);
  }
  return lines.join("\n");
}

/** The JSON of a message: without the line end, the header or the field name around it. */
export function json(bytes) {
  const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  const headed = /^Content-Length:[^]*?\r?\n\r?\n/i.exec(text);
  if (headed) return text.slice(headed[0].length);
  if (/^(data|event|id|retry|:)/.test(text)) {
    const data = text.split(/\r\n|\r|\n/).filter((line) => line.startsWith("data:"));
    return data.map((line) => line.slice(5).replace(/^ /, "")).join("\n");
  }
  return text;
}
