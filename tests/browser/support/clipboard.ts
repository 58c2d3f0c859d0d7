import { mkdirSync, rmdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { runFolder } from "../../support/run-folder.ts";

const COPIED_MS_MAX = 2000;
/** Longer than any turn takes: whose it was has gone without giving it back. */
const TURN_MS_MAX = 30_000;
const PAUSE_MS = 10;

/**
 * What the action puts on the clipboard, read as a person would: pasted into a text field elsewhere. The action gets
 * a clipboard without anything of earlier tests on it. Throws when it copies nothing. A browser has one clipboard for all
 * its profiles, so one test at a time has it.
 */
export async function copiedBy(page: Page, action: () => Promise<unknown>): Promise<string> {
  const giveBack = await takeTurn();
  try {
    return await readCopied(page, action);
  } finally {
    giveBack();
  }
}

async function readCopied(page: Page, action: () => Promise<unknown>): Promise<string> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("the page's browser is gone");
  // A profile of its own: neither what the page may do nor what it is watched for plays a part.
  const context = await browser.newContext();
  try {
    const desk = await context.newPage();
    await desk.setContent("<textarea></textarea>");
    const field = desk.locator("textarea");
    const before = `nothing was copied ${Bun.randomUUIDv7()}`;
    await field.fill(before);
    await field.press("Control+A");
    await field.press("Control+C");
    await action();
    const deadline = performance.now() + COPIED_MS_MAX;
    for (;;) {
      await field.fill("");
      await field.press("Control+V");
      const text = await field.inputValue();
      if (text !== before && text !== "") return text;
      if (performance.now() > deadline) throw new Error("nothing was copied");
    }
  } finally {
    await context.close();
  }
}

/** A folder is made by one process alone. */
async function takeTurn(): Promise<() => void> {
  const path = join(runFolder(), "clipboard-turn");
  for (;;) {
    try {
      mkdirSync(path);
      return () => rmdirSync(path);
    } catch {
      const takenMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
      if (Date.now() - takenMs > TURN_MS_MAX) rmdirSync(path);
      await Bun.sleep(PAUSE_MS);
    }
  }
}
