import type { Page, Request } from "playwright-core";
import { callInPage } from "./in-page.ts";
import { eventually } from "./waiting.ts";

/** Every page that the shell has, as its navigation lists them. */
export const MEMBER_PATHS = [
  "/",
  "/usage",
  "/statement",
  "/requests",
  "/errors",
  "/models",
  "/playground",
  "/keys",
  "/relay-tokens",
] as const;
export const ADMIN_PATHS = [
  "/providers",
  "/people",
  "/limits",
  "/models/prices",
  "/models/repricing",
  "/reconcile",
  "/audit",
] as const;

/** Opens a page of the site and waits until it is at rest. */
export async function openAtRest(page: Page, path: string): Promise<void> {
  await page.goto(path);
  // By its tag: under an open dialog it is no heading to anybody.
  await page.locator("h1").waitFor();
  await rest(page);
}

const underWay = new WeakMap<Page, Set<Request>>();

/** Counts the page's requests from now on, for `rest`. A document takes those of the one before it away. */
export function watchRequests(page: Page): void {
  const requests = new Set<Request>();
  underWay.set(page, requests);
  page.on("request", (request) => {
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) requests.clear();
    // The check whether the server answers repeats itself, and one whose server was stopped meanwhile never ends.
    if (new URL(request.url()).pathname !== "/healthz") requests.add(request);
  });
  page.on("requestfinished", (request) => void requests.delete(request));
  page.on("requestfailed", (request) => void requests.delete(request));
}

/** Until nothing is fetched any more, nothing says that it is still waiting, and nothing moves. */
export async function rest(page: Page): Promise<void> {
  await page.waitForLoadState();
  const requests = underWay.get(page);
  if (requests === undefined) throw new Error("the requests of this page are not watched");
  // Twice: what has come may ask for more when it is drawn.
  for (let quiet = 0; quiet < 2; quiet = requests.size === 0 ? quiet + 1 : 0) {
    await eventually(() => {
      if (requests.size > 0)
        throw new Error(`still under way: ${[...requests].map((one) => one.url()).join(", ")}`);
    });
    await page.waitForFunction(() => document.querySelector("main [aria-busy=true]") === null);
    await callInPage(page, "settle");
  }
  await callInPage(page, "stillness");
}
