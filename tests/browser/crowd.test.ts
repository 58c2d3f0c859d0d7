import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { openAtRest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import type { Site } from "./support/site.ts";

const browser = useBrowser();

const FIRST_START = {};
let site: Site;
beforeEach(async () => {
  site = await browser.sharedSite(FIRST_START);
});

/** As many values of a facet as the server lists. */
const VALUES = Array.from({ length: 500 }, (_, place) => place);
const toValues = (begin: string) => VALUES.map((place) => `${begin}${place}`);
const CROWD = {
  principals: toValues("claude.person-"),
  keys: [],
  providers: ["openai"],
  models: toValues("claude-model-"),
  clients: toValues("claude-cli/2."),
  tags: [],
  truncated: { principals: true, keys: false, providers: false, models: true, clients: true, tags: false },
  counts: { principals: VALUES, keys: [], providers: [1], models: VALUES, clients: VALUES, tags: [] },
};

async function visit(path: string, viewport = { width: 1280, height: 800 }): Promise<Page> {
  const visitor = await browser.sharedVisitor(site, { viewport });
  await visitor.page.route("**/stats/requests/facets*", (route) => route.fulfill({ json: CROWD }));
  await openAtRest(visitor.page, path);
  return visitor.page;
}

const options = (page: Page) => page.getByRole("listbox").getByRole("option");

describeInBrowser("the filter box over hundreds of values that match", () => {
  test("shows some of each facet and what was typed itself, by keys alone", async () => {
    const page = await visit("/requests");
    await page.keyboard.press("/");
    await page.keyboard.type("claude");
    for (const name of ["Person · 20 of 500", "Model · 20 of 500", "Client · 20 of 500", "As typed"])
      await page.getByRole("listbox").getByRole("group", { name, exact: true }).waitFor();
    expect(await page.getByRole("option", { name: /openai/ }).count()).toBe(0);
    await checkAccessibility(page);
    await shoot(page, "crowd");
    const first = options(page).first();
    expect(await first.textContent()).toStartWith("claude.person-0");
    expect(await first.getAttribute("data-highlighted")).not.toBeNull();
    await page.keyboard.type("-cli/2.");
    await page.getByRole("listbox").getByRole("group", { name: "Client · 60 of 500", exact: true }).waitFor();
    // The last three are what was typed.
    for (let up = 0; up < 3; up += 1) await page.keyboard.press("ArrowUp");
    const typed = page.getByRole("option", { name: "client begins with “claude-cli/2.”" });
    await typed.and(page.locator("[data-highlighted]")).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/client=claude-cli/);
  });
});

describeInBrowser("a table without rows on a telephone", () => {
  test.each([
    ["/keys", "Create your first key"],
    ["/relay-tokens", "Create your first relay token"],
    ["/providers", "Add your first provider"],
  ])("has the way on in sight, however wide its headers are: %s", async (path, name) => {
    const page = await visit(path, { width: 360, height: 740 });
    const next = page.getByRole("main").getByRole("button", { name });
    const region = page.getByRole("region").filter({ has: page.getByRole("button", { name }) });
    const inSight = async () => {
      const box = await next.boundingBox();
      expect(box?.x).toBeGreaterThan(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThan(360);
    };
    await inSight();
    await region.evaluate((element) => element.scrollTo({ left: 10_000 }));
    await inSight();
    await checkAccessibility(page);
    await checkFitsSmall(page);
    await shoot(page, `empty-table-${path}`);
  });
});
