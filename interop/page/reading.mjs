// Reading a tape: what is shown, filters, tabs, keys, themes, paper, and a tape that is dropped.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { counted, open, picture, rows } from "./browser.mjs";

/** Everything about one frame, by mouse and by keyboard. */
export async function session(browser, { url, screenshots }) {
  const { page, close } = await open(browser, url);
  await counted(page, "43 rows");
  // The token is in no address that could be shared.
  assert.ok(!page.url().includes("token"), page.url());
  await page.getByText("acme-notes 2.3.1").waitFor();
  await page.getByText("2025-11-25").waitFor();
  await page.getByRole("heading", { name: "4 findings" }).waitFor();
  assert.match(await page.locator("#overview canvas").getAttribute("aria-label"), /^43 frames from 0/);
  await picture(page, screenshots, "findings");

  await rows(page).filter({ hasText: "tools/call reindex" }).first().click();
  await page.getByRole("heading", { name: "request tools/call reindex" }).waitFor();
  await page.locator("#detail .tree").getByText("progressToken").waitFor();
  // The answer and the six notifications between.
  assert.equal(await page.locator(".row.related").count(), 7);
  await picture(page, screenshots, "parsed");

  await page.keyboard.press("2");
  assert.match(await page.locator("#panel pre").innerText(), /^\{"jsonrpc":"2\.0","id":5.*⟦0a⟧$/);
  await page.keyboard.press("3");
  assert.match(await page.locator("#panel pre").innerText(), /^00000000 {2}7b 22 6a 73 6f 6e 72 70 {2}63 22 3a/);
  await picture(page, screenshots, "hex");
  await page.keyboard.press("4");
  await page.getByRole("heading", { name: "6 notifications of this request" }).waitFor();
  await picture(page, screenshots, "pair");
  await page.keyboard.press("]");
  await page.getByRole("heading", { name: "response tools/call reindex" }).waitFor();
  await page.keyboard.press("[");
  await page.getByRole("heading", { name: "request tools/call reindex" }).waitFor();
  await page.keyboard.press("1");

  await page.keyboard.press("e");
  await page.getByRole("heading", { name: "tools/call search_notes" }).waitFor();
  await page.getByText("✗ error -32602").first().waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");

  // Numbers keep their digits; large texts come when they are asked for.
  await page.keyboard.press("/");
  await page.keyboard.type("9007199254740993");
  await counted(page, "1 row");
  await rows(page).first().click();
  await page.locator("#detail").getByText("9007199254740993").waitFor();
  assert.match(page.url(), /q=9007199254740993/);
  await close();
}

/** The view is in the address, and comes back from it. */
export async function filters(browser, { url, screenshots }) {
  const { page, close } = await open(browser, `${url}&only=e&sel=13&tab=raw`);
  await counted(page, "8 rows");
  await page.getByRole("tab", { name: "Raw", selected: true }).waitFor();
  await page.getByRole("heading", { name: "#13 request tools/call read_note" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "errors" }).getAttribute("aria-pressed"), "true");
  await picture(page, screenshots, "errors");
  await page.getByRole("button", { name: "findings" }).click();
  await counted(page, "4 rows");
  await page.locator("#list").focus();
  await page.keyboard.press("Escape");
  await counted(page, "43 rows");
  await page.getByRole("combobox", { name: "Method" }).selectOption("notifications/progress");
  await counted(page, "6 rows");
  await page.getByRole("combobox", { name: "Method" }).selectOption("");
  // Zooming lists what is in the range.
  const box = await page.locator("#overview canvas").boundingBox();
  await page.mouse.move(box.x + box.width * 0.35, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 40, { steps: 4 });
  await page.mouse.up();
  await page.getByRole("button", { name: /^Time .*: show all$/ }).waitFor();
  const zoomed = Number((await page.locator("#count").innerText()).split(" ")[0]);
  assert.ok(zoomed > 3 && zoomed < 20, String(zoomed));
  await picture(page, screenshots, "zoomed");
  await page.locator("#overview canvas").dblclick({ position: { x: 400, y: 40 } });
  await counted(page, "43 rows");
  await page.locator("#search").fill("no such text anywhere");
  await page.getByText("No frame matches the filter.").waitFor();
  await close();
}

