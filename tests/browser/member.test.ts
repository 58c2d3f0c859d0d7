import { beforeEach, expect, test } from "bun:test";
import { ADMIN_PAGES, MEMBER_PAGES } from "../../ui/shell/navigation.tsx";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFits } from "./support/layout.ts";
import { openAtRest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import { makeLoginLink } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

const browser = useBrowser();

const DEMO = { demo: { days: 3 } } as const;
const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 390, height: 844 };
/** Addresses of administrators that the navigation leads to in two steps. */
const INNER_PATHS = ["/setup", "/models/prices", "/models/repricing"];

let site: Site;
let visitor: Visitor;
beforeEach(async () => {
  site = await browser.sharedSite(DEMO);
  visitor = await browser.newVisitor({ baseUrl: site.url, viewport: WIDE });
  await visitor.page.goto(await makeLoginLink(site, "linus"));
  await visitor.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
}, 60_000);

// A visitor whose page said a word, or was refused anything, fails its test when it leaves.
describeInBrowser("a member", () => {
  test("opens every page that the navigation has without a refusal, and is led to none that is closed", async () => {
    const { page } = visitor;
    const closed = new Set([...ADMIN_PAGES.map(({ to }) => to), ...INNER_PATHS]);
    const linked = await page.getByRole("navigation", { name: "Pages" }).getByRole("link").allInnerTexts();
    expect(linked).toEqual(MEMBER_PAGES.map(({ label }) => label));
    for (const { to } of MEMBER_PAGES) {
      for (const viewport of [WIDE, NARROW]) {
        await page.setViewportSize(viewport);
        await openAtRest(page, to);
        await checkFits(page);
        await shoot(page, `member-${viewport.width}-${to}`, { fullPage: true });
        const paths = await page
          .locator("main a[href]")
          .evaluateAll((links) => links.map((link) => new URL(Reflect.get(link, "href")).pathname));
        expect(paths.filter((path) => closed.has(path))).toEqual([]);
        // Controls that nothing can be chosen in, and that have no name, lead nowhere either.
        expect(await page.locator("main :is(button, a[href]):not([aria-label]):empty").count()).toBe(0);
      }
      await checkAccessibility(page);
    }
  });

  test("reads at an administrator's address whom to ask, and nothing is asked for that would be refused", async () => {
    const { page } = visitor;
    for (const path of [...ADMIN_PAGES.map(({ to }) => to), ...INNER_PATHS]) {
      await openAtRest(page, path);
      expect(await page.locator("main h1").innerText()).toBe("This page is for administrators");
      await page.getByText("Ask an administrator to make the change, or to give you the role.").waitFor();
      await page.getByRole("link", { name: "Go to overview" }).waitFor();
    }
    await checkAccessibility(page);
  });
});
