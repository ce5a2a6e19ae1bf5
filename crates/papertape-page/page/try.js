// Try it: the tools, resources and prompts of the server, a form for each, and what it answers.
import { get, post } from "./api.js";
import { openApp } from "./app.js";
import { result } from "./content.js";
import { $, button, el, shown } from "./dom.js";
import { schemaForm } from "./form.js";
import { duration } from "./units.js";

/** A page of the server may send messages without end: so many of them, and so many characters of each, are shown. */
const MOST_SAID = 50;
const LONGEST_SAID = 2000;
const KINDS = [["tools", "Tools"], ["resources", "Resources"], ["templates", "Templates"], ["prompts", "Prompts"]];

let jump = () => {};
let server;
let status;
let generation;
let kind = "tools";
let wanted = "";
let chosen;
let app;

const nameOf = (item) => item.name || item.uri || item.uriTemplate || "(without a name)";

async function load() {
  server = await get("server");
  if (!server[kind].length) kind = KINDS.find(([name]) => server[name].length)?.[0] ?? "tools";
  draw();
}

/** The state of the server: it may still be starting, or have ended. */
export function drawTry(now) {
  if (!now) return;
  $("try").hidden = false;
  document.body.classList.add("trying");
  const before = status;
  status = now;
  if (now.state === "open" && (before?.state !== "open" || generation !== now.lists)) {
    generation = now.lists;
    load().catch((error) => { server = undefined; status = { ...now, state: "failed", error: error.message }; draw(); });
  } else if (before?.state !== now.state || before?.error !== now.error) draw();
}

function item(one) {
  const current = chosen?.item === one;
  return el("li", {}, button([el("bdi", {}, shown(nameOf(one))), one.ui?.resourceUri ? el("span", { class: "badge" }, "app") : null], () => choose(one), { class: "item", "aria-current": current ? "true" : null, title: one.title ? shown(one.title) : null }));
}

function listing() {
  const items = server[kind].filter((one) => `${nameOf(one)} ${one.title ?? ""} ${one.description ?? ""}`.toLowerCase().includes(wanted.toLowerCase()));
  return el("ul", { class: "items" }, items.length ? items.map(item) : el("li", { class: "hint" }, wanted ? "Nothing matches." : "The server lists none."));
}

function draw() {
  if (!server || status.state !== "open") {
    const words = {
      opening: "The server is starting …",
      failed: "The server could not be used.",
      closed: "The server has ended.",
    };
    const again = status.state !== "opening" && button("Start it again", () => post("connect", "{}").catch(() => {}), { class: "primary" });
    $("try").replaceChildren(el("h2", {}, "Try it"), el("p", { class: "command" }, shown(status.target)), el("p", {}, words[status.state] ?? "Reading the lists …"), status.error ? el("pre", { class: "text" }, shown(status.error, true)) : "", again || "");
    return;
  }
  const tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "What the server has" }, KINDS.filter(([name]) => server[name].length || name === "tools").map(([name, title]) =>
    button(`${title} ${server[name].length}`, () => { kind = name; draw(); }, { role: "tab", "aria-selected": String(kind === name), "aria-controls": "items" })));
  const search = el("input", { type: "search", placeholder: "Find", "aria-label": `Find in ${kind}`, value: wanted, oninput: (event) => { wanted = event.target.value; $("items").replaceChildren(listing()); } });
  const problems = server.problems.length ? el("details", { class: "part" }, el("summary", { class: "outcome error" }, `▲ ${server.problems.length} problems in the lists`), el("ul", {}, server.problems.map((one) => el("li", {}, shown(one))))) : null;
  const about = server.instructions ? el("details", { class: "part" }, el("summary", {}, "Instructions of the server"), el("pre", { class: "text" }, shown(server.instructions, true))) : null;
  const kept = keep();
  $("try").replaceChildren(el("div", { class: "pick" }, tabs, server[kind].length > 8 ? search : "", el("div", { id: "items", role: "tabpanel" }, listing())), about ?? "", problems ?? "", el("div", { id: "chosen" }));
  if (kept) $("chosen").append(chosen.element);
  else if (server[kind].length) choose(server[kind].find(isChosen) ?? server[kind][0]);
}

// A tool and a resource may have the same name.
const isChosen = (one) => chosen?.kind === kind && nameOf(one) === nameOf(chosen.item);

/** Whether the form stays: a server that was started again may have another schema. */
function keep() {
  const same = server[kind].find((one) => isChosen(one) && JSON.stringify(one) === JSON.stringify(chosen.item));
  if (same) chosen.item = same;
  return same !== undefined;
}

