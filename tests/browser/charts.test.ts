import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { checkNoShift } from "./support/vitals.ts";
import { startChartsSite, type ChartsSite } from "./support/charts-site.ts";

const browser = useBrowser();
let site: ChartsSite;

beforeAll(async () => {
  site = await startChartsSite();
});
afterAll(() => site?.stop());

type Options = Parameters<typeof browser.sharedVisitor>[1];

async function visit(options: Options = {}, path = "/"): Promise<Page> {
  const { page } = await browser.sharedVisitor(site, options);
  await page.goto(path);
  await page.locator("svg path").first().waitFor({ state: "attached" });
  return page;
}

const chartOf = (page: Page, name: string): Locator => page.getByRole("application", { name });
const chosen = (page: Page) => page.getByLabel("Chosen").textContent();
const spoken = (page: Page, name: string) => chartOf(page, name).locator("[aria-live]").textContent();

/** The point of a chart at these shares of its width and height. */
async function pointOf(chart: Locator, across: number, down: number): Promise<{ x: number; y: number }> {
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  if (box === null) throw new Error("the chart is not shown");
  return { x: box.x + box.width * across, y: box.y + box.height * down };
}

describeInBrowser("every chart", () => {
  test("says the same in any time zone: each label is of UTC", async () => {
    const texts = new Set<string>();
    for (const timezoneId of ["Asia/Tokyo", "Pacific/Gambier", "America/New_York", "UTC"]) {
      const page = await visit({ timezoneId });
      const drawn = await page.locator("svg text").allTextContents();
      expect(drawn.filter((text) => text === "UTC").length).toBeGreaterThanOrEqual(2);
      await chartOf(page, "Requests by outcome").press("End");
      const said = await spoken(page, "Requests by outcome");
      expect(said).toStartWith("Sat 21 Feb 2026, 23:00–24:00 UTC");
      texts.add([...drawn, said].join("|"));
    }
    expect(texts.size).toBe(1);
  });

  for (const theme of ["light", "dark"] as const) {
    test(`has no fault that axe finds, as a picture, while it is read, and as a table: ${theme}`, async () => {
      const page = await visit({ theme });
      await checkAccessibility(page, theme);
      await chartOf(page, "Cost by model").press("End");
      await checkAccessibility(page, theme);
      for (const button of await page.getByRole("button", { name: "Table" }).all()) await button.click();
      await checkAccessibility(page, theme);
    });
  }

  test("fits a small phone and 200 % zoom, and shifts nothing while it is drawn", async () => {
    const page = await visit();
    await checkNoShift(page);
    await checkFitsSmall(page);
  });

  test("follows the width of the window, with labels that do not touch at 320 px", async () => {
    const page = await visit({ viewport: { width: 320, height: 800 } });
    const touching = await page.evaluate(() => {
      const boxes = [...document.querySelectorAll("svg text")].map((text) => ({
        text: text.textContent,
        svg: text.closest("svg"),
        box: text.getBoundingClientRect(),
      }));
      return boxes.flatMap((a, index) =>
        boxes
          .slice(index + 1)
          .filter(
            (b) =>
              a.svg === b.svg &&
              a.box.left < b.box.right - 1 &&
              b.box.left < a.box.right - 1 &&
              a.box.top < b.box.bottom - 3 &&
              b.box.top < a.box.bottom - 3,
          )
          .map((b) => `${a.text} touches ${b.text}`),
      );
    });
    expect(touching).toEqual([]);
    const before = await chartOf(page, "Cost by model").locator("svg").getAttribute("width");
    await page.setViewportSize({ width: 900, height: 800 });
    const svg = chartOf(page, "Cost by model").locator(`svg:not([width="${before}"])`);
    await svg.waitFor();
    expect(Number(await svg.getAttribute("width"))).toBeGreaterThan(700);
  });

  test("is a table of the same figures when asked for one, which scrolls by keyboard in the same place", async () => {
    const page = await visit();
    const figure = page.getByRole("figure", { name: "Cost by model" });
    const height = (await figure.boundingBox())?.height;
    await figure.getByRole("button", { name: "Table" }).click();
    const region = figure.getByRole("region", { name: "Cost by model, as a table" });
    const [head, first] = await Promise.all([
      region.locator("thead th").allTextContents(),
      region.locator("tbody tr").first().locator("th, td").allTextContents(),
    ]);
    expect(head[0]).toBe("Time (UTC)");
    expect(head.slice(-2)).toEqual(["Total", "Unpriced requests"]);
    expect(first[0]).toBe("Sun 5 Apr 2026 UTC");
    const sum = first.slice(1, -2).reduce((total, cell) => total + Number(cell.replace("$", "")), 0);
    expect(first.at(-2)).toBe(`$${sum.toFixed(2)}`);
    expect(await region.locator("tbody tr").count()).toBe(45);
    expect((await figure.boundingBox())?.height).toBe(height);
    await figure.getByRole("button", { name: "Table" }).click();
    expect(await chartOf(page, "Cost by model").count()).toBe(1);
  });
});

