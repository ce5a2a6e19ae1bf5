// 100,000 frames: only what is seen is there.
import assert from "node:assert/strict";
import { counted, open, picture, rows } from "./browser.mjs";

export async function large(browser, { url, screenshots }) {
  const { page, close, count } = await open(browser, url);
  await counted(page, "100,002 rows");
  const painted = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  const inDom = () => page.locator("#list .row").count();
  const most = Math.ceil((await page.locator("#list").boundingBox()).height / 26) + 2;
  assert.ok((await inDom()) <= most, `${await inDom()} rows`);
  await picture(page, screenshots, "large");

  // Through all of it, in steps of a hundredth.
  const before = count("/api/frames");
  for (let step = 1; step <= 100; step++) {
    await page.evaluate((part) => {
      const list = document.getElementById("list");
      list.scrollTop = part * (list.scrollHeight - list.clientHeight);
    }, step / 100);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    assert.ok((await inDom()) <= most);
  }
  await rows(page).filter({ hasText: "100002" }).waitFor();
  const asked = count("/api/frames") - before;
  assert.ok(asked <= 300, `${asked} requests for 100 places`);
  assert.equal(count("/api/body"), 0, "bodies are for those that are opened");

  // A place in the middle, a search through all bodies, and what went wrong.
  await page.evaluate(() => {
    const list = document.getElementById("list");
    list.scrollTop = (list.scrollHeight - list.clientHeight) / 2;
  });
  await rows(page).filter({ hasText: /^5000[0-9]/ }).first().waitFor();
  await rows(page).filter({ hasText: /^5000[0-9]/ }).first().click();
  await page.getByRole("heading", { name: /^(→|←) #5000\d/ }).waitFor();
  assert.equal(count("/api/body"), 1);
  await page.locator("#search").fill("answer 49999");
  await counted(page, "1 row");
  await page.locator("#search").fill("");
  await page.getByRole("button", { name: "errors" }).click();
  await counted(page, "10 rows");
  await close();
  return `first paint after ${Math.round(painted)} ms, ${most} rows in the document at most, ${asked} requests for 100 places`;
}