function schemaOf(one) {
  if (kind === "tools") return one.inputSchema ?? {};
  if (kind === "prompts") {
    const properties = Object.fromEntries((one.arguments ?? []).map((each) => [each.name, { type: "string", title: each.title, description: each.description }]));
    return { type: "object", properties, required: (one.arguments ?? []).filter((each) => each.required).map((each) => each.name) };
  }
  if (kind === "templates") {
    const names = Array.from(String(one.uriTemplate).matchAll(/\{[+#./;?&]?([^}]+)\}/g), ([, inside]) => inside.split(",").map((name) => name.replace(/[*]|:\d+$/g, ""))).flat();
    return { type: "object", properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])), required: names };
  }
  return { type: "object", properties: {} };
}

const TITLES = { tools: "Call", resources: "Read", templates: "Read", prompts: "Get" };

function hints({ annotations: notes = {} }) {
  const words = [notes.readOnlyHint && "read-only", notes.destructiveHint && !notes.readOnlyHint && "destructive", notes.idempotentHint && "idempotent", notes.openWorldHint && "open world"].filter(Boolean);
  return words.map((word) => el("span", { class: word === "destructive" ? "badge bad" : "badge" }, word));
}

function choose(one) {
  app?.close();
  app = undefined;
  const answer = el("div", { class: "answer", "aria-live": "polite" });
  const of = kind;
  const form = schemaForm(schemaOf(one), (text) => run(of, one, text, answer, form, false), TITLES[of]);
  const head = [el("h3", {}, el("bdi", {}, shown(one.title || nameOf(one))), " ", hints(one)), one.title && one.title !== one.name ? el("p", { class: "quiet" }, el("code", {}, shown(nameOf(one)))) : "", one.description ? el("p", { class: "description" }, shown(one.description, true)) : ""];
  chosen = { kind, item: one, element: el("div", {}, head, form.form, answer) };
  $("chosen")?.replaceChildren(chosen.element);
  $("items")?.replaceChildren(listing());
}

function request(of, one, text) {
  const name = JSON.stringify(one.name ?? "");
  switch (of) {
    case "tools": return ["call", `{"name":${name},"arguments":${text}`];
    case "prompts": return ["prompt", `{"name":${name},"arguments":${text}`];
    case "templates": return ["read", `{"template":${JSON.stringify(one.uriTemplate)},"variables":${text}`];
    default: return ["read", `{"uri":${JSON.stringify(one.uri)}`];
  }
}

async function run(of, one, text, answer, form, anyway) {
  const [path, body] = request(of, one, text);
  const stop = new AbortController();
  const began = performance.now();
  const passed = el("span", {}, "");
  const clock = setInterval(() => (passed.textContent = ` ${duration((performance.now() - began) / 1000)}`), 200);
  app?.close();
  answer.replaceChildren(el("p", { class: "hint" }, "Waiting for the answer …", passed, " ", button("Cancel", () => stop.abort(), { class: "small" })));
  form.send.disabled = true;
  try {
    const reply = await post(path, `${body},"anyway":${anyway}}`, stop.signal);
    if (reply.violations) {
      answer.replaceChildren(el("p", { class: "wrong" }, "Not sent: the arguments violate the schema."), el("ul", {}, reply.violations.map((violation) => el("li", {}, el("bdi", {}, shown(violation))))), button("Send anyway", () => run(of, one, text, answer, form, true)));
      return;
    }
    await showReply(reply, one, text, answer);
  } catch (error) {
    answer.replaceChildren(el("p", { class: "outcome error" }, error.name === "AbortError" ? "⊘ Cancelled." : `✗ ${shown(error.message)}`));
  } finally {
    clearInterval(clock);
    form.send.disabled = false;
    // A long form leaves no room for it.
    answer.scrollIntoView({ block: "nearest" });
  }
}

async function showReply(reply, one, text, answer) {
  const link = reply.request ? ["Frame ", button(`#${reply.request}`, () => jump(reply.request), { class: "link" })] : null;
  const took = reply.seconds === undefined ? "" : ` · ${duration(reply.seconds)}`;
  const head = el("p", { class: reply.error ? "outcome error" : "outcome ok" }, reply.error ? "✗ failed" : "✓ answered", took, " · ", link);
  if (reply.error) {
    answer.replaceChildren(head, el("pre", { class: "text" }, shown(reply.error, true)));
  } else {
    const read = (uri) => run("resources", { uri }, "{}", answer, { send: {} }, true);
    answer.replaceChildren(head, result(reply.result, read));
    if (one.ui?.resourceUri) await showApp(one, text, reply, answer);
  }
  if (reply.request) jump(reply.request);
}

/** What a page has sent: `postMessage` also passes values that JSON has no text for. */
function written(value) {
  try {
    return typeof value === "string" ? value : JSON.stringify(value) ?? "";
  } catch {
    return "a value that is not JSON";
  }
}

async function showApp(one, text, reply, answer) {
  const said = el("div", {});
  const say = (what, value) => {
    said.append(el("p", { class: "quiet" }, `${what}: `, el("bdi", {}, shown(written(value).slice(0, LONGEST_SAID)))));
    if (said.childElementCount > MOST_SAID) said.firstChild.remove();
  };
  try {
    app = await openApp({ tool: one, input: JSON.parse(text), answer: JSON.parse(reply.result), tools: server.tools, say });
    answer.firstChild.after(app.element, said);
  } catch (error) {
    answer.firstChild.after(el("p", { class: "outcome error" }, `The page of the tool cannot be shown: ${shown(error.message)}`));
  }
}

export function startTry(actions) {
  jump = actions.jump;
}