describeInBrowser("stacked bars", () => {
  test("are read with the arrow keys, a range with Shift, which Escape clears, and Enter narrows to what is read", async () => {
    const page = await visit();
    const chart = chartOf(page, "Cost by model");
    await chart.press("End");
    expect(await spoken(page, "Cost by model")).toMatch(
      /^Sun 5 Apr 2026 UTC: total \$[\d.]+; small \$[\d.]+; large/,
    );
    await chart.press("ArrowLeft");
    expect(await chosen(page)).toBe("");
    await chart.press("Enter");
    expect(await chosen(page)).toBe("window 2026-04-04T00:00:00.000000Z 2026-04-05T00:00:00.000000Z");
    for (const key of ["Home", "Shift+ArrowRight", "Shift+ArrowRight"]) await chart.press(key);
    expect(await spoken(page, "Cost by model")).toStartWith("20 Feb 2026 – 22 Feb 2026 UTC: total");
    await chart.press("Escape");
    expect(await spoken(page, "Cost by model")).toStartWith("Sun 22 Feb 2026 UTC");
    for (const key of ["Shift+ArrowLeft", "Enter"]) await chart.press(key);
    expect(await chosen(page)).toBe("window 2026-02-21T00:00:00.000000Z 2026-02-23T00:00:00.000000Z");
    expect(await spoken(page, "Cost by model")).toBe("");
  });

  test("narrow by a click on a bar and by a drag over several, which may end outside of the chart", async () => {
    const page = await visit();
    const chart = chartOf(page, "Cost by model");
    const from = await pointOf(chart, 0.5, 0.5);
    await page.mouse.click(from.x, from.y);
    expect(await chosen(page)).toMatch(/^window 2026-03-\d\dT00:00:00\.000000Z 2026-03-\d\dT/);
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x + 100, from.y, { steps: 4 });
    await page.mouse.move(2000, from.y, { steps: 2 });
    await page.mouse.up();
    expect(await chosen(page)).toMatch(
      /^window 2026-03-\d\dT00:00:00\.000000Z 2026-04-06T00:00:00\.000000Z$/,
    );
  });

  test("tell every series and the total where the mouse is, without saying it aloud, and nothing after it left", async () => {
    const page = await visit();
    const { x, y } = await pointOf(chartOf(page, "Cost by model"), 0.3, 0.5);
    await page.mouse.move(x, y);
    const tooltip = page.locator("p", { hasText: / 2026 UTC$/ });
    await tooltip.waitFor();
    const told = (await tooltip.locator("..").textContent()) ?? "";
    for (const label of ["small", "large", "漢字", "4 others", "Total"]) expect(told).toContain(label);
    expect(await spoken(page, "Cost by model")).toBe("");
    await page.mouse.move(x, 2);
    await tooltip.waitFor({ state: "detached" });
    expect(await chosen(page)).toBe("");
  });

  test("let a series stand out that is pointed at in the legend, and choose it by a click; other cannot be chosen", async () => {
    const page = await visit();
    const figure = page.getByRole("figure", { name: "Cost by model" });
    const faded = figure.locator('path[opacity="0.22"]');
    expect(await faded.count()).toBe(0);
    await figure.getByRole("button", { name: "large" }).hover();
    expect(await faded.count()).toBe(5);
    await figure.getByRole("button", { name: "large" }).click();
    expect(await chosen(page)).toBe("series large");
    await figure.getByRole("button", { name: "4 others" }).click();
    expect(await chosen(page)).toBe("series large");
    await page.mouse.move(2, 2);
    await figure.getByRole("button", { name: "4 others" }).blur();
    expect(await faded.count()).toBe(0);
  });

  test("ask with a finger's first tap and choose with its second", async () => {
    const page = await visit();
    const session = await page.context().newCDPSession(page);
    const point = await pointOf(chartOf(page, "Cost by model"), 0.5, 0.5);
    const tap = async () => {
      await session.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [point] });
      await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    };
    await tap();
    await page.locator("p", { hasText: / 2026 UTC$/ }).waitFor();
    expect(await chosen(page)).toBe("");
    await tap();
    await page.getByText(/^window 2026-03-/).waitFor();
  });

  test("are one path for each series at 1,000 buckets, and none is drawn again while the mouse moves over them", async () => {
    const page = await visit({}, "/large");
    const chart = chartOf(page, "Thousand");
    expect(await chart.locator("g > path:not(pattern path)").count()).toBe(8);
    expect(await chart.locator("*").count()).toBeLessThan(150);
    await page.evaluate(() => {
      const drawn: string[] = [];
      Object.assign(globalThis, { drawn });
      const observer = new MutationObserver((mutations) => {
        for (const { target, type } of mutations) {
          if (type === "attributes" && target.nodeName === "path") drawn.push(target.nodeName);
        }
      });
      observer.observe(document.body, { subtree: true, attributes: true });
    });
    for (let step = 1; step < 20; step += 1) {
      const { x, y } = await pointOf(chart, step / 20, 0.5);
      await page.mouse.move(x, y);
    }
    await page.locator("p", { hasText: / UTC$/ }).waitFor();
    expect(await page.evaluate("drawn")).toEqual([]);
  });

  test("say that there is nothing instead of drawing it", async () => {
    const page = await visit();
    const figure = page.getByRole("figure", { name: "Nothing" });
    expect(await figure.textContent()).toContain("No data in this window");
    await chartOf(page, "Nothing").press("End");
    expect(await spoken(page, "Nothing")).toBe("");
  });
});

