import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { formatCount, formatCountCompact, formatDuration, formatMoney } from "../../ui/text/format.ts";
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
      options.map(({ children: [, label, count] }) => ({
        label: label?.textContent,
        count: count?.firstChild?.textContent,
        title: count?.getAttribute("title"),
      })),
    );
}

/** The two people with the most requests: who they are depends on the hours that the demonstration ends with. */
async function readNames(page: Page): Promise<readonly [string, string]> {
  const [first, second] = await readOptions(page, "Person");
  if (!first?.label || !second?.label) throw new Error("two people are listed");
  return [first.label, second.label];
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
      [1, 2, 3, 4, 5, 6].map(() => null),
    );
  });

  test("says a value with its number, and filters by the value alone", async () => {
    const page = await openList();
    const [name] = await readNames(page);
    const person = group(page, "Person").getByRole("option", {
      name: new RegExp(`^${name} [\\d.]+[kM]? requests?$`),
    });
    await person.click();
    await page.waitForURL(new RegExp(`principal=${name}`));
    await page.getByRole("list", { name: "Active filters" }).getByText(`person: ${name}`).waitFor();
    expect(new URL(page.url()).searchParams.get("principal")).toBe(name);
  });

  test("ticks several values of one filter, which match any of them, and takes each away by itself", async () => {
    const page = await openList();
    const count = async (query: string) => {
      const response = await callApi(
        site.url,
        await site.adminKey(),
        "GET",
        `/stats/requests?limit=1&${query}`,
      );
      return Number(JSON.parse(await response.text()).total);
    };
    const shows = async (total: number) => {
      const place = page.getByRole("navigation", { name: "Pages of requests" }).getByRole("status");
      await place.filter({ hasText: `of ${formatCount(total)} ` }).waitFor();
    };
    const tick = async (name: string) =>
      await group(page, "Person")
        .getByRole("option", { name: new RegExp(`^${name} `) })
        .click();
    const [first, second] = await readNames(page);
    await tick(first);
    await tick(second);
    // The list is still there for the next one, with both of them ticked.
    expect(await group(page, "Person").getByRole("option", { selected: true }).count()).toBe(2);
    const [ofFirst, ofSecond] = [await count(`principal=${first}`), await count(`principal=${second}`)];
    await shows(ofFirst + ofSecond);
    expect(new URL(page.url()).searchParams.getAll("principal")).toEqual([first, second]);
    await page.keyboard.press("Escape");
    const chips = page.getByRole("list", { name: "Active filters" });
    expect((await chips.getByRole("listitem").allTextContents()).slice(0, 2)).toEqual([
      `person: ${first}`,
      `or${second}`,
    ]);
    await checkAccessibility(page);
    await chips.getByRole("button", { name: `Remove the filter person: ${first}` }).click();
    await shows(ofSecond);
  });

  test("puts two models side by side in three presses: what each request costs, how long it takes, how many fail", async () => {
    const { page } = await browser.sharedVisitor(site, { viewport: SIZES[0] });
    await page.goto("/?range=all");
    const response = await callApi(
      site.url,
      await site.adminKey(),
      "GET",
      "/stats/breakdown?by=model&limit=2&sort=requests",
    );
    const { rows } = JSON.parse(await response.text());
    const names: string[] = rows.map(({ value }: { value: string }) => value);
    await page.getByRole("combobox", { name: "Add a filter" }).click();
    for (const name of names) {
      await group(page, "Model")
        .getByRole("option")
        .filter({ has: page.getByTitle(name, { exact: true }) })
        .click();
    }
    const table = page.getByRole("region", { name: "Comparison" });
    await table.waitFor();
    expect(await table.getByRole("columnheader").allTextContents()).toEqual(names);
    const cells = async (name: string) =>
      await table
        .getByRole("row", { name: new RegExp(`^${name}`) })
        .getByRole("cell")
        .allTextContents();
    expect(await cells("Requests")).toEqual(
      rows.map(({ requests }: { requests: number }) => formatCount(requests)),
    );
    expect(await cells("Cost per request")).toEqual(
      rows.map((row: { cost_per_request: number }) => formatMoney(row.cost_per_request)),
    );
    expect(await cells("Duration, 95th")).toEqual(
      rows.map((row: { duration_ms: { p95: number } }) => formatDuration(row.duration_ms.p95)),
    );
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Compare models", expanded: true }).waitFor();
    await inBothThemes(page, async () => {
      await checkFits(page);
      await checkAccessibility(page);
      const isDark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
      await shoot(page, `compare-${isDark ? "dark" : "light"}`);
    });
    await page.getByRole("button", { name: `Remove the filter model: ${names[0]}` }).click();
    await table.waitFor({ state: "detached" });
    // What was refused used nothing: it has no cost, and lacks no price.
    const models = new URLSearchParams(names.map((name) => ["model", name]));
    await page.goto(`/?range=all&status=4xx&${models}`);
    await table.getByRole("rowheader", { name: "Failed" }).waitFor();
    expect(new Set(await cells("Cost"))).toEqual(new Set(["–"]));
  });

  test("says that nothing matches a text instead of filtering by it, and reads sizes and statuses that are typed", async () => {
    const page = await openList();
    const box = page.getByRole("combobox", { name: "Add a filter" });
    await box.fill("nobody-has-this-name");
    await page.getByText("No match in this window").waitFor();
    await page.keyboard.press("Enter");
    expect(new URL(page.url()).search).toBe("?range=all");
    for (const [typed, option, query] of [
      [">1s", "took at least 1 s", "min_duration_ms=1000"],
      ["> $0.001", "cost at least $0.001", "min_cost=0.001"],
      ["4xx", "status 4xx", "status=4xx"],
      ["unpriced", "unpriced", "unpriced=true"],
      ["timeout", "timeout", "error_kind=timeout"],
    ] as const) {
      await page.goto("/requests?range=all");
      await box.fill(typed);
      await page.getByRole("option", { name: option, exact: true }).waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => url.search.endsWith(query));
      const response = await callApi(
        site.url,
        await site.adminKey(),
        "GET",
        `/stats/requests?limit=1&${query}`,
      );
      const { total } = JSON.parse(await response.text());
      const place = page.getByRole("navigation", { name: "Pages of requests" }).getByRole("status");
      await place.filter({ hasText: total === 0 ? "No requests" : `of ${formatCount(total)} ` }).waitFor();
      await rest(page);
    }
  });

  test("finds a request by its id, and by the beginning of it, from any page of reports", async () => {
    const response = await callApi(
      site.url,
      await site.adminKey(),
      "GET",
      "/stats/requests?limit=1&offset=40",
    );
    const [{ id }] = JSON.parse(await response.text()).requests;
    const { page } = await browser.sharedVisitor(site, { viewport: SIZES[0] });
    for (const [path, typed] of [
      ["/errors?range=1h", id],
      ["/?range=7d", ` ${id.slice(0, 18)}`],
    ] as const) {
      await page.goto(path);
      await page.getByRole("combobox", { name: "Add a filter" }).fill(typed);
      await page.getByRole("option", { name: `Open ${id}` }).waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => url.pathname === "/requests" && url.searchParams.get("open") === id);
      await page.getByRole("dialog").getByText(id, { exact: true }).waitFor();
    }
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
            .filter(({ children }) => children.length > 2)
            .map(({ lastElementChild }) => Math.round(lastElementChild?.getBoundingClientRect().right ?? 0)),
        );
      expect(edges.length).toBeGreaterThan(10);
      expect(new Set(edges).size).toBe(1);
      expect(edges[0]).toBeLessThan(size.width);
    }
  });
});
