// Drives the host (host.js) in headless Chromium: every page is shown, used and left, in light and dark, and what it may not do
// is tried. Prints a line for each; the first thing that is not as it should be ends it.
//
// drive.mjs CHROMIUM SCREENSHOTS '{"NAME": "http://127.0.0.1:PORT/mcp"}'
import assert from "node:assert/strict";
import http from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const [executablePath, screenshots, servers] = process.argv.slice(2);
const backends = JSON.parse(servers);
const here = path.dirname(fileURLToPath(import.meta.url));

const bundled = await build({
  entryPoints: [path.join(here, "host.js")],
  bundle: true,
  write: false,
  format: "esm",
  platform: "browser",
  logLevel: "error",
});

const HOST = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Host</title><link rel="icon" href="data:,">
<style>
  :root { color-scheme: light dark; }
  body { margin: 1.5rem; background: light-dark(#e9e6df, #101114); }
  iframe { display: block; width: 100%; max-width: 40rem; height: 4rem; border: 0; }
  iframe.border { border: 1px solid light-dark(#c8c2b6, #3c3d42); border-radius: 10px; }
</style>
<script type="module" src="host.js"></script>`;

// Between host and page: passes on what is not for itself, and gives the page its policy, which a document without an address
// has from the one that makes it.
const SANDBOX = `<!doctype html><meta charset="utf-8"><title>Sandbox</title>
<style>html, body, iframe { margin: 0; border: 0; width: 100%; height: 100%; display: block; }</style>
<script>
  const page = document.createElement("iframe");
  page.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
  addEventListener("message", ({ source, data }) => {
    if (source === page.contentWindow) parent.postMessage(data, "*");
    else if (source !== parent) return;
    else if (data.method === "ui/notifications/sandbox-resource-ready") {
      page.srcdoc = data.params.html;
      document.body.append(page);
    } else page.contentWindow?.postMessage(data, "*");
  });
  addEventListener("DOMContentLoaded", () =>
    parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, "*"));
</script><body></body>`;

/** The policy of the specification, for the origins that a page declares. */
function policy({ connectDomains = [], resourceDomains = [], frameDomains = [], baseUriDomains = [] }) {
  const resources = resourceDomains.join(" ");
  return [
    "default-src 'none'",
    `script-src 'self' 'unsafe-inline' ${resources}`,
    `style-src 'self' 'unsafe-inline' ${resources}`,
    `connect-src ${connectDomains.join(" ") || "'none'"}`,
    `img-src 'self' data: ${resources}`,
    `font-src 'self' ${resources}`,
    `media-src 'self' data: ${resources}`,
    `frame-src ${frameDomains.join(" ") || "'none'"}`,
    "object-src 'none'",
    `base-uri ${baseUriDomains.join(" ") || "'self'"}`,
  ].join("; ");
}

function send(response, type, text, headers = {}) {
  response.writeHead(200, { "content-type": `${type}; charset=utf-8`, ...headers });
  response.end(text);
}

/** The host, and the servers behind it, so that the browser needs nothing but this origin. */
function serveHost(request, response) {
  const url = backends[request.url.slice("/mcp/".length)];
  if (request.url === "/") return send(response, "text/html", HOST);
  if (request.url === "/host.js") return send(response, "text/javascript", bundled.outputFiles[0].text);
  if (!url) return response.writeHead(404).end();
  const { host, origin, referer, ...headers } = request.headers;
  const passed = http.request(url, { method: request.method, headers }, (reply) => {
    response.writeHead(reply.statusCode, reply.headers);
    reply.pipe(response);
  });
  passed.on("error", (error) => response.destroy(error));
  response.on("close", () => passed.destroy());
  request.pipe(passed);
}

function serveSandbox(request, response) {
  const csp = JSON.parse(new URL(request.url, "http://sandbox").searchParams.get("csp") ?? "{}");
  send(response, "text/html", SANDBOX, { "content-security-policy": policy(csp) });
}

async function listen(handler) {
  const server = http.createServer(handler);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return [server, `http://127.0.0.1:${server.address().port}/`];
}

const [hostServer, origin] = await listen(serveHost);
const [sandboxServer, sandbox] = await listen(serveSandbox);
const profile = await mkdtemp(path.join(tmpdir(), "interop-apps-"));
// Without the flags about the background, Chromium looks for hosts of its own.
const quiet = ["quic", "background-networking", "component-update", "sync"].map((what) => `--disable-${what}`);
const context = await chromium.launchPersistentContext(profile, {
  executablePath,
  viewport: { width: 720, height: 560 },
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", ...quiet],
});

/** Shows the result of a tool; what is wrong is collected until the page is left. */
async function shown(name, options) {
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const wrong = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    if (![origin, sandbox, "data:", "about:"].some((own) => url.startsWith(own))) wrong.push(`request to ${url}`);
  });
  await page.goto(origin);
  const seen = await page.evaluate((options) => window.show(options), { url: `mcp/${name}`, sandbox, ...options });
  const frame = page.frames().find((frame) => frame.parentFrame()?.parentFrame());
  return { page, frame, seen, wrong };
}