describeInBrowser("a histogram of outcomes", () => {
  test("tells outcomes apart by texture as well as by color", async () => {
    const page = await visit();
    const figure = page.getByRole("figure", { name: "Requests by outcome" });
    const fills = await figure
      .getByRole("application")
      .locator("g > path[fill]")
      .evaluateAll((paths) =>
        paths.map((path) => path.getAttribute("fill") ?? "").filter((fill) => fill !== "none"),
      );
    expect(fills.filter((fill) => fill.startsWith("url(#"))).not.toBeEmpty();
    expect(new Set(fills).size).toBe(fills.length);
    const strokes = await figure
      .getByRole("application")
      .locator("pattern path")
      .evaluateAll((paths) => paths.map((path) => path.getAttribute("d")));
    expect(new Set(strokes.slice(0, 3)).size).toBe(3);
  });
});

describeInBrowser("a grid", () => {
  test("of bands is read cell by cell, and Enter or a click chooses the cell", async () => {
    const page = await visit();
    const chart = chartOf(page, "Time to failure");
    for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"]) await chart.press(key);
    expect(await spoken(page, "Time to failure")).toMatch(/^provider \/ large, 1-5s: [\d,]+$/);
    await chart.press("Enter");
    expect(await chosen(page)).toBe("cell row-1 1");
    // What was chosen makes another grid: nothing of this one is pointed at any more.
    expect(await spoken(page, "Time to failure")).toBe("");
    const { x, y } = await pointOf(chart, 0.99, 0.98);
    await page.mouse.click(x, y);
    expect(await chosen(page)).toBe("cell row-7 6");
  });

  test("of days is read day by day, says what is unpriced, and Enter chooses the day", async () => {
    const page = await visit();
    const chart = chartOf(page, "Cost by day");
    await chart.press("Home");
    for (let day = 0; day < 5; day += 1) await chart.press("ArrowDown");
    expect(await spoken(page, "Cost by day")).toBe("Wed 25 Feb 2026 UTC: unpriced, 5 requests");
    await chart.press("ArrowRight");
    expect(await spoken(page, "Cost by day")).toMatch(/^Wed 4 Mar 2026 UTC: \$[\d.]+, 12 requests$/);
    await chart.press("Enter");
    expect(await chosen(page)).toBe("day 2026-03-04T00:00:00.000000Z 2026-03-05T00:00:00.000000Z");
    expect(await spoken(page, "Cost by day")).toBe("");
    await chart.press("ArrowLeft");
    expect(await spoken(page, "Cost by day")).not.toBe("");
    await chart.press("Escape");
    expect(await spoken(page, "Cost by day")).toBe("");
  });
});
