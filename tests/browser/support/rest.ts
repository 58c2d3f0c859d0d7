import type { Page } from "playwright-core";
import { callInPage } from "./in-page.ts";

/** Every page that the shell has, as its navigation lists them. */
export const MEMBER_PATHS = [
  "/",
  "/usage",
  "/requests",
  "/errors",
  "/models",
  "/playground",
  "/keys",
  "/relay-tokens",
] as const;
export const ADMIN_PATHS = ["/providers", "/people", "/models/prices", "/audit"] as const;

/** Opens a page of the site and waits until it is at rest. */
export async function openAtRest(page: Page, path: string): Promise<void> {
  await page.goto(path);
  // By its tag: under an open dialog it is no heading to anybody.
  await page.locator("h1").waitFor();
  await rest(page);
}

/** Until nothing is fetched any more, nothing says that it is still waiting, and nothing moves. */
export async function rest(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  await page.waitForFunction(() => document.querySelector("main [aria-busy=true]") === null);
  await callInPage(page, "settle");
  await callInPage(page, "stillness");
}
