import { beforeEach, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { compareCodeUnits } from "#kernel/text.ts";
import { callApi, provide } from "../support/installation.ts";
import { startUpstream } from "../support/upstream.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { readDownload } from "./support/download.ts";
import { tabThrough } from "./support/keyboard.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { rest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import { makeLoginLink, signInAsAdmin, signInBySso } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { Renewal } from "./support/visitor.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();

async function visit(site: Site, path: string, options: Renewal = {}) {
  const visitor = await browser.sharedVisitor(site, options);
  await visitor.page.goto(path);
  return visitor;
}

/** The page with its chart and its table, which come last. */
async function visitReport(site: Site, path: string, options: Renewal = {}) {
  const visitor = await visit(site, path, options);
  await visitor.page.getByRole("application").first().waitFor();
  await visitor.page.getByRole("columnheader").first().waitFor();
  await visitor.page.getByRole("button", { name: /^Window/ }).waitFor();
  return visitor;
}

function tile(page: Page, label: string) {
  return page.getByRole("group", { name: label, exact: true });
}

const DEMO = { demo: { days: 20 } } as const;

describeInBrowser("the overview", () => {
  let site: Site;
  beforeEach(async () => {
    site = await browser.sharedSite(DEMO);
  });

  test("is told by its report: requests as counted, failures as a share, tokens by kind", async () => {
    const { page } = await visitReport(site, "/?range=7d");
    const answer = await callApi(
      site.url,
      await site.adminKey(),
      "GET",
      `/stats/series?bucket=month&since=${toSince(6)}`,
    );
    const { series } = await answer.json();
    const requests = series.reduce((sum: number, bucket: { requests: number }) => sum + bucket.requests, 0);
    expect(requests).toBeGreaterThan(0);
    await eventually(async () => {
      expect(await tile(page, "Requests").innerText()).toContain(requests.toLocaleString("en-US"));
      expect(await tile(page, "Cost").innerText()).toMatch(/\$\d+\.\d\d/);
      expect(await tile(page, "Failed").innerText()).toMatch(
        /^Failed\s+[\d.]+%\s+[+−±][\d.]+ pt\s+vs \d+ [A-Z][a-z]{2} to \d+ [A-Z][a-z]{2}$/,
      );
      expect(await tile(page, "Cached tokens").innerText()).toMatch(/\d[kM]/);
    });
  });

  test("has no fault for those who do not see, in both themes, on a phone, at 200 % zoom and by keyboard", async () => {
    for (const theme of ["light", "dark"] as const) {
      const { page } = await visitReport(site, "/?by=tag", { theme });
      await checkAccessibility(page, theme);
      if (theme === "light") await checkFitsSmall(page);
      await shoot(page, `overview-${theme}`, { fullPage: true });
    }
    const { page } = await visitReport(site, "/");
    expect(await tabThrough(page)).toContainEqual(expect.stringContaining("As shown"));
    await page.setViewportSize({ width: 360, height: 740 });
    // A card has its cost in sight.
    const cards = page.getByRole("region", { name: "Usage by model" }).getByRole("rowheader");
    await cards.first().getByText("$").waitFor();
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  test("answers on its first screen: the strip of figures, the chart and six rows, and no name is cut", async () => {
    const { page } = await visitReport(site, "/", { viewport: { width: 1440, height: 900 } });
    await rest(page);
    const strip = page.getByRole("region", { name: "Sums of the window" });
    const chart = page.getByRole("application").first();
    const row = page.getByRole("region", { name: "Usage by model" }).locator("tbody tr").nth(5);
    const boxOf = async (part: Locator) => (await part.boundingBox()) ?? { y: 0, height: 0 };
    const [figures, plot, sixth] = [await boxOf(strip), await boxOf(chart), await boxOf(row)];
    expect([figures.height, plot.height]).toEqual([72, 260]);
    expect(figures.y).toBeLessThan(plot.y);
    expect(sixth.y + sixth.height).toBeLessThanOrEqual(900);
    // What has no price is told by a figure and a sign, and nothing is drawn under the bars.
    await tile(page, "Cost").getByText("+", { exact: true }).waitFor();
    expect(await chart.locator("pattern").count()).toBe(0);
    for (const width of [1440, 1280, 1024]) {
      await page.setViewportSize({ width, height: 900 });
      const cut = await page
        .getByRole("region", { name: "Usage by model" })
        .locator("tbody th [title]")
        .evaluateAll((names) =>
          names.filter((name) => name.scrollWidth > name.clientWidth).map(({ textContent }) => textContent),
        );
      expect([width, cut]).toEqual([width, []]);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test("asks for one report of the window and one of that before, and draws eight groups and the rest", async () => {
    const visitor = await browser.newVisitor({ baseUrl: site.url });
    await signInAsAdmin(visitor, site);
    // The window before moves with each minute, and is then asked for anew.
    await visitor.page.clock.setFixedTime(Date.now());
    const asked: URLSearchParams[] = [];
    visitor.page.on("request", (request) => {
      const { pathname, searchParams } = new URL(request.url());
      const isReport = pathname === "/stats/series";
      // The list of steps of a new installation asks for all months.
      if (isReport && searchParams.get("bucket") !== "month") asked.push(searchParams);
    });
    await visitor.page.goto("/");
    await visitor.page.getByRole("application").first().waitFor();
    await rest(visitor.page);
    expect(asked.map((query) => query.get("group_by") ?? "all").toSorted(compareCodeUnits)).toEqual([
      "all",
      "model",
    ]);
    const legend = visitor.page.getByRole("figure", { name: /^Cost by model/ }).getByRole("listitem");
    expect(await legend.count()).toBe(9);
    expect((await legend.allInnerTexts()).filter((text) => text.endsWith("other"))).toHaveLength(1);
  });

  test("narrows the window to a bar, by keyboard as well, and goes back by the browser's button", async () => {
    const { page } = await visitReport(site, "/?range=7d");
    await page.getByRole("application").first().focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.waitForURL(/since=/);
    const search = new URL(page.url()).searchParams;
    const lengthMs = Date.parse(search.get("until") ?? "") - Date.parse(search.get("since") ?? "");
    expect(lengthMs).toBe(86_400_000);
    expect(search.get("range")).toBeNull();
    await page.getByText("Per hour, in UTC").waitFor();
    await page.goBack();
    await page.getByText("Per day, in UTC").waitFor();
  });

  test("narrows to a series or a row and then cuts by something else, in the order that was chosen, all in the address", async () => {
    const { page } = await visitReport(site, "/");
    const counted = page.getByRole("group", { name: "Measure" });
    await counted.getByRole("button", { name: "Requests" }).click();
    const cut = page.getByRole("group", { name: "What it is cut by" });
    await cut.getByRole("button", { name: "Person" }).click();
    await page.waitForURL(
      ({ searchParams }) => searchParams.get("by") === "principal" && searchParams.get("show") === "requests",
    );
    await rest(page);
    const legend = page.getByRole("figure", { name: /^Requests by person/ }).getByRole("listitem");
    const name = await legend.first().innerText();
    await legend.first().getByRole("button").click();
    await page.getByRole("list", { name: "Active filters" }).getByText(`person: ${name}`).waitFor();

    const table = page.getByRole("region", { name: "Usage by model" });
    const sorted = table
      .getByRole("columnheader", { name: "Failed" })
      .and(page.locator("[aria-sort=descending]"));
    await table.getByRole("button", { name: "Failed" }).click();
    await sorted.waitFor();
    await page.reload();
    await sorted.waitFor();
    await rest(page);
    const texts = await table.locator("tbody tr[data-index] td:nth-child(4)").allInnerTexts();
    const shares = texts.map((text) => Number.parseFloat(text));
    expect(shares).toEqual(shares.toSorted((left, right) => right - left));
    // A press anywhere on a row is one on its link.
    const model = await table.getByRole("rowheader").first().locator("[title]").innerText();
    await table.locator("tbody tr").first().locator("td").nth(2).click();
    await page.getByRole("list", { name: "Active filters" }).getByText(`model: ${model}`).waitFor();
    await eventually(() => {
      const search = new URL(page.url()).searchParams;
      expect(["principal", "model", "by", "sort"].map((key) => search.get(key))).toEqual([
        name,
        model,
        "principal",
        "-failed",
      ]);
    });
  });

  test("writes costs with their points under one another, and gives a name the same color in another window", async () => {
    const { page } = await visitReport(site, "/?range=all");
    await rest(page);
    const table = page.getByRole("region", { name: "Usage by model" });
    const points = await table.locator("tbody .cost-decimals").evaluateAll((parts) =>
      parts.map((part) => ({
        column: part.closest("td")?.cellIndex,
        left: Math.round(part.getBoundingClientRect().left),
      })),
    );
    const columns = Map.groupBy(points, ({ column }) => column);
    expect(columns.size).toBe(2);
    for (const places of columns.values()) expect(new Set(places.map(({ left }) => left)).size).toBe(1);
    // Dollars have two decimals, which end where the header does.
    const costs = table.locator("tbody tr td:nth-child(6)");
    for (const text of await costs.allInnerTexts())
      expect(text).toMatch(/^(?:<?\$[\d,]+\.\d\d\+?|Unpriced|–)$/);
    const endOf = (part: Locator) => part.evaluate((one) => Math.round(one.getBoundingClientRect().right));
    const header = table.getByRole("columnheader", { name: "Cost", exact: true }).locator("button");
    expect(await endOf(costs.locator("span").first())).toBe((await endOf(header)) - BUTTON_PADDING_PX);

    const before = await readColors(page);
    const own = [...before.values()].filter(
      (fill) => fill.startsWith("var(--color-series-") && !fill.includes("other"),
    );
    expect(own).toHaveLength(8);
    expect(new Set(own).size).toBe(8);
    await page.goto("/?range=24h");
    await page.getByRole("application").first().waitFor();
    await rest(page);
    const shared = [...(await readColors(page))].filter(([name]) => before.has(name));
    expect(shared.length).toBeGreaterThan(3);
    for (const [name, fill] of shared) expect([name, before.get(name)]).toEqual([name, fill]);
  });

  test("saves all detail: the CSV has the filters, and the window in UTC in its name", async () => {
    const { page } = await visitReport(site, "/?range=7d&by=principal");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "All detail" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(
      /^lockport-usage_\d{4}-\d\d-\d\d_\d{4}-\d\d-\d\d(T\d{4})?_UTC\.csv$/,
    );
    const text = await readDownload(download);
    expect(text).toStartWith("principal,provider,model,");
    const rows = text.trim().split("\r\n").slice(1);

    const [person = ""] = rows.at(0)?.split(",") ?? [];
    await page.goto(`/?range=7d&principal=${person}`);
    const [filtered] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "All detail" }).click(),
    ]);
    const own = (await readDownload(filtered)).trim().split("\r\n").slice(1);
    expect(own).toEqual(rows.filter((line) => line.startsWith(`${person},`)));
    expect(own.length).toBeLessThan(rows.length);
  });

  test("leads an admin from unpriced requests to the prices, a member nowhere, and writes no $0 for them", async () => {
    const { page } = await visitReport(site, "/");
    const unpriced = page.getByRole("row").filter({ hasText: "unpriced" });
    expect(await unpriced.first().innerText()).not.toContain("$0");
    await tile(page, "Unpriced").getByRole("link").click();
    await page.waitForURL("**/models/prices");
    // A member is told of them, and may not change prices.
    const member = await browser.newVisitor({ baseUrl: site.url });
    await member.page.goto(await makeLoginLink(site, "linus"));
    await tile(member.page, "Unpriced")
      .getByText(/^[\d,]+$/)
      .waitFor();
    await rest(member.page);
    expect(await member.page.locator("main a[href^='/models/prices']").count()).toBe(0);
  });

  test("says why nothing is there, and leads to where something is", async () => {
    const { page } = await visit(site, "/?since=2001-01-01&until=2001-02-01");
    await page.getByText("No requests in this window").waitFor();
    expect(await tile(page, "Cost").innerText()).not.toContain("$");
    await page.getByRole("button", { name: "Show all time" }).click();
    await page.waitForURL(/range=all/);
    await page.getByRole("rowheader").first().waitFor();
  });
});

describeInBrowser("my usage", () => {
  let site: Site;
  let answer: { readonly status: number; readonly body: string };
  beforeEach(async () => {
    answer = { status: 200, body: '{"usage":{"prompt_tokens":1000,"completion_tokens":10}}' };
    site = await browser.newSite({
      upstream: {
        script: (call) => call.reply(answer),
        models: { fast: "upstream-fast" },
        pricing: { input_tokens: 2, output_tokens: 4 },
      },
    });
    for (let made = 0; made < 3; made += 1) await ask(site, "fast");
  });

  test("tells what one used oneself by model and by day, with failures, times and the order in the address, and leads to one's requests", async () => {
    const { page } = await visitReport(site, "/usage");
    await tile(page, "Requests").getByText("3", { exact: true }).waitFor();
    await tile(page, "Cost").getByText("$0.00612", { exact: true }).waitFor();
    const table = page.getByRole("region", { name: "Your usage by model" });
    const row = table.getByRole("row").filter({ hasText: "fast" });
    await row.getByText("chat", { exact: true }).waitFor();
    await row.getByText("$0.00204").waitFor();
    expect(await row.innerText()).toMatch(
      /fast\s+chat\s+3\s+0%\s+3\.03k\s+\$0\.00612\s+\$0\.00204\s+<?[\d.]+ m?s\s+<?[\d.]+ m?s$/,
    );
    await table.getByRole("button", { name: "Failed" }).click();
    await page.waitForURL(({ searchParams }) => searchParams.get("sort") === "-failed");
    await page.reload();
    await table
      .getByRole("columnheader", { name: "Failed" })
      .and(page.locator("[aria-sort=descending]"))
      .waitFor();
    // A request that failed counts: it has no cost, and the cost of the others per request stays what it is.
    answer = { status: 500, body: "{}" };
    await ask(site, "fast", 500);
    await page.reload();
    await row.getByText("25%").waitFor();
    await row.getByText("$0.00204").waitFor();
    expect(await row.innerText()).toMatch(/fast\s+chat\s+4\s+25%.*\$0\.00612\s+\$0\.00204/s);
    await page.getByRole("figure", { name: "Your cost per day" }).last().waitFor();
    const link = await page.getByRole("link", { name: "My requests" }).getAttribute("href");
    expect(link).toBe("/requests?principal=admin&range=30d");
    await checkAccessibility(page);
    await checkFitsSmall(page);
    await page.setViewportSize({ width: 360, height: 740 });
    // A card has its cost in sight, and nothing lies beside it.
    await table.getByRole("rowheader").getByText("$").waitFor();
    expect(await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  });

  test("leads from answers without usage to the requests, and says nothing of those that failed", async () => {
    answer = { status: 500, body: "{}" };
    await ask(site, "fast", 500);
    const { page } = await visitReport(site, "/");
    await page.getByRole("row").getByText("25%").first().waitFor();
    await rest(page);
    expect(await page.getByText(/ended without usage/).count()).toBe(0);
    answer = { status: 200, body: "{}" };
    await ask(site, "fast");
    await page.reload();
    const hint = page.getByRole("note").filter({ hasText: "1 request ended without usage" });
    await hint.waitFor();
    await checkAccessibility(page);
    await hint.getByRole("link", { name: "Requests" }).click();
    await page.waitForURL(
      ({ pathname, searchParams }) =>
        pathname === "/requests" && searchParams.getAll("outcome").join() === "ok,cancelled",
    );
    // In the window's 1280 pixels, in wider ones, and on a telephone; the page before says it too, while it still stands.
    for (const width of [1280, 1440, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await page.getByRole("row").getByText("Not reported", { exact: true }).waitFor();
    }
    await checkFitsSmall(page);
  });
});

describeInBrowser("an empty installation", () => {
  test("leads an admin to the first request, sees each step by itself, and is then like any other", async () => {
    const site = await browser.newSite({ people: { grace: { preferred_username: "grace" } } });
    const { page } = await visit(site, "/");
    const current = () => page.locator("[aria-current=step]").innerText();
    await page.getByText("0 of 4 done").waitFor();
    expect(await current()).toContain("Add provider");
    expect(await page.getByRole("button", { name: "Dismiss" }).count()).toBe(0);
    expect(await page.getByRole("search").count()).toBe(0);
    await checkAccessibility(page);
    await checkFitsSmall(page);

    const member = await browser.newVisitor({ baseUrl: site.url });
    await signInBySso(member, site, "grace");
    await member.page.goto("/");
    await member.page.getByText("Waiting for an admin").nth(1).waitFor();
    expect(await member.page.getByText("Waiting for an admin").count()).toBe(2);
    expect(await member.page.getByRole("link", { name: "Start" }).count()).toBe(0);

    const upstream = await startUpstream({
      script: (call) => call.reply({ body: '{"usage":{"prompt_tokens":1}}' }),
    });
    try {
      await provide(site.url, await site.adminKey(), {
        name: "lab",
        baseUrl: upstream.baseUrl,
        models: { fast: "upstream-fast" },
      });
      await page.getByText("Waiting for the first request").waitFor();
      await page.getByRole("region", { name: "Shell" }).getByText('"model":"fast"').waitFor();
      await checkAccessibility(page);
      await ask(site, "fast");
      await page.getByText("Lockport is set up").first().waitFor();
      await tile(page, "Requests").getByText("1", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Dismiss" }).click();
      await page.getByText("Lockport is set up").first().waitFor({ state: "detached" });
      await page.reload();
      await page.getByRole("application").first().waitFor();
      expect(await page.getByText("Set up Lockport").count()).toBe(0);
    } finally {
      await upstream.stop();
    }
  });
});

async function ask(site: Site, model: string, status = 200): Promise<void> {
  const response = await callApi(site.url, await site.adminKey(), "POST", "/v1/chat/completions", {
    model,
    messages: [{ role: "user", content: "hello" }],
  });
  expect(response.status).toBe(status);
  await response.arrayBuffer();
}

/** The fill of each name in the legend of the chart. */
async function readColors(page: Page): Promise<ReadonlyMap<string, string>> {
  const entries = await page
    .getByRole("figure", { name: /^Cost by model/ })
    .getByRole("listitem")
    .evaluateAll((items) =>
      items.map(
        (item) => [item.textContent, item.querySelector("rect")?.getAttribute("fill") ?? ""] as const,
      ),
    );
  return new Map(entries);
}

/** The button of a header has room around its text. */
const BUTTON_PADDING_PX = 6;

/** Midnight UTC so many days ago. */
function toSince(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}
