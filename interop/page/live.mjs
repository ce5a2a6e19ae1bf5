// A tape that is being written, and rotated.
import assert from "node:assert/strict";
import { appendFile, rename, writeFile } from "node:fs/promises";
import { counted, open, picture, rows } from "./browser.mjs";

export async function live(browser, { url, growing, screenshots }) {
  const { page, close } = await open(browser, url);
  await page.getByText("● live", { exact: true }).waitFor();
  await counted(page, "1 row");
  let number = 1;
  const exchange = async (file = growing) => {
    const id = number;
    const line = (sign, text) => `${++number} ${sign} ${(number / 10).toFixed(6)} line ${text}\n`;
    await appendFile(file, line(">", `{"jsonrpc":"2.0","id":${id},"method":"ping"}`));
    return () => appendFile(file, line("<", `{"jsonrpc":"2.0","id":${id},"result":{}}`));
  };
  const respond = await exchange();
  await counted(page, "2 rows");
  await rows(page).filter({ hasText: "waiting" }).waitFor();
  await respond();
  await counted(page, "3 rows");
  // The request that was waiting has its answer now.
  await page.locator(".row.request .outcome.ok").waitFor();

  for (let made = 0; made < 60; made++) await (await exchange())();
  await counted(page, "123 rows");
  await rows(page).filter({ hasText: /^123/ }).waitFor();
  // Selecting pauses, and says so; the list does not move.
  await rows(page).filter({ hasText: /^110/ }).click();
  await page.getByText("● live, list paused").waitFor();
  await picture(page, screenshots, "live-paused");
  await (await exchange())();
  await counted(page, "125 rows");
  assert.equal(await rows(page).filter({ hasText: /^110/ }).count(), 1);
  await page.keyboard.press("f");
  await page.getByText("● live", { exact: true }).waitFor();
  await rows(page).filter({ hasText: /^125/ }).waitFor();

  // The recorder rotates: the file is renamed, and another one goes on.
  await rename(growing, `${growing}.1`);
  await writeFile(growing, `papertape 1\n${++number} * 13.000000 continued {"file":"growing.tape.1"}\n`);
  await (await exchange())();
  await counted(page, "128 rows");
  await rows(page).filter({ hasText: /^3 / }).count();
  await page.locator("#list").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("j");
  await page.getByRole("heading", { name: "#2 request ping" }).waitFor();
  await appendFile(growing, `${++number} * 14.000000 end {}\n`);
  await counted(page, "129 rows");
  await close();
}
