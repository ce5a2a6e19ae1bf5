// What a server has answered: text, pictures, audio, resources, structured content.
import { el, button, shown } from "./dom.js";
import { parse, tree } from "./tree.js";
import { plural, size } from "./units.js";

// No SVG: it is a document, and text shows it as well.
const PICTURE = /^image\/(png|jpeg|gif|webp|avif|bmp)$/i;
const SOUND = /^audio\/[a-z0-9.+-]+$/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const LONGEST = 100_000;

const type = (value) => (typeof value === "string" ? value.split(";")[0].trim() : "");
const data = (mime, base64) => `data:${mime.toLowerCase()};base64,${base64}`;

function text(value) {
  const whole = String(value);
  const output = el("pre", { class: "text", dir: "auto", tabindex: "0" }, shown(whole.slice(0, LONGEST), true));
  if (whole.length <= LONGEST) return output;
  const more = button(`Show all ${plural(whole.length, "character")}`, () => {
    output.textContent = shown(whole, true);
    more.remove();
  });
  return [output, more];
}

function media(mime, base64, name) {
  if (typeof base64 !== "string" || !BASE64.test(base64)) return el("p", { class: "outcome error" }, "The data is not base64.");
  if (PICTURE.test(mime)) return el("img", { src: data(mime, base64), alt: name ? shown(name) : "picture of the result" });
  if (SOUND.test(mime)) return el("audio", { controls: true, src: data(mime, base64) });
  return el("p", { class: "hint" }, `${size(Math.floor((base64.length * 3) / 4))} of ${shown(mime) || "unknown type"}`);
}

/** The contents of a resource. */
export function resource(contents, read) {
  const { uri, mimeType, text: words, blob } = contents ?? {};
  const head = el("p", { class: "uri" }, el("bdi", {}, shown(uri ?? "")), mimeType ? ` · ${shown(mimeType)}` : "");
  const body = typeof words === "string" ? text(words) : blob !== undefined ? media(type(mimeType), blob, uri) : read ? button("Read", () => read(uri), { class: "small" }) : null;
  return el("div", { class: "block resource" }, head, body);
}

function block(content, read) {
  switch (content?.type) {
    case "text": return el("div", { class: "block" }, text(content.text));
    case "image":
    case "audio": return el("div", { class: "block" }, media(type(content.mimeType), content.data));
    case "resource": return resource(content.resource);
    // A link is text: what it leads to is up to the server.
    case "resource_link": return el("div", { class: "block resource" }, el("p", {}, el("bdi", {}, shown(content.title ?? content.name ?? ""))), resource({ uri: content.uri, mimeType: content.mimeType }, read));
    default: return el("div", { class: "block" }, el("p", { class: "outcome error" }, `content of an unknown type`), tree(content));
  }
}

const folded = (title, value, open) => el("details", { class: "part", open }, el("summary", {}, title), tree(value));

/** The result of a call, a read or a prompt; `json` is its text. */
export function result(json, read) {
  const value = parse(json);
  const parts = [];
  if (value?.isError) parts.push(el("p", { class: "outcome error" }, "✗ The tool reports an error."));
  for (const one of Array.isArray(value?.content) ? value.content : []) parts.push(block(one, read));
  for (const one of Array.isArray(value?.contents) ? value.contents : []) parts.push(resource(one));
  for (const one of Array.isArray(value?.messages) ? value.messages : []) {
    parts.push(el("div", { class: "message" }, el("h4", {}, shown(one?.role ?? "")), [one?.content].flat().map((each) => block(each, read))));
  }
  if (value?.structuredContent !== undefined) parts.push(folded("Structured content", value.structuredContent, true));
  if (value?._meta !== undefined) parts.push(folded("_meta", value._meta, false));
  parts.push(folded("The result as JSON", value, !parts.length));
  return el("div", { class: "result" }, parts);
}
