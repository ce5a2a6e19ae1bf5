// A host of MCP Apps, in a browser: the official client reaches the server, the official AppBridge the page, which is in a
// sandbox of another origin. Bundled by drive.mjs, which calls `show` and reads `host`.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  AppBridge,
  PostMessageTransport,
  RESOURCE_MIME_TYPE,
  buildAllowAttribute,
  getToolUiResourceUri,
  isToolVisibilityAppOnly,
  isToolVisibilityModelOnly,
} from "@modelcontextprotocol/ext-apps/app-bridge";

const info = { name: "interop-apps", version: "1.0.0" };
const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } };

// What a host passes on so that pages look like it; another one passes nothing.
const variables = {
  "--color-background-primary": "light-dark(#faf8f3, #202124)",
  "--color-text-primary": "light-dark(#2a2522, #ece8e1)",
  "--font-sans": "Georgia, serif",
};

/** Calls a tool and shows its result in its page; what the model would get of all that. */
window.show = async ({ url, mode, sandbox, tool, args, theme, styled }) => {
  const client = new Client(info, { capabilities: { extensions }, versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url, location.href)));
  const { tools } = await client.listTools();
  const called = tools.find(({ name }) => name === tool);
  const uri = getToolUiResourceUri(called);
  const [page] = (await client.readResource({ uri })).contents;
  if (page.mimeType !== RESOURCE_MIME_TYPE) throw new Error(`${uri} is ${page.mimeType}`);
  const { csp, permissions, prefersBorder } = page._meta?.ui ?? {};

  const frame = document.createElement("iframe");
  frame.title = called.title;
  frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
  frame.allow = buildAllowAttribute(permissions);
  frame.classList.toggle("border", Boolean(prefersBorder));
  // The sandbox is served with the policy.
  frame.src = `${sandbox}?${new URLSearchParams({ csp: JSON.stringify(csp ?? {}) })}`;
  document.documentElement.style.colorScheme = theme;
  document.body.replaceChildren(frame);

  const hostContext = { theme, toolInfo: { tool: called }, displayMode: "inline", availableDisplayModes: ["inline"] };
  if (styled) hostContext.styles = { variables };
  const capabilities = { serverTools: {}, serverResources: {}, updateModelContext: { text: {} } };
  // With a client, the bridge would pass on the calls of tools that are not for pages, too.
  const bridge = new AppBridge(null, info, capabilities, { hostContext });
  const context = [];
  bridge.onupdatemodelcontext = async ({ content }) => (context.push(...content.map(({ text }) => text)), {});
  bridge.oncalltool = async (params) => {
    const wanted = tools.find(({ name }) => name === params.name);
    if (wanted && isToolVisibilityModelOnly(wanted)) throw new Error(`${params.name} is not for pages`);
    return client.callTool(params);
  };
  bridge.onreadresource = (params) => client.readResource(params);
  bridge.onsizechange = ({ height }) => {
    frame.style.height = `${height}px`;
  };
  const ready = new Promise((resolve) => (bridge.onsandboxready = resolve));
  const initialized = new Promise((resolve) => (bridge.oninitialized = resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  await ready;
  await bridge.sendSandboxResourceReady({ html: page.text, csp, permissions });
  await initialized;
  await bridge.sendToolInput({ arguments: args });
  const result = await client.callTool({ name: tool, arguments: args });
  await bridge.sendToolResult(result);
  window.host = { bridge, context };
  return {
    revision: client.getNegotiatedProtocolVersion(),
    forModel: tools.filter((tool) => !isToolVisibilityAppOnly(tool)).map(({ name }) => name),
    forPages: tools.filter(isToolVisibilityAppOnly).map(({ name }) => name),
    app: bridge.getAppVersion().name,
    text: result.content.map(({ text }) => text).join(""),
  };
};

window.theme = (theme) => {
  document.documentElement.style.colorScheme = theme;
  return window.host.bridge.setHostContext({ theme });
};

/** What the page has told the model; the page is gone afterwards. */
window.leave = async () => {
  const { bridge, context } = window.host;
  await bridge.teardownResource({});
  await bridge.close();
  document.body.replaceChildren();
  return context;
};
