import type { Page } from "playwright-core";
import { callInPage } from "./in-page.ts";

/** A small phone; and a window of 1280 × 800 at a zoom of 200 %. In CSS pixels. */
const SMALL_VIEWPORTS = {
  "at 360 px": { width: 360, height: 740 },
  "at 200 % zoom": { width: 640, height: 400 },
} as const;

/** Throws, naming the elements, when the page scrolls sideways as it is now, or something is out of reach at its edge. */
export async function checkFits(page: Page): Promise<void> {
  const complaints = await findMisfits(page);
  if (complaints.length > 0) throw new Error([`${page.url()} is too wide`, ...complaints].join("\n  "));
}

/** The same on a small phone and at 200 % zoom; the window is then as it was. */
export async function checkFitsSmall(page: Page): Promise<void> {
  const usual = page.viewportSize();
  const complaints: string[] = [];
  for (const [name, size] of Object.entries(SMALL_VIEWPORTS)) {
    await page.setViewportSize(size);
    complaints.push(...(await findMisfits(page)).map((complaint) => `${name}: ${complaint}`));
  }
  if (usual !== null) await page.setViewportSize(usual);
  if (complaints.length > 0) throw new Error([`${page.url()} is too wide`, ...complaints].join("\n  "));
}

async function findMisfits(page: Page): Promise<readonly string[]> {
  await callInPage(page, "settle");
  await callInPage(page, "stillness");
  const { viewportWidthPx, contentWidthPx, scrolledPx, elements } = await callInPage(page, "findOverflow");
  return [
    ...(scrolledPx > 0 ? [`it scrolls ${scrolledPx} px sideways`] : []),
    ...(contentWidthPx > viewportWidthPx
      ? [`its content is ${contentWidthPx} px wide, it has ${viewportWidthPx}`]
      : []),
    ...elements.map((element) => `out of reach: ${element}`),
  ];
}
