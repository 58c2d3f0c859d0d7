import type { Page } from "playwright-core";
import type { Vitals } from "../page/shapes.ts";
import { callInPage } from "./in-page.ts";

/** What the page has measured of itself since it began to load. Times differ from machine to machine: print them, assert shifts. */
export async function readVitals(page: Page): Promise<Vitals> {
  await callInPage(page, "settle");
  return await callInPage(page, "readVitals");
}

/** A fraction of a pixel of one word: the browser tells of it, and no eye does. */
const UNSEEN_SHIFT_MAX = 0.0001;

/** Throws, naming what moved, when anything moved that nobody had touched. */
export async function checkNoShift(page: Page): Promise<void> {
  const { cls, shifts } = await readVitals(page);
  const seen = shifts.filter(({ value }) => value >= UNSEEN_SHIFT_MAX);
  if (seen.length === 0) return;
  const lines = seen.map(
    ({ value, atMs, elements }) => `${value.toFixed(4)} at ${Math.round(atMs)} ms: ${elements.join(", ")}`,
  );
  throw new Error([`${page.url()} shifts its layout by ${cls.toFixed(4)}`, ...lines].join("\n  "));
}
