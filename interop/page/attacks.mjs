// What other web pages can do to the page's server: the conditions of published exploits of MCP debuggers.
import assert from "node:assert/strict";
import { listen, open } from "./browser.mjs";

const POST = { method: "POST", headers: { "content-type": "application/json" }, body: '{"command":"touch","args":["/tmp/pwned"],"name":"conjugate"}' };

/** Everything that a script of another page can send; what it could read. */
const attack = async ({ target, post }) => {
  const read = [];
  const attempt = async (name, url, options) => {
    try {
      // A browser that asks for a permission keeps the request.
      const response = await fetch(url, { ...options, signal: AbortSignal.timeout(5_000) });
      if (response.type !== "opaque") read.push(`${name}: ${response.status} ${(await response.text()).slice(0, 80)}`);
    } catch { /* Refused, as it should be. */ }
  };
  const plain = { method: "POST", body: post.body };
  const attempts = [];
  for (const path of ["/", "/api/recording", "/api/server", "/api/connect", "/api/call", "/sse?transportType=stdio&command=touch&args=/tmp/pwned", "/api/mcp/connect"]) {
    attempts.push(
      attempt(path, target + path),
      attempt(path, target + path, { mode: "no-cors" }),
      attempt(path, target + path, { ...plain, mode: "no-cors" }),
      attempt(path, target + path, post),
      attempt(path, target + path, { ...post, headers: { ...post.headers, "papertape-token": "0" } }),
    );
  }
  await Promise.all(attempts);
  const socket = await new Promise((resolve) => {
    const socket = new WebSocket(`${target.replace("http", "ws")}/api/call`);
    socket.onopen = () => resolve("open");
    socket.onerror = () => resolve("refused");
    setTimeout(() => resolve("refused"), 5_000);
  });
  return { read, socket };
};

/** How often the target was started, and what the tape has. */
async function state(browser, url) {
  const { page, close } = await open(browser, url);
  await page.locator("#items button").first().waitFor();
  const starts = await page.evaluate(async () => {
    const token = sessionStorage.getItem("papertape-token");
    const answer = await fetch("/api/frames?only=*", { headers: { "papertape-token": token } });
    return (await answer.json()).rows.filter((row) => row.w.startsWith("start")).length;
  });
  await close();
  return starts;
}

/** CVE-2025-49596 and CVE-2026-23744: a page somewhere reaches a local server that starts processes. */
export async function otherPages(browser, { url }) {
  const port = new URL(url).port;
  assert.equal(await state(browser, url), 1);
  const evil = await listen((request, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end("<!doctype html><title>evil</title><p>evil");
  });
  const context = await browser.newContext();
  const page = await context.newPage();
  // From another origin on loopback, and under names that an attacker's DNS leads to loopback.
  for (const from of [evil.url, `http://rebound.test:${evil.port}`]) {
    for (const target of [`http://127.0.0.1:${port}`, `http://localhost:${port}`, `http://0.0.0.0:${port}`, `http://rebound.test:${port}`]) {
      await page.goto(from);
      const { read, socket } = await page.evaluate(attack, { target, post: POST });
      assert.deepEqual(read, [], `from ${from} to ${target}`);
      assert.equal(socket, "refused");
    }
  }
  // DNS rebinding: the page itself is loaded from the name, so that it is of the same origin as its requests.
  const rebound = await page.goto(`http://rebound.test:${port}/`);
  assert.equal(rebound.status(), 403);
  const { read } = await page.evaluate(attack, { target: `http://rebound.test:${port}`, post: POST });
  assert.ok(read.every((each) => /: 403 /.test(each)), read.join("\n"));

  // A form, which needs no permission, and a frame around the page.
  await page.goto(evil.url);
  await page.evaluate((target) => {
    const form = document.body.appendChild(document.createElement("form"));
    Object.assign(form, { method: "post", action: `${target}/api/connect`, enctype: "text/plain" });
    form.submit();
  }, `http://127.0.0.1:${port}`);
  await page.getByText("the request comes from another site").or(page.getByText("`Origin` is not this page")).waitFor();
  await page.goto(evil.url);
  const refused = page.waitForEvent("console", (message) => message.text().includes("frame-ancestors"));
  await page.evaluate((target) => (document.body.appendChild(document.createElement("iframe")).src = target), url);
  await refused;
  const framed = page.frames().find((frame) => frame !== page.mainFrame());
  assert.equal(await framed.locator("#header").count(), 0, "the page is in a frame of another one");
  await context.close();
  evil.close();
  assert.equal(await state(browser, url), 1, "another page has started the server");
}

/** CVE-2025-58444: metadata of an authorization server with `javascript:` addresses, which a debugger opened. */
export async function oauth(browser, { url, canary }) {
  const { page, close } = await open(browser, url);
  await page.getByText("The server could not be used.").waitFor();
  await page.locator("#try pre").waitFor();
  assert.equal(await page.locator("a, area, [href]:not(link)").count(), 0);
  // What the server has said stays text when everything that can be clicked was clicked.
  await page.getByRole("button", { name: "Start it again" }).click();
  await page.getByText("The server could not be used.").waitFor();
  assert.equal(new URL(page.url()).protocol, "http:");
  assert.equal(canary.count, 0);
  await close();
}
