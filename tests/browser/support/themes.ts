import type { Page } from "playwright-core";

/** Runs the check in the theme that shows, and once more in the other one, which then stays. */
export async function inBothThemes(page: Page, check: (page: Page) => Promise<unknown>): Promise<void> {
  await check(page);
  const wasDark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
  await page.emulateMedia({ colorScheme: wasDark ? "light" : "dark" });
  await check(page);
}
