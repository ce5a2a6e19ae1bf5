// Try it: a tool through its form, arguments that violate the schema, resources, prompts, and a page of the server.
import assert from "node:assert/strict";
import { open, picture, rows } from "./browser.mjs";

export async function forms(browser, { url, screenshots }) {
  const { page, close } = await open(browser, url, { width: 1366, height: 700 });
  const tool = (name) => page.locator("#items").getByRole("button", { name });
  await tool("conjugate").click();
  await page.getByLabel("verb").selectOption("eat");
  await page.getByLabel("tense").selectOption("past simple");
  await page.getByLabel("person").selectOption("3rd singular");
  await page.getByRole("button", { name: "Call" }).click();
  await page.locator(".answer").getByText("✓ answered").waitFor();
  const said = page.locator(".answer").getByText("ate").first();
  await said.waitFor();
  assert.ok(await said.evaluate((element) => element.getBoundingClientRect().bottom < innerHeight), "the answer is in view");
  // Its frames are on the timeline, and the request is selected.
  await page.getByRole("heading", { name: "request tools/call conjugate" }).waitFor();
  await rows(page).filter({ hasText: "tools/call conjugate response" }).waitFor();
  await picture(page, screenshots, "try-light");

  // JSON in place of the form: what violates the schema is not sent, unless that is wanted.
  await page.getByRole("button", { name: "as JSON" }).click();
  await page.getByLabel("Arguments as JSON").fill('{"verb": "zeppelin"}');
  const before = await page.locator("#count").innerText();
  await page.getByRole("button", { name: "Call" }).click();
  await page.getByText("Not sent: the arguments violate the schema.").waitFor();
  assert.equal(await page.locator("#count").innerText(), before);
  await page.getByRole("button", { name: "Send anyway" }).click();
  await page.locator(".answer").getByText("zeppelin").first().waitFor();
  await page.getByLabel("Arguments as JSON").fill("[1]");
  await page.getByRole("button", { name: "Call" }).click();
  await page.getByText("The arguments must be an object.").waitFor();

  await page.getByRole("tab", { name: /^Prompts/ }).click();
  await page.locator("#chosen").getByRole("button", { name: "Get" }).waitFor();
  await page.getByRole("tab", { name: /^Resources/ }).click();
  await page.locator("#items button").first().click();
  await page.getByRole("button", { name: "Read" }).click();
  await page.locator(".answer").getByText("✓ answered").waitFor();
  await close();
}

/** A link in a result is read as a resource, and a tab has the form of its own item, also if another one has the same name. */
export async function names(browser, { url }) {
  const { page, close } = await open(browser, url);
  await page.locator("#chosen").getByRole("button", { name: "Call" }).click();
  await page.locator(".answer").getByRole("button", { name: "Read" }).click();
  await page.locator(".answer").getByText("the text of notes://linked", { exact: true }).waitFor();
  await page.getByRole("tab", { name: /^Prompts/ }).click();
  await page.getByLabel("topic").waitFor();
  await page.getByRole("tab", { name: /^Resources/ }).click();
  await page.locator("#chosen").getByRole("button", { name: "Read" }).click();
  await page.locator(".answer").getByText("the text of notes://listed", { exact: true }).waitFor();
  await close();
}

/** MCP Apps: the drill of the grammar server, in its sandbox. */
export async function app(browser, { url, screenshots }) {
  const { page, close } = await open(browser, url, { theme: "dark" });
  await page.locator("#items").getByRole("button", { name: /^drill/ }).click();
  await page.getByRole("button", { name: "Call" }).click();
  const frame = page.frameLocator("iframe.app");
  await frame.getByText("Verb drill").waitFor();
  await frame.locator("#answer").fill("went");
  await frame.getByRole("button", { name: "Check" }).click();
  await frame.locator("#marks li").first().waitFor();
  // The page has called a tool, which is on the timeline.
  await rows(page).filter({ hasText: "tools/call mark_answer response" }).waitFor();
  assert.equal(await page.locator("iframe.app").getAttribute("sandbox"), "allow-scripts allow-forms");
  await picture(page, screenshots, "app-dark");
  await close();
}
