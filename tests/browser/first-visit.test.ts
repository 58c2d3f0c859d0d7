import { beforeEach, expect, test } from "bun:test";
import { buildPage } from "../../contrib/build/page.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { openAtRest } from "./support/rest.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";

const browser = useBrowser();

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({ demo: { days: 3 } });
});

/** Paths of the page's own files that are asked for until the first page is at rest. */
async function findFetched(viewport: { readonly width: number; readonly height: number }): Promise<string[]> {
  const visitor = await browser.newVisitor({ baseUrl: site.url, viewport });
  await signInAsAdmin(visitor, site);
  const fetched = new Set<string>();
  visitor.page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname === "/" || pathname.startsWith("/assets/")) fetched.add(pathname);
  });
  await openAtRest(visitor.page, "/");
  await visitor.page.getByRole("application").waitFor();
  await visitor.page.getByRole("rowheader").first().waitFor();
  // A browser without a window has no place for the icon, and does not fetch it.
  const icon = await visitor.page.locator("link[rel=icon]").getAttribute("href");
  if (icon !== null) fetched.add(icon);
  return [...fetched].sort();
}

describeInBrowser("a first visit", () => {
  test("of Overview fetches the files that the build weighs and no others, in a wide window and on a telephone", async () => {
    const { files } = await buildPage();
    const weighed = files.filter(({ isFirstLoad }) => isFirstLoad);
    for (const viewport of [
      { width: 1280, height: 800 },
      { width: 360, height: 740 },
    ]) {
      expect(await findFetched(viewport)).toEqual(weighed.map(({ path }) => path).sort());
    }
  });
});
