import type { Page } from "playwright-core";

const inOtherTheme = new WeakSet<Page>();

/**
 * Runs the check in the theme that shows, and once more in the other one, which then stays. Meanwhile `isOtherTheme` says so
 * to checks of which a part does not depend on colors.
 */
export async function inBothThemes(page: Page, check: (page: Page) => Promise<unknown>): Promise<void> {
  await check(page);
  const wasDark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
  await page.emulateMedia({ colorScheme: wasDark ? "light" : "dark" });
  inOtherTheme.add(page);
  try {
    await check(page);
  } finally {
    inOtherTheme.delete(page);
  }
}

/** True when the page was checked before in another theme, just as it is. */
export function isOtherTheme(page: Page): boolean {
  return inOtherTheme.has(page);
}
