// Drives the page in headless Chromium, step by step, and prints a line for each.
//
// drive.mjs CHROMIUM SCREENSHOTS '{"session": URL, ..}'    CANARY's requests are counted by run
import { launch } from "./browser.mjs";
import { otherPages, oauth } from "./attacks.mjs";
import { hostile, hostileApp } from "./hostile.mjs";
import { large } from "./large.mjs";
import { live } from "./live.mjs";
import { contrast, dropped, filters, paper, session, sizes } from "./reading.mjs";
import { app, forms, names } from "./trying.mjs";

const [executablePath, screenshots, given, only] = process.argv.slice(2);
const { urls, files, canary: canaryUrl } = JSON.parse(given);
const canary = { url: canaryUrl, count: 0 };
const poll = async () => (canary.count = Number(await (await fetch(`${canaryUrl}/count`)).text()));

const at = (name) => ({ url: urls[name], screenshots, canary });
const STEPS = {
  "a session is read": (browser) => session(browser, at("session")),
  "filters, and the view in the address": (browser) => filters(browser, at("session")),
  "contrast in both themes": (browser) => contrast(browser, at("session")),
  "laptop and narrow windows": (browser) => sizes(browser, at("session")),
  "paper": (browser) => paper(browser, at("session")),
  "dropped tapes": (browser) => dropped(browser, { ...at("session"), tape: files.session }),
  "100,000 frames": (browser) => large(browser, at("large")),
  "a tape that is written and rotated": (browser) => live(browser, { ...at("live"), growing: files.growing }),
  "tools through forms": (browser) => forms(browser, at("grammar")),
  "equal names, and links in results": (browser) => names(browser, at("names")),
  "a page of the server (MCP Apps)": (browser) => app(browser, at("grammar")),
  "60 hostile texts": (browser) => hostile(browser, at("hostile")),
  "a hostile page of the server": (browser) => hostileApp(browser, at("hostile")),
  "attacks of other pages (CVE-2025-49596, CVE-2026-23744)": (browser) => otherPages(browser, at("grammar")),
  "javascript: in OAuth metadata (CVE-2025-58444)": (browser) => oauth(browser, at("oauth")),
};

const browser = await launch(executablePath);
let failed = 0;
for (const [name, step] of Object.entries(STEPS)) {
  if (only && !name.includes(only)) continue;
  try {
    const said = await step(browser);
    if ((await poll()) > 0) throw new Error(`${canary.count} requests have reached the canary`);
    console.log(`ok  ${name}${said ? `: ${said}` : ""}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}
await browser.close();
// A step that failed may have left a listener open.
process.exit(failed ? 1 : 0);
