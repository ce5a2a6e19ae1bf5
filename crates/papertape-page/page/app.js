// A page of the server (MCP Apps), in a frame without an origin or access to this page, whose requests are blocked: messages are what it has.
// WebRTC is left to it: no policy of a browser stops that.
import { post } from "./api.js";
import { el, shown } from "./dom.js";
import { theme, onTheme } from "./theme.js";

const TALLEST = 2000;
const VERSION = "2026-01-26";

/** A frame for the page of a tool; `call` calls other tools of the same server for it. */
export async function openApp({ tool, input, answer, tools, say }) {
  const { url, refused, border } = await post("app", JSON.stringify({ uri: tool.ui.resourceUri }));
  const frame = el("iframe", { src: url, sandbox: "allow-scripts allow-forms", title: `page of ${shown(tool.name)}`, class: border ? "app border" : "app", referrerpolicy: "no-referrer" });
  const note = el("p", { class: "hint" }, refused.length ? `This page would use ${refused.map(shown).join(", ")}. Here its requests are blocked.` : "");
  const send = (message) => frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const context = () => ({ theme: theme(), toolInfo: { tool: tool.definition }, displayMode: "inline", availableDisplayModes: ["inline"], platform: "web", locale: navigator.language });

  const requests = {
    "ui/initialize": () => ({ protocolVersion: VERSION, hostInfo: { name: "papertape", version: "1" }, hostCapabilities: { serverTools: {}, serverResources: {}, logging: {}, updateModelContext: { text: {} } }, hostContext: context() }),
    ping: () => ({}),
    "tools/call": async ({ name, arguments: args }) => {
      if (!tools.some((one) => one.name === name && one.forApp)) throw new Error(`there is no tool ${name} for pages`);
      return unwrap(await post("call", JSON.stringify({ name, arguments: args ?? {}, anyway: true })));
    },
    "resources/read": async ({ uri }) => unwrap(await post("read", JSON.stringify({ uri }))),
    "ui/message": ({ content }) => (say("The page says to the user", content), {}),
    "ui/update-model-context": (params) => (say("The page says to the model", params), {}),
    "ui/request-display-mode": () => ({ mode: "inline" }),
    // Nothing is opened: the address is shown, and may be copied.
    "ui/open-link": ({ url: wanted }) => {
      say("The page wants to open", String(wanted));
      throw new Error("this host opens no links");
    },
  };
  const notifications = {
    "ui/notifications/initialized": () => {
      send({ method: "ui/notifications/tool-input", params: { arguments: input } });
      send({ method: "ui/notifications/tool-result", params: answer });
    },
    "ui/notifications/size-changed": ({ height }) => {
      if (height > 0) frame.style.height = `${Math.min(Math.ceil(height), TALLEST)}px`;
    },
    "notifications/message": (params) => say("The page logs", params),
  };

  async function receive({ source, data }) {
    if (source !== frame.contentWindow || data?.jsonrpc !== "2.0" || typeof data.method !== "string") return;
    if (data.id === undefined) {
      if (Object.hasOwn(notifications, data.method)) notifications[data.method](data.params ?? {});
      return;
    }
    try {
      if (!Object.hasOwn(requests, data.method)) return send({ id: data.id, error: { code: -32601, message: "method not found" } });
      send({ id: data.id, result: await requests[data.method](data.params ?? {}) });
    } catch (error) {
      send({ id: data.id, error: { code: -32000, message: error.message } });
    }
  }
  addEventListener("message", receive);
  const unsubscribe = onTheme(() => send({ method: "ui/notifications/host-context-changed", params: { theme: theme() } }));
  const close = () => {
    removeEventListener("message", receive);
    unsubscribe();
    frame.remove();
  };
  return { element: el("div", {}, frame, note), close };
}

function unwrap(answer) {
  if (answer.error) throw new Error(answer.error);
  return JSON.parse(answer.result);
}
