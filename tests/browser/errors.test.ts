import { beforeEach, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { formatDuration, formatMoney, formatPercent } from "../../ui/text/format.ts";
import { callApi } from "../support/installation.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { makeLoginLink } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { Renewal, Visitor } from "./support/visitor.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();

const DEMO = { demo: { days: 14, seed: 1 } } as const;
let site: Site;
/** Six days that are over: nothing that happens meanwhile changes them. */
let time: string;

beforeEach(async () => {
  site = await browser.sharedSite(DEMO);
  const untilMs = Math.floor((site.filled?.untilUs ?? 0) / 86_400_000_000) * 86_400_000;
  const toIso = (ms: number) => new Date(ms).toISOString();
  time = `since=${toIso(untilMs - 6 * 86_400_000)}&until=${toIso(untilMs)}`;
});

interface Counted {
  readonly provider: string;
  readonly model: string | null;
  readonly outcome: string;
  readonly error_kind: string | null;
  readonly requests: number;
  readonly avg_duration_ms: number;
}

async function report(query = ""): Promise<readonly Counted[]> {
  const path = `/stats/errors?${time}&bucket=day${query}`;
  const response = await callApi(site.url, await site.adminKey(), "GET", path);
  return JSON.parse(await response.text()).breakdown;
}

async function read(path: string) {
  const response = await callApi(site.url, await site.adminKey(), "GET", `/stats/errors/${path}`);
  return JSON.parse(await response.text());
}

function count(breakdown: readonly Counted[], ...outcomes: readonly string[]): number {
  return breakdown.reduce((sum, row) => sum + (outcomes.includes(row.outcome) ? row.requests : 0), 0);
}

async function visit(path: string, options: Renewal = {}): Promise<Visitor> {
  const visitor = await browser.sharedVisitor(site, options);
  await visitor.page.goto(path);
  await settled(visitor.page);
  return visitor;
}

/** Answered, and not still showing the answer of before. */
async function settled(page: Page): Promise<void> {
  await page.locator("h1", { hasText: "Errors" }).waitFor();
  await tile(page, "Failure rate").and(page.locator(":not([aria-busy])")).waitFor();
  await page.locator("main [aria-busy=true]").first().waitFor({ state: "detached" });
}

function tile(page: Page, name: string): Locator {
  return page.getByRole("region", { name: "Sums of the window" }).getByRole("group", { name, exact: true });
}

function table(page: Page, name = "Errors by route"): Locator {
  return page.getByRole("region", { name, exact: true });
}

function rows(page: Page, name?: string): Locator {
  return table(page, name).locator("tbody tr[data-index]");
}

function chart(page: Page): Locator {
  return page.getByRole("application", { name: "Requests by day and outcome" });
}

describeInBrowser("the page of errors", () => {
  test("counts failures of all that ended, and cancelled requests apart, as the report does", async () => {
    const breakdown = await report();
    const failed = count(breakdown, "upstream_error", "unreachable");
    const ended = failed + count(breakdown, "ok");
    expect(failed).toBeGreaterThan(20);
    const { page } = await visit(`/errors?${time}`);
    const number = (value: number) => value.toLocaleString("en-US");
    await tile(page, "Failure rate")
      .getByText(`of ${number(ended)}`, { exact: true })
      .waitFor();
    await tile(page, "Failed").getByText(number(failed), { exact: true }).waitFor();
    const cancelled = number(count(breakdown, "cancelled"));
    await tile(page, "Cancelled, not failed").getByText(cancelled, { exact: true }).waitFor();
    // The window before is compared with, and a day has no bar of what went well unless it is asked for.
    await tile(page, "Failed")
      .getByText(/^vs \d+ [A-Z][a-z]{2}/)
      .waitFor();
    const figure = page.getByRole("figure", { name: "Requests by day and outcome" });
    await eventually(async () => {
      expect(await figure.getByRole("listitem").allTextContents()).toEqual([
        "cancelled",
        "upstream error",
        "unreachable",
      ]);
    });
  });

  test("has causes before everything else, with what they cost in time and in money", async () => {
    const breakdown = await report();
    const failed = breakdown.filter(
      ({ outcome }) => outcome === "upstream_error" || outcome === "unreachable",
    );
    const waited = failed.reduce((sum, row) => sum + row.avg_duration_ms * row.requests, 0);
    const { page } = await visit(`/errors?${time}`);
    const answered = page.waitForResponse((response) => response.url().includes("/stats/breakdown"));
    await page.reload();
    const { total } = JSON.parse(await (await answered).text());
    expect(total.requests).toBe(failed.reduce((sum, { requests }) => sum + requests, 0));
    // Nothing priced is no cost of nothing.
    const cost = total.cost === null ? ", with" : ` and cost ${formatMoney(total.cost)}`;
    await page.getByText(`They took ${formatDuration(waited)}${cost}`).waitFor();
    const titles = await page.getByRole("main").getByRole("heading", { level: 2 }).allInnerTexts();
    expect(titles.slice(0, 4)).toEqual([
      "Causes and advice",
      "Client versions that fail more often",
      "Retry storms",
      "Outcomes over time",
    ]);
  });

  test("has since when a client's version fails more often, with what failed before, and leads to these requests", async () => {
    const { clients } = await read(`clients?${time}`);
    const [first] = clients;
    const { page } = await visit(`/errors?${time}`);
    const versions = rows(page, "Client versions that fail more often");
    expect(await versions.count()).toBe(clients.length);
    const cells = await versions.first().getByRole("cell").allTextContents();
    const before = `${formatPercent(first.before.share)}${first.before.of === "client" ? ", other versions" : ""}`;
    expect(cells.slice(0, 3)).toEqual([formatPercent(first.now.share), first.since, before]);
    await versions.first().getByRole("link").click();
    await page
      .getByText(`of ${first.now.failed.toLocaleString("en-US")}`)
      .first()
      .waitFor();
    expect(new URL(page.url()).searchParams.get("client_version")).toBe(first.client);
  });

  test("has storms of retries with their attempts, and leads to exactly these", async () => {
    const { storms } = await read(`retries?${time}`);
    const [first] = storms;
    const { page } = await visit(`/errors?${time}`);
    const storm = rows(page, "Retry storms").first();
    expect(await storm.textContent()).toContain(`${first.principal} · ${first.key_label}`);
    await storm.getByRole("link").click();
    await page.waitForURL((url) => url.pathname === "/requests");
    const log = page.getByRole("region", { name: "Requests", exact: true });
    await eventually(async () => {
      expect(await log.locator("tbody tr[data-index]").count()).toBe(first.attempts);
    });
  });

  test("tells a member of their own storms and versions alone", async () => {
    const { page } = await browser.newVisitor({ baseUrl: site.url });
    await page.goto(await makeLoginLink(site, "linus"));
    await page.getByRole("link", { name: "Errors", exact: true }).waitFor();
    await page.goto(`/errors?${time}`);
    await settled(page);
    await page.getByText("Your requests only.").first().waitFor();
    const storms = await rows(page, "Retry storms").allTextContents();
    expect(storms.filter((text) => !text.startsWith("linus · "))).toEqual([]);
  });

  test("shows what went well on request, and keeps that and the heat map's measure in the address", async () => {
    const { page } = await visit(`/errors?${time}`);
    await page.getByRole("switch", { name: "Include successful" }).click();
    await page.waitForURL((url) => url.searchParams.get("ok") === "1");
    await page.getByRole("button", { name: "All outcomes" }).click();
    await page.waitForURL((url) => url.searchParams.get("heat") === "all");
    await page.reload();
    await settled(page);
    const figure = page.getByRole("figure", { name: "Requests by day and outcome" });
    await figure.getByRole("listitem").filter({ hasText: /^ok$/ }).waitFor();
    const heat = page.getByRole("figure", { name: /^All outcomes by time to the outcome/ });
    await heat.getByRole("button", { name: "Table" }).click();
    expect(await heat.getByRole("columnheader").allTextContents()).toEqual([
      "Provider and model",
      "< 1 s",
      "1–5 s",
      "5–15 s",
      "15–30 s",
      "30–60 s",
      "1–2 min",
      "≥ 2 min",
    ]);
  });

  test("narrows the lists by an outcome of the legend, and the rate stays that of all requests", async () => {
    const breakdown = await report();
    const { page } = await visit(`/errors?${time}`);
    const rate = await tile(page, "Failure rate").textContent();
    const figure = page.getByRole("figure", { name: "Requests by day and outcome" });
    await figure.getByRole("button", { name: "unreachable" }).click();
    await page.waitForURL((url) => url.searchParams.get("outcome") === "unreachable");
    const expected = breakdown.filter(({ outcome }) => outcome === "unreachable");
    await eventually(async () => {
      const named = await rows(page).getByRole("rowheader").allTextContents();
      const outcomes = named.map((text) => /Unreachable502|Upstream error\d+|Cancelled/.exec(text)?.[0]);
      expect(new Set(outcomes)).toEqual(new Set(["Unreachable502"]));
      const kinds = await page.locator("li code").allTextContents();
      expect(new Set(kinds)).toEqual(new Set(expected.map(({ error_kind: kind }) => kind ?? "")));
    });
    await settled(page);
    expect(await tile(page, "Failure rate").textContent()).toBe(rate);
  });

  test("says of each kind what it means and what to do", async () => {
    const { page } = await visit(`/errors?${time}`);
    const all = page.getByRole("button", { name: /^Show all \d+ kinds$/ });
    await page.locator("li code").first().waitFor();
    if (await all.isVisible()) await all.click();
    const kind = page.getByRole("listitem").filter({ hasText: "rate_limit_error" });
    await kind.getByText("The provider's rate limit was hit.").waitFor();
    await kind.getByText(/ask the provider for a higher limit/).waitFor();
  });

  test("opens exactly the requests that a kind, a row and a client tell, in the same window, and leads back", async () => {
    const { page } = await visit(`/errors?${time}&principal=ada`);
    const shown = async () => {
      const place = page.getByRole("navigation", { name: "Pages of requests" }).getByRole("status");
      const said = (await place.filter({ hasText: /of \d/ }).textContent()) ?? "";
      return Number((/of ([\d,]+)/.exec(said)?.[1] ?? "").replaceAll(",", ""));
    };
    const isSameView = (url: URL) =>
      url.pathname === "/requests" &&
      url.searchParams.get("principal") === "ada" &&
      url.search.includes(new URLSearchParams(time).toString().slice(0, 20));
    const back = async () => {
      await page.goBack();
      await settled(page);
    };
    const kinds = page.locator("li").filter({ has: page.locator("code") });
    const first = kinds.first().getByRole("link");
    const counted = Number(/^([\d,]+) request/.exec((await first.textContent()) ?? "")?.[1]);
    expect(counted).toBeGreaterThan(0);
    await first.click();
    await page.waitForURL(isSameView);
    expect(await shown()).toBe(counted);
    await back();

    for (let place = 0; place < Math.min(3, await rows(page).count()); place += 1) {
      const row = rows(page).nth(place);
      const requests = Number(await row.locator("td:nth-child(3)").textContent());
      await row.locator("[data-row-open]").focus();
      await page.keyboard.press("Enter");
      await page.waitForURL(isSameView);
      expect(await shown()).toBe(requests);
      await back();
    }
    const client = rows(page, "Errors by client").first();
    const failed = Number(await client.locator("td:nth-child(3)").textContent());
    await client.click();
    await page.waitForURL(isSameView);
    expect(await shown()).toBe(failed);
  });

  test("narrows the window by keyboard to a bar, and by a cell of the heat map to its provider and model", async () => {
    const { page } = await visit(`/errors?${time}`);
    await chart(page).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => !time.includes(`until=${url.searchParams.get("until")}`));
    const { searchParams } = new URL(page.url());
    const spanMs = Date.parse(searchParams.get("until") ?? "") - Date.parse(searchParams.get("since") ?? "");
    expect(spanMs).toBe(86_400_000);
    await page.goBack();
    await settled(page);
    await page.getByRole("application", { name: /by time to the outcome/ }).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.searchParams.has("provider") && url.searchParams.has("model"));
    await page.getByRole("button", { name: /^Remove the filter model:/ }).waitFor();
  });

  test("says that nothing failed, or that nothing was there to fail, and leads on", async () => {
    const { page } = await visit(`/errors?${time}&model=no-such-model`);
    await page.getByText("No request matches these filters").waitFor();
    expect(await rows(page).count()).toBe(0);
    await tile(page, "Failure rate").getByText("–").waitFor();
    await page.locator("main").getByRole("button", { name: "Clear filters" }).last().click();
    await rows(page).first().waitFor();
    await page.goto(`/errors?${time}&outcome=ok`);
    await page.getByText("The filter selects successful requests").waitFor();
  });

  test("says that a report was cut short", async () => {
    const visitor = await browser.sharedVisitor(site);
    // The server's own answer, with the word that it says of a report of more rows than it sends.
    await visitor.page.route("**/stats/errors?**", async (asked) => {
      const response = await asked.fetch();
      await asked.fulfill({ response, headers: { ...response.headers(), "x-proxy-truncated": "true" } });
    });
    await visitor.page.goto(`/errors?${time}`);
    await visitor.page.getByRole("note").filter({ hasText: "The report is truncated" }).waitFor();
    await visitor.page.unrouteAll({ behavior: "wait" });
  });
});
