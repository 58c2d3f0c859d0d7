import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { formatCount, formatCountCompact } from "../../ui/text/format.ts";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFits } from "./support/layout.ts";
import { rest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import type { Site } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";

const browser = useBrowser();

const DEMO = { demo: { days: 5 } } as const;
let site: Site;
beforeEach(async () => {
  site = await browser.sharedSite(DEMO);
}, 60_000);

const SIZES = [
  { width: 1280, height: 800 },
  { width: 360, height: 740 },
] as const;

/** The list of the filter box over all requests, open, with nothing typed. */
async function openList(): Promise<Page> {
  const { page } = await browser.sharedVisitor(site, { viewport: SIZES[0] });
  await page.goto("/requests?range=all");
  await page.getByRole("combobox", { name: "Add a filter" }).press("ArrowDown");
  await group(page, "Person").waitFor();
  return page;
}

/** A longer list says behind its name that it shows the most used. */
const group = (page: Page, name: string) =>
  page.getByRole("listbox").getByRole("group", { name: new RegExp(`^${name}( · \\d+ most used)?$`) });

/** Each option of a group as it reads: its name, its number, and the title of the number. */
async function readOptions(page: Page, name: string) {
  return await group(page, name)
    .getByRole("option")
    .evaluateAll((options) =>
      options.map(({ children: [label, count] }) => ({
        label: label?.textContent,
        count: count?.firstChild?.textContent,
        title: count?.getAttribute("title"),
      })),
    );
}

describeInBrowser("the filter box", () => {
  test("shows beside each value how many requests of the window have it, the most used first, and nothing beside an outcome", async () => {
    const page = await openList();
    const response = await callApi(site.url, await site.adminKey(), "GET", "/stats/requests/facets?counts=1");
    const { counts, ...facets } = JSON.parse(await response.text());
    for (const [name, facet] of [
      ["Person", "principals"],
      ["Model", "models"],
      ["Provider", "providers"],
    ] as const) {
      const uses: { label: string; requests: number }[] = facets[facet].map(
        (label: string, index: number) => ({ label, requests: counts[facet][index] }),
      );
      const shown = await readOptions(page, name);
      expect(shown.length).toBeGreaterThan(3);
      expect(shown).toEqual(
        uses
          .toSorted((left, right) => right.requests - left.requests)
          .slice(0, shown.length)
          .map(({ label, requests }) => ({
            label,
            count: formatCountCompact(requests),
            title: `${formatCount(requests)} ${requests === 1 ? "request" : "requests"} in this window`,
          })),
      );
    }
    expect((await readOptions(page, "Outcome")).map(({ count }) => count ?? null)).toEqual(
      [1, 2, 3, 4, 5].map(() => null),
    );
  });

  test("says a value with its number, and filters by the value alone", async () => {
    const page = await openList();
    const person = group(page, "Person").getByRole("option", { name: /^linus [\d.]+[kM]? requests?$/ });
    await person.click();
    await page.waitForURL(/principal=linus/);
    await page.getByRole("list", { name: "Active filters" }).getByText("person: linus").waitFor();
    expect(new URL(page.url()).searchParams.get("principal")).toBe("linus");
  });

  test("has its numbers in one column at the right, in both themes, on a wide window and on a telephone", async () => {
    const page = await openList();
    for (const size of SIZES) {
      await page.setViewportSize(size);
      await rest(page);
      await inBothThemes(page, async () => {
        const theme = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
        await checkFits(page);
        await checkAccessibility(page);
        await shoot(page, `facets-${size.width}-${theme ? "dark" : "light"}`);
        await group(page, "Key").getByRole("option").last().scrollIntoViewIfNeeded();
        await shoot(page, `facets-${size.width}-${theme ? "dark" : "light"}-end`);
      });
      const edges = await page
        .getByRole("listbox")
        .getByRole("option")
        .evaluateAll((options) =>
          options
            .filter(({ children }) => children.length > 1)
            .map(({ lastElementChild }) => Math.round(lastElementChild?.getBoundingClientRect().right ?? 0)),
        );
      expect(edges.length).toBeGreaterThan(10);
      expect(new Set(edges).size).toBe(1);
      expect(edges[0]).toBeLessThan(size.width);
    }
  });
});
