import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { IN_PAGE_NAME, type InPage } from "../page/shapes.ts";

type Answer<Name extends keyof InPage> = Awaited<ReturnType<InPage[Name]>>;

let bundled: Promise<string> | null = null;

/** The functions of `tests/browser/page` as one script, which every page gets before its own. */
export function inPageScript(): Promise<string> {
  return (bundled ??= bundle());
}

/** Calls one of them, by its text: a policy does not bar it, and nothing of this side would reach the page with a function. */
export async function callInPage<Name extends keyof InPage>(
  page: Page,
  name: Name,
  ...args: Parameters<InPage[Name]>
): Promise<Answer<Name>> {
  return await page.evaluate<Answer<Name>>(`${IN_PAGE_NAME}.${name}(...${JSON.stringify(args)})`);
}

async function bundle(): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [fileURLToPath(import.meta.resolve("../page/entry.ts"))],
    target: "browser",
    format: "iife",
  });
  const [script] = outputs;
  if (script === undefined) throw new Error("the script for the pages was not built");
  return await script.text();
}
