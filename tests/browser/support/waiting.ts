import { expect } from "bun:test";
import type { Locator } from "playwright-core";

const WAIT_MS_MAX = 10_000;
const PAUSE_MS = 20;

/**
 * Looks again until nothing is thrown, and returns what was found: a page draws in its own time, and most readings, such as
 * `count()`, tell of now. Throws what was thrown last when ten seconds have gone.
 */
export async function eventually<Found>(look: () => Found | Promise<Found>): Promise<Found> {
  const deadlineMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      await Bun.sleep(PAUSE_MS);
    }
  }
}

/** Until it has the focus, which comes a moment after what had it before is gone. */
export async function waitForFocus(target: Locator): Promise<void> {
  await target.and(target.page().locator(":focus")).waitFor();
}

/** Until this stands in the field. */
export async function waitForValue(field: Locator, value: string): Promise<void> {
  await eventually(async () => expect(await field.inputValue()).toBe(value));
}
