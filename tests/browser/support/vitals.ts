import type { Page } from "playwright-core";
import type { Vitals } from "../page/shapes.ts";
import { callInPage } from "./in-page.ts";

/** What the page has measured of itself since it began to load. Times differ from machine to machine: print them, assert shifts. */
export async function readVitals(page: Page): Promise<Vitals> {
  await callInPage(page, "settle");
  return await callInPage(page, "readVitals");
}

/** Throws, naming what moved, when anything moved that nobody had touched. */
export async function checkNoShift(page: Page): Promise<void> {
  const { cls, shifts } = await readVitals(page);
  if (shifts.length === 0) return;
  const lines = shifts.map(
    ({ value, atMs, elements }) => `${value.toFixed(4)} at ${Math.round(atMs)} ms: ${elements.join(", ")}`,
  );
  throw new Error([`${page.url()} shifts its layout by ${cls.toFixed(4)}`, ...lines].join("\n  "));
}
