import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { callInPage } from "./in-page.ts";

export interface ShotOptions {
  /** Default: `SCREENSHOTS` of the environment; without it there is no picture. */
  readonly folder?: string | undefined;
  /** All of the page, and not what the window shows of it. */
  readonly fullPage?: boolean;
}

/** Writes `<name>.png` of the page at rest, and returns its path. Null: no folder was given. */
export async function shoot(page: Page, name: string, options: ShotOptions = {}): Promise<string | null> {
  const { folder = process.env["SCREENSHOTS"], fullPage = false } = options;
  if (folder === undefined || folder === "") return null;
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name.replaceAll(/[^\w.-]+/g, "-")}.png`);
  await callInPage(page, "stillness");
  // Hiding the caret would put a style element into the page, which its policy forbids.
  await page.screenshot({ path, fullPage, caret: "initial" });
  return path;
}
