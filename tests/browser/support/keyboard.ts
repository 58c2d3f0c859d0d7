import type { Page } from "playwright-core";
import { callInPage } from "./in-page.ts";

/** More stops than any page has. */
const STOPS_MAX = 300;

export interface TabWalkOptions {
  /** A selector: everything in it must be reached, and the focus must not leave it, as in a modal dialog. */
  readonly within?: string;
}

/**
 * Goes once round the page by Tab, from wherever the focus is, and returns the stops by name. Throws when a stop cannot
 * be seen, looks the same with the focus and without, when something is never reached, or when the focus is caught.
 */
export async function tabThrough(page: Page, { within }: TabWalkOptions = {}): Promise<readonly string[]> {
  await callInPage(page, "beginTabWalk", within ?? null);
  const stops: string[] = [];
  const problems: string[] = [];
  let nowhere = 0;
  for (let pressed = 0; ; pressed += 1) {
    if (pressed === STOPS_MAX) {
      problems.push(`${STOPS_MAX} stops and no end`);
      break;
    }
    await page.keyboard.press("Tab");
    const step = await callInPage(page, "stepTabWalk");
    problems.push(...step.problems);
    if (step.isFirst) break;
    // Between the last stop and the first nothing has it, once.
    nowhere = step.stop === null ? nowhere + 1 : 0;
    if (nowhere === 2) break;
    if (step.isKnown) {
      problems.push(`the focus is caught: from ${stops.at(-1)} it goes back to ${step.stop}`);
      break;
    }
    if (step.stop !== null) stops.push(step.stop);
  }
  const missed = await callInPage(page, "endTabWalk");
  problems.push(...missed.map((name) => `Tab never reaches ${name}`));
  if (problems.length > 0) {
    throw new Error([`Tab went through ${page.url()}: ${stops.join(", ")}`, ...problems].join("\n  "));
  }
  return stops;
}
