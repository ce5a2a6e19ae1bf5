// A server whose every text is an attack: nothing may run, nothing may be requested, and all of it is readable as text.
import assert from "node:assert/strict";
import { open, picture, rows } from "./browser.mjs";

/** What Chromium says when a frame tries what its sandbox and its policy forbid. */
const refusals = /sandbox|Content Security Policy|Refused to|Blocked|ERR_BLOCKED_BY_CSP|X-Frame-Options|Unsafe attempt/i;

export async function hostile(browser, { url, canary, screenshots }) {
  const { page, wrong, close } = await open(browser, url);
  const items = page.locator("#items button");
  await items.first().waitFor();
  const tools = await items.count();
  assert.ok(tools >= 60, `${tools} tools`);
  for (let index = 0; index < tools - 1; index++) {
    await items.nth(index).click();
    await page.locator("#chosen").getByRole("button", { name: "Call", exact: true }).click();
    await page.locator(".answer .result").waitFor();
    await page.evaluate(() => document.querySelectorAll(".answer details").forEach((folded) => (folded.open = true)));
    assert.deepEqual(wrong, [], `tool ${index}`);
  }
  for (const kind of [/^Resources/, /^Templates/, /^Prompts/]) {
    await page.getByRole("tab", { name: kind }).click();
    for (const index of [0, 1, 3, 4]) {
      await items.nth(index).click();
      await page.locator("#chosen").getByRole("button", { name: /^(Read|Get)$/ }).click();
      await page.locator(".answer .outcome").first().waitFor();
    }
  }
  await picture(page, screenshots, "hostile");

  // Every view of a dozen frames, stderr among them.
  await page.locator("#list").focus();
  await page.keyboard.press("End");
  for (let step = 0; step < 12; step++) {
    for (const key of ["1", "2", "3", "4", "5"]) await page.keyboard.press(key);
    await page.keyboard.press("k");
  }
  await page.getByRole("button", { name: "stderr", exact: true }).click();
  await rows(page).first().click();

  // No element came from the server's texts, and no attribute of an element leads anywhere.
  const made = await page.evaluate(() => ({
    foreign: document.querySelectorAll("#try :is(script, style, object, embed, link, base, meta, svg, math, video, marquee, a, iframe), #timeline :is(img, a, svg, iframe), #detail :is(img, a, svg, iframe, script)").length,
    handlers: [...document.querySelectorAll("*")].filter((element) => [...element.attributes].some(({ name }) => name.startsWith("on") || name === "href" && element.tagName !== "LINK")).length,
    images: [...document.images].filter((image) => !image.src.startsWith("data:image/png")).length,
    polluted: {}.polluted,
  }));
  assert.deepEqual(made, { foreign: 0, handlers: 0, images: 0, polluted: undefined });
  // What changes the order of letters is written out.
  const text = await page.evaluate(() => document.body.innerText + document.querySelector("#title").textContent);
  assert.ok(!/[\u202a-\u202e\u2066-\u2069\u200b]/.test(text));
  assert.equal(canary.count, 0);
  await close();
}

/** A page of the server that tries to leave its frame. */
export async function hostileApp(browser, { url, canary }) {
  const allow = (what) => (what.text ? refusals.test(what.text()) : what.url().startsWith(canary.url));
  const { page, wrong, close } = await open(browser, url, { allow });
  await page.locator("#items").getByRole("button", { name: /^app/ }).click();
  await page.locator("#chosen").getByRole("button", { name: "Call", exact: true }).click();
  const frame = page.frameLocator("iframe.app");
  await frame.getByText(/^went:/).waitFor();
  assert.equal(await frame.locator("#said").innerText(), "went: ".trim());
  await page.getByText("This page would use").waitFor();
  await page.getByText("The page wants to open: javascript:pwned()").last().waitFor();
  const logged = page.getByText("The page logs: ");
  await logged.filter({ hasText: '"number":199' }).waitFor();
  assert.ok((await logged.count()) <= 50, "what a page says does not grow without bound");
  assert.ok((await logged.last().innerText()).length < 3000);
  // It has tried to take its frame elsewhere.
  await page.waitForTimeout(600);
  assert.ok(new URL(page.url()).origin === new URL(url).origin);
  assert.ok((await page.locator("iframe.app").boundingBox()).height <= 2000);
  assert.equal(canary.count, 0, "requests that have left the frame");
  assert.deepEqual(wrong, []);
  await close();
}