/** A number as CSS colours have it, to its luminance. */
const luminance = (colour) => {
  const parts = colour.match(/\d+(\.\d+)?/g).slice(0, 3).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return parts[0] * 0.2126 + parts[1] * 0.7152 + parts[2] * 0.0722;
};

/** WCAG AA, for every colour of text on every ground that it stands on. */
export async function contrast(browser, { url }) {
  for (const theme of ["light", "dark"]) {
    const { page, close } = await open(browser, url, { theme });
    await counted(page, "43 rows");
    const colours = await page.evaluate(() => {
      const probe = document.body.appendChild(document.createElement("i"));
      const value = (name) => ((probe.style.color = `var(--${name})`), getComputedStyle(probe).color);
      const texts = ["text", "quiet", "to-server", "to-client", "stderr", "event", "error", "finding", "ok", "string", "digits", "key", "accent"];
      const grounds = ["panel", "ground", "sunk", "select", "relate", "hover"];
      return { texts: texts.map((name) => [name, value(name)]), grounds: grounds.map((name) => [name, value(name)]) };
    });
    for (const [text, colour] of colours.texts) {
      for (const [ground, behind] of colours.grounds) {
        const [more, less] = [luminance(colour), luminance(behind)].sort((a, b) => b - a);
        const ratio = (more + 0.05) / (less + 0.05);
        assert.ok(ratio >= 4.5, `${theme}: ${text} on ${ground} is ${ratio.toFixed(2)} to 1`);
      }
    }
    await close();
  }
}

/** On a laptop and on a narrow window nothing is wider than the window. */
export async function sizes(browser, { url, screenshots }) {
  for (const [width, height] of [[1366, 768], [1024, 700], [720, 900]]) {
    const { page, close } = await open(browser, `${url}&sel=13`, { width, height, theme: "dark" });
    await counted(page, "43 rows");
    await page.getByRole("heading", { name: "#13 request" }).waitFor();
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(over, 0, `${width} pixels`);
    await picture(page, screenshots, `dark-${width}`);
    await close();
  }
}

/** On paper: a report with findings and rows. */
export async function paper(browser, { url, screenshots }) {
  const { page, close } = await open(browser, url, { theme: "dark" });
  await counted(page, "43 rows");
  await page.evaluate(() => addEventListener("beforeprint", () => {
    const report = document.getElementById("report");
    window.printed = { rows: report.querySelectorAll("tbody tr").length, text: report.textContent };
  }));
  const pdf = await page.pdf({ path: screenshots && `${screenshots}/report.pdf`, format: "A4" });
  assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
  const printed = await page.evaluate(() => window.printed);
  assert.equal(printed.rows, 43);
  assert.match(printed.text, /PT0101 Text on stdout/);
  assert.equal(await page.evaluate(() => document.getElementById("report").childElementCount), 0);
  await close();
}

/** A tape that is dropped is read by the local server; what is not a tape says so. */
export async function dropped(browser, { url, tape }) {
  const { page, close } = await open(browser, url);
  await counted(page, "43 rows");
  const drop = async (name, text) => {
    const data = await page.evaluateHandle(([name, text]) => {
      const data = new DataTransfer();
      data.items.add(new File([text], name));
      return data;
    }, [name, text]);
    await page.dispatchEvent("body", "drop", { dataTransfer: data });
  };
  const lines = (await readFile(tape, "utf8")).split("\n");
  await drop("cut.tape", lines.slice(0, 9).join("\n"));
  await counted(page, "6 rows");
  await page.getByText("The last line of this tape is incomplete").waitFor();
  await drop("picture.png", "PNG\nnot a tape");
  await page.getByText("this is not a tape").waitFor();
  await drop("empty.tape", "papertape 1\n");
  await page.getByText("This tape has no frames.").waitFor();
  await close();
}
