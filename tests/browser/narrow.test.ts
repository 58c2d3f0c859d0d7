import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFits } from "./support/layout.ts";
import { ADMIN_PATHS, MEMBER_PATHS, openAtRest, rest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";

const browser = useBrowser();

const DEMO = { demo: { days: 3 } } as const;

/** A small phone, a usual one; and a window of 1280 × 800 at a zoom of 200 %. In CSS pixels. */
const SIZES = [
  { width: 360, height: 740 },
  { width: 390, height: 844 },
  { width: 640, height: 400 },
] as const;

/** Surfaces of a page, opened by hand where no address says it. */
const SURFACES: readonly (readonly [path: string, open: (page: Page) => Promise<unknown>])[] = [
  ["/", (page) => press(page, /^Window/)],
  ["/", (page) => press(page, "Open the menu")],
  ["/", (page) => press(page, /^Account:/)],
  ["/requests", (page) => page.locator("[data-row-open='1']").press("Enter")],
  ["/requests", (page) => page.getByRole("combobox", { name: "Add a filter" }).press("ArrowDown")],
  ["/models", (page) => press(page, "How to call smart")],
  ["/keys", (page) => press(page, "Create a key")],
  ["/providers", (page) => press(page, "Add provider")],
  ["/providers?open=openai", nothingMore],
  ["/models", (page) => press(page, "Add model")],
  ["/models?open=smart", nothingMore],
  ["/models?resolve=smart", nothingMore],
  ["/people", (page) => press(page, "Details of linus")],
  ["/people", (page) => press(page, "Add person or service")],
  ["/people?tab=keys", nothingMore],
  ["/limits", (page) => press(page, "New limit")],
  ["/models/prices", (page) => press(page, "Load prices")],
  ["/models/prices", (page) => press(page, /^Set price for/)],
  ["/models/repricing?plan=1&of=smart", nothingMore],
];

async function nothingMore(): Promise<void> {}

async function press(page: Page, name: string | RegExp): Promise<void> {
  await page
    .getByRole("button", { name, exact: typeof name === "string" })
    .first()
    .press("Enter");
}

/** Words that a box cuts off where nobody can scroll to them, and no title tells; an ellipsis of one line that has a title is fine. */
async function findCutOff(page: Page): Promise<readonly string[]> {
  return await page.evaluate(() => {
    const isShown = (element: Element) =>
      element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    return [...document.querySelectorAll("main *, [role=dialog] *, [role=alertdialog] *")]
      .filter((element) => {
        if (element.closest("svg, [aria-hidden=true], [inert], .sr-only") !== null || !isShown(element))
          return false;
        const { overflowX, overflowY } = getComputedStyle(element);
        const hidesX = overflowX === "hidden" || overflowX === "clip";
        const hidesY = overflowY === "hidden" || overflowY === "clip";
        // A sub-pixel of a glyph's edge is no loss.
        const cutX = hidesX && element.scrollWidth > element.clientWidth + 1;
        const cutY = hidesY && element.scrollHeight > element.clientHeight + 2;
        if ((!cutX && !cutY) || element.clientWidth <= 1) return false;
        const isTold = element.closest("[title]") !== null || element.querySelector("[title]") !== null;
        return !isTold && (element.textContent ?? "").trim() !== "";
      })
      .map(
        (element) =>
          `${element.tagName.toLowerCase()}.${element.className}: ${element.textContent?.trim().slice(0, 80)}`,
      );
  });
}

async function visit(): Promise<Page> {
  const { page } = await browser.sharedVisitor(await browser.sharedSite(DEMO), { viewport: SIZES[0] });
  return page;
}

async function atEachSize(page: Page, check: (name: string) => Promise<unknown>): Promise<void> {
  for (const size of SIZES) {
    await page.setViewportSize(size);
    await checkFits(page);
    expect(await findCutOff(page)).toEqual([]);
    await check(String(size.width));
  }
}

/** Boxes that scroll and that the keyboard cannot scroll. */
async function findStuck(page: Page): Promise<readonly string[]> {
  return await page.evaluate(() =>
    [...document.querySelectorAll("main *")]
      .filter(
        (one) => one.scrollWidth > one.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(one).overflowX),
      )
      .filter(
        (one) =>
          one.getAttribute("tabindex") !== "0" &&
          one.querySelector("a, button, input, [tabindex='0']") === null,
      )
      .map((one) => one.className),
  );
}

describeInBrowser("on a telephone and at a zoom of two", () => {
  test("a model shows each of its prices within the window, and none has to be scrolled to", async () => {
    const page = await visit();
    await openAtRest(page, "/models");
    const table = page.getByRole("table", { name: "Models" });
    expect(await table.getByRole("columnheader").count()).toBe(1);
    const prices = table.getByRole("button", { name: /^(?:Input|Output) tokens of .* Change$/ });
    expect(await prices.count()).toBeGreaterThan(3);
    for (const price of await prices.all()) {
      const box = await price.boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(SIZES[0].width);
    }
  });

  test("a request says when it arrived within the window, and a comparison has a column of each value", async () => {
    const page = await visit();
    const findOutside = async (selector: string) =>
      await page.locator(selector).evaluateAll((elements) =>
        elements
          .filter((element) => {
            const { left, right } = element.getBoundingClientRect();
            return left < 0 || right > document.documentElement.clientWidth;
          })
          .map((element) => element.textContent),
      );
    await openAtRest(page, "/requests");
    await page.locator("[data-row-open='1']").press("Enter");
    await page.getByRole("dialog").locator("time").first().waitFor();
    expect(await findOutside("[role=dialog] time")).toEqual([]);
    await shoot(page, "narrow-arrived");
    await openAtRest(page, "/?range=7d&model=smart&model=fast");
    const comparison = page.getByRole("region", { name: "Comparison" });
    await comparison.getByRole("columnheader").nth(1).waitFor();
    expect(await findOutside("[aria-label=Comparison] :is(th, td)")).toEqual([]);
    await shoot(page, "narrow-comparison");
  });

  test.each([...MEMBER_PATHS, ...ADMIN_PATHS])(
    "%s fits: nothing scrolls sideways, nothing is cut off, and what scrolls can be scrolled by keys",
    async (path) => {
      const page = await visit();
      await openAtRest(page, path);
      await atEachSize(page, async (size) => {
        expect(await findStuck(page)).toEqual([]);
        await checkAccessibility(page);
        await shoot(page, `narrow-${size}-${path}`, { fullPage: true });
      });
    },
  );

  test.each(SURFACES.map(([path, open], index) => ({ path, open, index })))(
    "what opens above $path fits, too, and its buttons are in reach ($index)",
    async ({ path, open, index }) => {
      const page = await visit();
      await openAtRest(page, path);
      await open(page);
      await rest(page);
      await atEachSize(page, async (size) => {
        const surface = page.locator("[role=dialog], [role=alertdialog], [role=menu]").last();
        const buttons = (await surface.count()) === 0 ? [] : await surface.getByRole("button").all();
        for (const button of buttons) {
          await button.scrollIntoViewIfNeeded();
          const box = await button.boundingBox();
          expect(box!.y).toBeGreaterThanOrEqual(-1);
          expect(box!.y + box!.height).toBeLessThanOrEqual(page.viewportSize()!.height + 1);
        }
        await shoot(page, `narrow-${size}-${path}-${index}`);
      });
    },
  );
});
