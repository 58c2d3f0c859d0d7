import { beforeEach, expect, test } from "bun:test";
import { buildPage } from "../../contrib/build/page.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFits } from "./support/layout.ts";
import { openAtRest } from "./support/rest.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import { shoot } from "./support/screenshots.ts";
import type { Site } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";

const browser = useBrowser();

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({ demo: { days: 3 } });
});

/** Paths of the page's own files that are asked for until the first page is at rest. */
async function findFetched(viewport: { readonly width: number; readonly height: number }): Promise<string[]> {
  const visitor = await browser.newVisitor({ baseUrl: site.url, viewport, savesData: true });
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

  test("asks for the code, the page's own part and who is signed in before any of them has come, and once each", async () => {
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    const { page } = visitor;
    const { files } = await buildPage();
    const needed = files.filter(({ isFirstLoad, path }) => isFirstLoad && /[.](?:js|css)$/.test(path));
    const asked: string[] = [];
    const all = Promise.withResolvers<void>();
    const wanted = ["/auth/me", ...needed.map(({ path }) => path)];
    await page.route(/[/]assets[/]|[/]auth[/]me$/, async (route) => {
      asked.push(new URL(route.request().url()).pathname);
      if (wanted.every((path) => asked.includes(path))) all.resolve();
      await all.promise;
      await route.continue();
    });
    await page.goto("/", { waitUntil: "commit" });
    await all.promise;
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.getByRole("application").waitFor();
    expect(asked.filter((path) => wanted.includes(path)).toSorted()).toEqual(wanted.toSorted());
  });

  test("of a slow server shows the frame of the page before it is known who is signed in, in both themes and on a telephone", async () => {
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    const { page } = visitor;
    const held = Promise.withResolvers<void>();
    await page.route(/[/]auth[/]me$|[.]js$/, async (route) => {
      if (!/theme-script/.test(route.request().url())) await held.promise;
      await route.continue();
    });
    await page.goto("/requests", { waitUntil: "commit" });
    const frame = page.locator("#frame");
    await frame.getByText("Lockport").first().waitFor();
    expect(await page.locator("#frame .skeleton").count()).toBeGreaterThan(5);
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await inBothThemes(page, async () => {
        await checkFits(page);
        await shoot(page, `frame-${width}`);
      });
    }
    held.resolve();
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await frame.isVisible()).toBe(false);
    }
    // The sign-in has none.
    await page.unrouteAll({ behavior: "wait" });
    await page.goto("/sign-in?next=%2Frequests");
    expect(await frame.isVisible()).toBe(false);
  });
});
