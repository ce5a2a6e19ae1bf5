// Chromium, and what it may not do: no dialog, no error on the console, no request to anywhere but the page.
import assert from "node:assert/strict";
import http from "node:http";
import path from "node:path";
import { chromium } from "playwright-core";

// Without the flags about the background, Chromium looks for hosts of its own.
const quiet = ["quic", "background-networking", "component-update", "sync"].map((what) => `--disable-${what}`);
// What an attacker's DNS server would say.
const rebound = "--host-resolver-rules=MAP rebound.test 127.0.0.1";

// What Chromium itself keeps from addresses of this machine is let through, so that the page's server is what refuses.
const openNetwork = "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights";

export async function launch(executablePath) {
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--no-first-run", rebound, openNetwork, ...quiet] });
}

/** A server that counts what reaches it. */
export async function listen(handler) {
  const server = http.createServer(handler);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, port: server.address().port, close: () => (server.closeAllConnections(), server.close()) };
}

/** Opens the page in a context of its own; `wrong` collects what may not happen. */
export async function open(browser, url, { width = 1440, height = 860, theme = "light", allow = () => false } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme });
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env.PATIENCE ?? 60_000));
  const wrong = [];
  const requests = [];
  const origin = new URL(url).origin;
  await page.exposeFunction("pwned", () => wrong.push("a script has run"));
  page.on("dialog", (dialog) => (wrong.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("popup", () => wrong.push("a window was opened"));
  page.on("pageerror", (error) => wrong.push(String(error.stack)));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && !allow(message) && wrong.push(message.text()));
  page.on("request", (request) => {
    requests.push(request.url());
    if (![origin, "data:", "about:", "blob:"].some((own) => request.url().startsWith(own)) && !allow(request)) wrong.push(`request to ${request.url()}`);
  });
  await page.goto(url);
  const count = (part) => requests.filter((each) => each.includes(part)).length;
  const close = async () => {
    assert.deepEqual(wrong, []);
    await context.close();
  };
  return { page, wrong, requests, count, close };
}

export const rows = (page) => page.locator("#list .row:not(.loading)");

/** Until the list counts so many rows. */
export const counted = (page, text) => page.locator("#count").getByText(text, { exact: true }).waitFor();

export async function picture(page, folder, name) {
  if (folder) await page.screenshot({ path: path.join(folder, `${name}.png`) });
}