async function picture({ page }, name) {
  if (screenshots) await page.screenshot({ path: path.join(screenshots, `${name}.png`) });
}

/** Where the page is and how it looks, for the theme of the host. */
async function looks({ page, frame }, theme) {
  await page.evaluate((theme) => window.theme(theme), theme);
  // On a phone, too.
  await page.setViewportSize({ width: 320, height: 560 });
  await frame.waitForFunction(() => document.documentElement.clientWidth < 320);
  assert.ok(await frame.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth));
  await frame.waitForFunction((theme) => getComputedStyle(document.documentElement).colorScheme === theme, theme);
  return frame.evaluate(() => {
    const { color, backgroundColor, fontFamily } = getComputedStyle(document.body);
    return { color, backgroundColor, fontFamily };
  });
}

async function leave({ page, wrong }) {
  assert.deepEqual(wrong, []);
  const context = await page.evaluate(() => window.leave());
  await page.close();
  return context;
}

const QUESTIONS = ['What is the past simple of "go" for he/she/it?', 'What is the present simple of "see" for he/she/it?'];

/** The drill: one right answer by mouse, a wrong one by keyboard. */
async function drill(name, prefix, mode, revision, theme, styled) {
  const tool = `${prefix}drill`;
  const drill = await shown(name, { mode, tool, args: { questions: 2, seed: 64 }, theme, styled });
  const { page, frame, seen } = drill;
  assert.equal(seen.revision, revision);
  assert.deepEqual(seen.forPages, [`${prefix}mark_answer`]);
  assert.ok(seen.forModel.includes(tool));
  assert.equal(seen.app, "drill");
  assert.ok(seen.text.includes("in a page") && !seen.text.includes("went"), seen.text);

  const answer = frame.getByLabel(QUESTIONS[0]);
  await answer.waitFor();
  await picture(drill, `${tool}-asked-${theme}`);
  await answer.fill("went");
  await frame.getByRole("button", { name: "Check" }).click();
  await frame.getByRole("status").getByText("Right.", { exact: true }).waitFor();

  await frame.getByLabel(QUESTIONS[1]).waitFor();
  assert.equal(await frame.evaluate(() => document.activeElement.id), "answer");
  await picture(drill, `${tool}-marked-${theme}`);
  await page.keyboard.type("<b>see</b>");
  await page.keyboard.press("Enter");
  await frame.getByRole("status").getByText("1 of 2 right.", { exact: true }).waitFor();
  assert.deepEqual(await frame.getByRole("listitem").allInnerTexts(), [
    `${QUESTIONS[0]}\n✓ went`,
    `${QUESTIONS[1]}\n✗ <b>see</b> – it is “sees”`,
  ]);
  assert.ok(await frame.getByLabel(QUESTIONS[1]).isHidden());
  await picture(drill, `${tool}-over-${theme}`);

  const fits = await page.evaluate(() => document.querySelector("iframe").clientHeight);
  const needs = await frame.evaluate(() => Math.ceil(document.documentElement.getBoundingClientRect().height));
  assert.equal(fits, needs, "height of the frame");
  const [light, dark] = [await looks(drill, "light"), await looks(drill, "dark")];
  assert.notEqual(light.color, dark.color);
  assert.equal(light.fontFamily.includes("Georgia"), styled);
  assert.equal(dark.backgroundColor, styled ? "rgb(32, 33, 36)" : "rgb(30, 30, 30)");
  const context = await leave(drill);
  assert.equal(context.length, 1);
  assert.ok(context[0].startsWith("The drill is over: 1 of 2 right."), context[0]);
}

