import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFits } from "./support/layout.ts";
import { openAtRest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import type { Site } from "./support/site.ts";
import { eventually } from "./support/waiting.ts";
import { inBothThemes } from "./support/themes.ts";

const browser = useBrowser();

const LONG = "a-name-that-somebody-made-as-long-as-it-may-be-for-a-model-that-is-called-so";

const PRICING = {
  input_tokens: 0.123456,
  audio_seconds: 12,
  cache_write_tokens: 0.123456,
  cache_write_1h_tokens: 0.246912,
};
const DEMO = { demo: { days: 3 } } as const;
let site: Site;
let isBound = false;
beforeEach(async () => {
  site = await browser.sharedSite(DEMO);
  if (isBound) return;
  const provider = { name: "a-provider-with-quite-a-long-name", base_url: "http://127.0.0.1:9/v1" };
  await call("/providers", provider);
  const bound = {
    provider: provider.name,
    upstream_name: `vendor/${LONG}`,
    capabilities: ["chat", "vision"],
  };
  await call("/models", { ...bound, alias: LONG, pricing: PRICING });
  await call("/models", { alias: `${LONG}-2`, target: LONG });
  const limit = {
    name: `${LONG} in a month`,
    subject: { model: LONG },
    measure: "cost",
    amount: 123456.789012,
  };
  await call("/limits", { ...limit, window: "month", action: "warn" });
  isBound = true;
}, 60_000);

async function call(path: string, body: unknown): Promise<void> {
  const response = await callApi(site.url, await site.adminKey(), "POST", `/admin/v1${path}`, body);
  expect(response.status).toBe(201);
}

/** Tables of which something can only be seen by scrolling sideways, with their widths. */
async function findScrolled(page: Page): Promise<readonly string[]> {
  return await page.evaluate(() =>
    [...document.querySelectorAll("[role=region]:has(> table)")]
      .filter((region) => region.scrollWidth > region.clientWidth)
      .map((region) => `${region.getAttribute("aria-label")}: ${region.scrollWidth} > ${region.clientWidth}`),
  );
}

describeInBrowser("in a window of 1280 pixels, and of 1024", () => {
  test.each([
    ["/", 1],
    ["/requests", 1],
    ["/errors", 4],
    ["/models", 1],
    ["/keys", 1],
    ["/providers", 1],
    ["/people", 1],
    ["/people?tab=keys", 1],
    ["/limits", 1],
    ["/models/prices", 2],
    ["/models/repricing", 1],
  ])(
    "no table of %s scrolls sideways, also beside a scroll bar and with long names",
    async (path, tables) => {
      // What a scroll bar of the window leaves.
      const viewport = { width: 1280 - 15, height: 900 };
      const { page } = await browser.sharedVisitor(site, { viewport });
      await openAtRest(page, path);
      await page
        .locator("[role=region] > table")
        .nth(tables - 1)
        .waitFor();
      await inBothThemes(page, async () => {
        expect(await findScrolled(page)).toEqual([]);
        await checkFits(page);
        await checkAccessibility(page);
        await shoot(page, `1280-${path}`, { fullPage: true });
      });
      await page.setViewportSize({ ...viewport, width: 1024 });
      // The prices of four units need more there, beside names as long as these.
      if (path !== "/models/prices")
        await eventually(async () => expect(await findScrolled(page)).toEqual([]));
      await checkFits(page);
    },
  );

  test("nothing is cut in the list of people, neither a name with a badge beside it nor the last date of a row", async () => {
    const { page } = await browser.sharedVisitor(site, { viewport: { width: 1024, height: 900 } });
    await openAtRest(page, "/people");
    const rows = page.getByRole("region", { name: "People and services" }).locator("tbody");
    await rows.getByRole("rowheader").first().waitFor();
    const names = await rows
      .locator("th [title]")
      .evaluateAll((all) =>
        all.filter((name) => name.scrollWidth > name.clientWidth).map(({ textContent }) => textContent),
      );
    const dates = await rows.locator("td:last-child").evaluateAll((all) =>
      all
        .filter((cell) => {
          const text = document.createRange();
          text.selectNodeContents(cell);
          // A cell that ends with an ellipsis overflows into its own padding first, which no scroll width tells.
          const end =
            cell.getBoundingClientRect().right - Number.parseFloat(getComputedStyle(cell).paddingRight);
          return text.getBoundingClientRect().right > end + 0.5;
        })
        .map(({ textContent }) => textContent),
    );
    expect({ names, dates }).toEqual({ names: [], dates: [] });
  });
});