/** A passage is opened, closed, and opened by keyboard. */
async function hits(mode, theme) {
  const hits = await shown("blog", { mode, tool: "search_blog", args: { query: "sourdough" }, theme, styled: false });
  const { page, frame, seen } = hits;
  assert.deepEqual(seen.forPages, []);
  assert.ok(seen.text.includes("bread.md"), seen.text);
  await frame.getByRole("heading", { name: "Search: sourdough" }).waitFor();
  await frame.getByRole("status").getByText("2 passages").waitFor();
  await picture(hits, `search_blog-hits-${theme}`);

  const bread = frame.getByRole("button", { name: "Bread" });
  await bread.click();
  const passage = frame.locator("pre").getByText("Bake it until it sounds hollow.");
  await passage.waitFor();
  assert.equal(await bread.getAttribute("aria-expanded"), "true");
  await picture(hits, `search_blog-passage-${theme}`);
  await bread.click();
  await passage.waitFor({ state: "hidden" });
  await bread.focus();
  await page.keyboard.press("Enter");
  await passage.waitFor();

  // What is written in a post is text.
  await frame.getByRole("button", { name: "<img src=x onerror=alert(1)>" }).waitFor();
  assert.equal(await frame.locator("img").count(), 0);
  await looks(hits, theme);
  assert.deepEqual(await leave(hits), []);
}

/** A result without hits, and a call that fails. */
async function without(args, status) {
  const hits = await shown("blog", { mode: "auto", tool: "search_blog", args, theme: "light", styled: false });
  await hits.frame.getByRole("status").getByText(status).waitFor();
  assert.equal(await hits.frame.getByRole("listitem").count(), 0);
  await leave(hits);
}

/** What the policy forbids fails, and is seen here: the checks above could fail. */
async function forbidden() {
  const drill = await shown("grammar", { mode: "auto", tool: "drill", args: {}, theme: "light", styled: false });
  const { page, frame, wrong } = drill;
  assert.deepEqual(wrong, []);
  const fetched = frame.evaluate((url) => fetch(url).then(() => "fetched", () => "refused"), `${origin}host.js`);
  assert.equal(await fetched, "refused");
  const image = (url) =>
    new Promise((resolve) => {
      const image = new Image();
      image.onload = image.onerror = ({ type }) => resolve(type);
      image.src = url;
    });
  assert.equal(await frame.evaluate(image, `${origin}image.png`), "error");
  assert.ok(wrong.some((text) => text.includes("connect-src")), String(wrong));
  assert.ok(wrong.some((text) => text.includes("img-src")), String(wrong));
  await assert.rejects(frame.evaluate(() => top.document.title));
  await page.close();
}

const STEPS = {
  "the drill of `serve grammar`, stateless, light": () => drill("grammar", "", "auto", "2026-07-28", "light", false),
  "the drill of `serve grammar`, in a session, dark": () => drill("grammar", "", "legacy", "2025-11-25", "dark", false),
  "the drill of `serve all`, mounted, in the host's style": () => drill("all", "grammar_", "auto", "2026-07-28", "light", true),
  "the hits of `serve blog`, stateless, light": () => hits("auto", "light"),
  "the hits of `serve blog`, in a session, dark": () => hits("legacy", "dark"),
  "no hits": () => without({ query: "zeppelin" }, "Nothing was found."),
  "a search that fails": () => without({ query: "bread", since: "soon" }, "soon"),
  "what the policy forbids": forbidden,
};

let failed = 0;
for (const [name, step] of Object.entries(STEPS)) {
  try {
    await step();
    console.log(`ok  ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}
await context.close();
hostServer.closeAllConnections();
hostServer.close();
sandboxServer.closeAllConnections();
sandboxServer.close();
await rm(profile, { recursive: true, force: true });
process.exitCode = failed ? 1 : 0;
