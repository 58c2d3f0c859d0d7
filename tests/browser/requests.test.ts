import { beforeEach, describe, expect, test } from "bun:test";
import type { BrowserContext, Locator, Page, Request } from "playwright-core";
import { callApi } from "../support/installation.ts";
import { startResponsesProvider } from "../support/responses-provider.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { readDownload } from "./support/download.ts";
import { copiedBy } from "./support/clipboard.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site, SiteOptions } from "./support/site.ts";
import type { Renewal, Visitor } from "./support/visitor.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();

const ANSWER = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." } }],
  usage: { prompt_tokens: 1000, completion_tokens: 200, prompt_tokens_details: { cached_tokens: 400 } },
});
const LAB_PRICES = { input_tokens: 2.5, output_tokens: 10, cached_input_tokens: 0.25 };
const FORMULA = "=1+1";

const LAB = {
  demo: { days: 3, seed: 1 },
  upstream: {
    script: (call) => call.reply({ headers: ["content-type: application/json"], body: ANSWER }),
    models: { "lab-model": "lab-upstream" },
    pricing: LAB_PRICES,
  },
} satisfies SiteOptions;

let site: Site;
let key: string;

async function startLab(): Promise<void> {
  site = await browser.sharedSite(LAB);
  key = await site.adminKey();
}

/** A model that only this test asks, and no other try of it. */
async function addModel(): Promise<string> {
  const alias = `lab-${Bun.randomUUIDv7()}`;
  const model = { alias, provider: "lab", upstream_name: "lab-upstream", pricing: LAB_PRICES };
  const response = await callApi(site.url, key, "POST", "/admin/v1/models", model);
  expect(response.status).toBe(201);
  return alias;
}

/** A request that is in the log when this is fulfilled. */
async function ask(model: string, headers: Record<string, string> = {}): Promise<void> {
  const before = await countRequests(model);
  const body = { model, messages: [{ role: "user", content: "Say hello." }] };
  const response = await callApi(site.url, key, "POST", "/v1/chat/completions", body, headers);
  await response.text();
  expect(response.status).toBe(200);
  await eventually(async () => expect(await countRequests(model)).toBeGreaterThan(before));
}

async function countRequests(model: string): Promise<number> {
  const response = await callApi(site.url, key, "GET", `/stats/requests?limit=1&model=${model}`);
  return JSON.parse(await response.text()).total;
}

async function visit(path: string, options: Renewal = {}): Promise<Visitor> {
  const visitor = await browser.sharedVisitor(site, options);
  await visitor.page.goto(path);
  await visitor.page.locator("h1", { hasText: "Requests" }).waitFor();
  return visitor;
}

function table(page: Page): Locator {
  return page.getByRole("region", { name: "Requests", exact: true });
}

function rows(page: Page): Locator {
  return table(page).locator("tbody tr[data-index]");
}

function parameter(page: Page, name: string): string | null {
  return new URL(page.url()).searchParams.get(name);
}

/** What the pager says, once it has said it. */
async function place(page: Page, pattern: RegExp): Promise<string> {
  const said = page
    .getByRole("navigation", { name: "Pages of requests" })
    .getByRole("status")
    .filter({ hasText: pattern });
  return (await said.textContent()) ?? "";
}

async function showsRows(page: Page, count: number): Promise<void> {
  await eventually(async () => expect(await rows(page).count()).toBe(count));
}

async function urlHas(page: Page, check: (url: URL) => boolean): Promise<void> {
  await page.waitForURL(check);
}

/** As long as another page takes for so many looks. */
async function passLooks(context: BrowserContext, looks: number): Promise<void> {
  const witness = await context.newPage();
  await witness.goto("/requests");
  for (let passed = 0; passed < looks; passed += 1) {
    await witness.waitForResponse((response) => /after=[^&]/.test(response.url()));
  }
  await witness.close();
}

describeInBrowser("the requests page", () => {
  beforeEach(startLab);

  test("shows one address: filter, window, rows and histogram agree, and a member's view is said to be the team's", async () => {
    const model = await addModel();
    await ask(model);
    const { page } = await visit(`/requests?model=${model}`);
    await page
      .getByText("Requests of the whole team, including failed ones. Content is never stored.")
      .waitFor();
    expect(await place(page, /of \d/)).toMatch(/^1–1 of 1 request, newest first$/);
    await showsRows(page, 1);
    await page.getByRole("button", { name: `Remove the filter model: ${model}` }).click();
    await urlHas(page, (url) => !url.searchParams.has("model"));
    const all = await place(page, /^1–100 of/);
    expect(Number(/of ([\d,]+)/.exec(all)?.[1]?.replace(",", ""))).toBeGreaterThan(100);
    const chart = page.getByRole("figure", { name: "Requests by hour and outcome" });
    await chart.getByRole("button", { name: "Table" }).click();
    await chart.getByRole("columnheader", { name: "failed" }).waitFor();
  });

  test("opens a row by keyboard, spells its cost out to the last digit, steps by j and k, and gives the focus back", async () => {
    const model = await addModel();
    await ask(model);
    await ask(model);
    const { page } = await visit(`/requests?model=${model}`);
    const first = rows(page).first().getByRole("link");
    await first.focus();
    await page.keyboard.press("Enter");
    const panel = page.getByRole("dialog", { name: model });
    await panel.waitFor();
    await urlHas(page, (url) => url.searchParams.has("open"));
    const opened = parameter(page, "open");
    const sum = panel.getByRole("table");
    expect(await sum.getByRole("row", { name: /^Input tokens/ }).textContent()).toBe(
      "Input tokens600$2.50$0.0015",
    );
    expect(await sum.getByRole("row", { name: /^Output/ }).textContent()).toBe(
      "Output tokens200$10.00$0.002",
    );
    expect(await sum.getByRole("row", { name: /^Cached/ }).textContent()).toBe(
      "Cached input tokens400$0.25$0.0001",
    );
    expect(await sum.getByRole("row", { name: /^Sum/ }).textContent()).toEndWith("$0.0036");
    await panel.getByText("reported 1,000 input tokens, and 400 of them read from its cache").waitFor();
    await panel.getByText(/^Content is never stored/).waitFor();
    expect(await page.content()).not.toContain("Say hello.");

    await page.keyboard.press("j");
    await urlHas(page, (url) => url.searchParams.get("open") !== opened);
    await page.keyboard.press("k");
    await urlHas(page, (url) => url.searchParams.get("open") === opened);
    await page.keyboard.press("k");
    expect(parameter(page, "open")).toBe(opened);
    await page.keyboard.press("ArrowRight");
    await urlHas(page, (url) => url.searchParams.get("open") !== opened);
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await urlHas(page, (url) => !url.searchParams.has("open"));
    await page.locator("[data-row-open='1']:focus").waitFor();
  });

  test("says of an answer in the background that it is pending, and what it used once its id was asked for", async () => {
    const provider = await startResponsesProvider();
    try {
      const model = `background-${Bun.randomUUIDv7()}`;
      const made = { name: model, base_url: provider.baseUrl };
      await callApi(site.url, key, "POST", "/admin/v1/providers", made);
      const binding = { alias: model, provider: model, upstream_name: "u", capabilities: ["responses"] };
      await callApi(site.url, key, "POST", "/admin/v1/models", { ...binding, pricing: LAB_PRICES });
      const asked = { model, input: "Say hello.", background: true };
      const answer = await callApi(site.url, key, "POST", "/v1/responses", asked);
      const { id } = JSON.parse(await answer.text());
      await eventually(async () => expect(await countRequests(model)).toBe(1));
      const { page } = await visit(`/requests?model=${model}`);
      const row = table(page).getByRole("row").filter({ hasText: "Pending" });
      await row.waitFor();
      expect(await table(page).getByText("Not reported").count()).toBe(0);
      expect(await table(page).getByText("$").count()).toBe(0);
      await row.click();
      await page.getByText("What it used is told, and priced, when it is asked for by its id.").waitFor();

      provider.made.get(id)!.status = "completed";
      expect((await callApi(site.url, key, "GET", `/v1/responses/${id}`)).status).toBe(200);
      await page.reload();
      await table(page).getByText("$0.00").first().waitFor();
      expect(await table(page).getByText("Pending").count()).toBe(0);
    } finally {
      await provider.stop();
    }
  });

  test("leaves the list in use beside an open request: a press shows another, arrows step, and a tab of its own shows the same", async () => {
    const model = await addModel();
    for (let made = 0; made < 3; made += 1) await ask(model);
    const { page, context } = await visit(`/requests?model=${model}`);
    await rows(page).nth(2).waitFor();
    const history = await page.evaluate(() => window.history.length);
    await rows(page).nth(0).click();
    const panel = page.getByRole("dialog", { name: model });
    await panel.getByText("1 of 3").waitFor();
    // Nothing of the page is covered or kept from being used.
    const [edge, beside] = await Promise.all([table(page).boundingBox(), panel.boundingBox()]);
    expect((edge?.x ?? 0) + (edge?.width ?? 0)).toBeLessThanOrEqual(beside?.x ?? 0);
    expect(await panel.getAttribute("aria-modal")).toBe("false");
    await rows(page).nth(1).click();
    await panel.getByText("2 of 3").waitFor();
    await rows(page).nth(1).getByRole("link").focus();
    await page.keyboard.press("ArrowDown");
    await panel.getByText("3 of 3").waitFor();
    await page.keyboard.press("k");
    await panel.getByText("2 of 3").waitFor();
    await page.locator("[data-row-open='1']:focus").waitFor();
    // One step back leads to the list, however many were looked at.
    expect(await page.evaluate(() => window.history.length)).toBe(history + 1);

    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await urlHas(page, (url) => !url.searchParams.has("open"));
    for (const target of [rows(page).nth(1).getByRole("link"), rows(page).nth(1).locator("td").first()]) {
      const [tab] = await Promise.all([context.waitForEvent("page"), target.click({ button: "middle" })]);
      await tab.getByRole("dialog", { name: model }).getByText("2 of 3").waitFor();
      await tab.close();
      expect(parameter(page, "open")).toBeNull();
    }
  });

  test("is sorted from its headers, by the server and in the address, and is followed only with the newest first", async () => {
    const { page } = await visit("/requests?range=all");
    await place(page, /newest first$/);
    for (const [header, order, said, read] of [
      ["Cost", "cost", "most expensive first", "cost"],
      ["Duration", "duration", "slowest first", "duration_ms"],
      ["Time (UTC)", "oldest", "oldest first", "ts"],
    ] as const) {
      await page.goto("/requests?range=all");
      await table(page).getByRole("button", { name: header }).click();
      await urlHas(page, (url) => url.searchParams.get("order") === order);
      await place(page, new RegExp(`${said}$`));
      const sorted = order === "oldest" ? "ascending" : "descending";
      await table(page).locator(`th[aria-sort=${sorted}]`).filter({ hasText: header }).waitFor();
      const response = await callApi(site.url, key, "GET", `/stats/requests?order=${order}&limit=3`);
      const { requests } = JSON.parse(await response.text());
      expect(requests.map((row: never) => row[read])).toEqual(
        requests
          .map((row: never) => row[read])
          .toSorted((left: never, right: never) => (left < right ? 1 : -1) * (order === "oldest" ? -1 : 1)),
      );
      await eventually(async () =>
        expect(await rows(page).nth(2).locator("[data-row-id]").getAttribute("data-row-id")).toBe(
          requests[2].id,
        ),
      );
      expect(await page.getByRole("button", { name: "Pause" }).count()).toBe(0);
    }
    await table(page).getByRole("button", { name: "Time (UTC)" }).click();
    await urlHas(page, (url) => !url.searchParams.has("order"));
    await page.getByRole("button", { name: "Pause" }).waitFor();
  });

  test("shows the columns that this browser chose, and as many as fit until it has", async () => {
    const model = await addModel();
    await ask(model, { "x-proxy-tags": "app:columns" });
    const { page } = await visit(`/requests?model=${model}`);
    await rows(page).first().waitFor();
    const headers = () => table(page).getByRole("columnheader").allTextContents();
    const fitting = await headers();
    expect(fitting).not.toContain("Tags");
    await page.getByRole("button", { name: "Columns" }).click();
    const choice = page.getByRole("dialog", { name: "Columns" });
    await choice.getByRole("checkbox", { name: "Tags" }).click();
    await choice.getByRole("checkbox", { name: "Outcome" }).click();
    await rows(page).first().getByText("app:columns").waitFor();
    await checkAccessibility(page);
    await page.reload();
    await rows(page).first().getByText("app:columns").waitFor();
    expect(await headers()).toEqual([...fitting.filter((name) => name !== "Outcome"), "Tags"]);
    await page.getByRole("button", { name: "Columns" }).click();
    await choice.getByRole("button", { name: "As many as fit" }).click();
    await eventually(async () => expect(await headers()).toEqual(fitting));
  });

  test("filters by what an open request says, and copies the request without its content", async () => {
    const other = await addModel();
    await ask(other, { "x-proxy-tags": "app:requests-test" });
    const { page } = await visit(`/requests?model=${other}`);
    await rows(page).first().click();
    const panel = page.getByRole("dialog");
    const copied = JSON.parse(
      await copiedBy(page, () => panel.getByRole("button", { name: "Copy as JSON" }).click()),
    );
    expect(copied).toMatchObject({ model: other, units: { input_tokens: 1000 }, cost: 0.0036 });
    expect(await copiedBy(page, () => panel.getByRole("button", { name: "Copy id" }).click())).toBe(
      copied.id,
    );
    await panel.getByRole("button", { name: "Filter by tag app:requests-test" }).click();
    await urlHas(page, (url) => url.searchParams.get("tag") === "app:requests-test");
    await panel.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Remove the filter tag: app:requests-test" }).waitFor();
    expect(parameter(page, "model")).toBe(other);
  });

  test("opens a request by its address also where the view does not have it, and says so of one that nobody has", async () => {
    const model = await addModel();
    await ask(model);
    const response = await callApi(site.url, key, "GET", `/stats/requests?limit=1&model=${model}`);
    const [{ id }] = JSON.parse(await response.text()).requests;
    const visitor = await visit(`/requests?outcome=cancelled&open=${id}`);
    const { page } = visitor;
    visitor.expect(/^request: GET .*\/stats\/requests\/.* answered 404$/);
    const panel = page.getByRole("dialog", { name: model });
    await panel.getByText("Not in this list").waitFor();
    await panel.getByText(id).waitFor();
    await page.goto("/requests?open=01a20145-e676-72a8-8000-00000000dead");
    await page.getByRole("dialog").getByText("This request is not in this view").waitFor();
    await page.goto("/requests?open=nothing");
    await page.getByRole("dialog").getByText("This request is not in this view").waitFor();
  });

  test("follows the log by itself, with its filters; rows, total and bars agree, and a look weighs 2 kB at most", async () => {
    const model = await addModel();
    const other = await addModel();
    await ask(model);
    const { page, context } = await visit(`/requests?model=${model}`);
    await page.getByText("Updated just now").waitFor();
    await showsRows(page, 1);
    const pages: string[] = [];
    const looks: Request[] = [];
    page.on("requestfinished", (request) => {
      if (/after=[^&]/.test(request.url())) looks.push(request);
      else if (request.url().includes("/stats/")) pages.push(request.url());
    });
    await eventually(() => expect(looks.length).toBeGreaterThan(1));
    for (const look of looks.splice(0)) {
      const sizes = await look.sizes();
      expect(Object.values(sizes).reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(2048);
    }
    await ask(other);
    await ask(model);
    await showsRows(page, 2);
    expect(await rows(page).filter({ hasText: other }).count()).toBe(0);
    expect(await place(page, /of \d/)).toBe("1–2 of 2 requests, newest first");
    const chart = page.getByRole("figure", { name: "Requests by hour and outcome" });
    await chart.getByRole("button", { name: "Table" }).click();
    const counted = await chart.locator("tbody td:last-child").allTextContents();
    expect(counted.reduce((sum, text) => sum + Number(text), 0)).toBe(2);
    // Neither the page nor its bars were asked for again.
    expect(pages).toEqual([]);
    expect(parameter(page, "live")).toBeNull();

    await page.getByRole("button", { name: "Pause" }).click();
    await urlHas(page, (url) => url.searchParams.get("live") === "0");
    await page.getByText("Paused").waitFor();
    const before = looks.length;
    await ask(model);
    await passLooks(context, 3);
    expect(looks.length).toBeLessThanOrEqual(before + 1);
    await page.bringToFront();
    await showsRows(page, 2);
    await page.getByRole("button", { name: "Resume" }).click();
    await showsRows(page, 3);
  });

  test("holds what is being read where it is, and tells how many came meanwhile; a press shows them", async () => {
    const model = await addModel();
    await ask(model);
    const { page } = await visit(`/requests?model=${model}`);
    await rows(page).first().click();
    const panel = page.getByRole("dialog", { name: model });
    await panel.getByText("1 of 1").waitFor();
    await ask(model);
    const pill = page.getByRole("button", { name: "1 new" });
    await pill.waitFor();
    expect(await rows(page).count()).toBe(1);
    await panel.getByText("1 of 1").waitFor();
    await pill.click();
    await showsRows(page, 2);
    await panel.getByText("2 of 2").waitFor();
    await pill.waitFor({ state: "detached" });

    // In a list that is scrolled, too, however far.
    for (const top of [600, 1500]) {
      await page.goto("/requests?range=all");
      await rows(page).nth(10).waitFor();
      await table(page).evaluate((region, px) => region.scrollTo({ top: px }), top);
      await ask(model);
      await pill.waitFor();
      const first = await rows(page).first().getAttribute("data-index");
      await pill.click();
      await rows(page).first().filter({ hasText: model }).waitFor();
      expect(Number(first)).toBeGreaterThan(0);
      expect(await table(page).evaluate((region) => region.scrollTop)).toBe(0);
    }
  });

  test("stops looking in a tab that is not seen, and looks less often while the server refuses", async () => {
    const model = await addModel();
    const visitor = await visit(`/requests?model=${model}`);
    const { page } = visitor;
    await page.getByText("Updated just now").waitFor();
    visitor.expect(/answered 503/);
    const looks: number[] = [];
    await page.route(/after=[^&]/, async (route) => {
      looks.push(performance.now());
      await route.fulfill({ status: 503, contentType: "application/json", body: "{}" });
    });
    await eventually(() => expect(looks.length).toBe(2));
    const [first = 0, second = 0] = looks;
    // Twice the time between two looks that are answered.
    expect(second - first).toBeGreaterThan(3_500);
    await page.getByText(/^No answer for \d+ s$/).waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await page.evaluate(() => {
      Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    let seen = 0;
    page.on("request", (request) => (seen += request.url().includes("after=") ? 1 : 0));
    await passLooks(visitor.context, 3);
    expect(seen).toBe(0);
    await page.bringToFront();
    await page.evaluate(() => {
      Object.defineProperty(document, "visibilityState", { value: "visible", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await eventually(() => expect(seen).toBeGreaterThan(0));
  });

  test("takes a brushed stretch of the histogram as its window, which gets nothing new; Live leads back", async () => {
    const { page } = await visit("/requests");
    const chart = page.getByRole("application", { name: "Requests by hour and outcome" });
    await chart.waitFor();
    await chart.focus();
    for (const keys of ["End", "ArrowLeft", "Shift+ArrowLeft", "Shift+ArrowLeft", "Enter"]) {
      await page.keyboard.press(keys);
    }
    await urlHas(page, (url) => url.searchParams.has("since") && url.searchParams.has("until"));
    const [since, until] = [parameter(page, "since") ?? "", parameter(page, "until") ?? ""];
    expect(Date.parse(until) - Date.parse(since)).toBe(3 * 3_600_000);
    await place(page, /of \d/);
    expect(await page.getByRole("button", { name: "Pause" }).count()).toBe(0);
    await page.getByRole("button", { name: "Live", exact: true }).click();
    await urlHas(page, (url) => !url.searchParams.has("until"));
    await page.getByRole("button", { name: "Pause" }).waitFor();
  });

  test("saves every row of its filters as CSV, formulas defused, under a name with the UTC window", async () => {
    const model = await addModel();
    await ask(model, { "user-agent": FORMULA });
    const { page } = await visit("/requests?range=all");
    const total = Number(/of ([\d,]+)/.exec(await place(page, /of \d/))?.[1]?.replace(",", ""));
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(
      /^lockport-requests_beginning_\d{4}-\d\d-\d\dT\d{4}_UTC\.csv$/,
    );
    const lines = (await readDownload(download)).trimEnd().split("\r\n");
    expect(lines).toHaveLength(total + 1);
    expect(lines[0]).toStartWith("id,ts,principal,");
    expect(lines.some((line) => line.includes(`,'${FORMULA},`))).toBe(true);
    expect(lines.some((line) => line.includes(`,${FORMULA},`))).toBe(false);
    await page.getByText(/^Saved lockport-requests/).waitFor();

    await page.goto(`/requests?range=all&model=${model}&outcome=ok`);
    const filtered = /of ([\d,]+)/.exec(await place(page, /of \d/))?.[1];
    const [second] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    const few = (await readDownload(second)).trimEnd().split("\r\n");
    expect(few).toHaveLength(Number(filtered) + 1);
  });

  test("keeps 500 rows within reach and few of them in the document", async () => {
    const { page } = await visit("/requests?range=all&rows=500");
    await place(page, /^1–500 of/);
    await table(page).locator("table[aria-rowcount='501']").waitFor();
    expect(await rows(page).count()).toBeLessThan(80);
    await rows(page).first().getByRole("link").focus();
    await page.keyboard.press("End");
    await table(page).locator("[data-row-open='499']:focus").waitFor();
    expect(await rows(page).count()).toBeLessThan(80);
    await page.getByRole("button", { name: "Next", exact: true }).click();
    await place(page, /^501–/);
    await urlHas(page, (url) => url.searchParams.get("page") === "1");
  });

  test("says what to do when there is nothing: clear the filters, look further back, or make the first request", async () => {
    const { page } = await visit("/requests?model=nobody-has-this");
    await page.getByText("No request matches these filters").waitFor();
    await table(page).getByRole("button", { name: "Clear filters" }).click();
    await place(page, /^1–100 of/);
    await page.goto("/requests?since=2001-01-01&until=2001-01-02");
    await page.getByText("No requests in this window").last().waitFor();
    await page.getByRole("button", { name: "Show all time" }).click();
    await place(page, /^1–100 of/);
  });
});

describe("an installation that nobody has used", () => {
  describeInBrowser("its requests page", () => {
    test("shows how to make the first request, and the way to a key", async () => {
      const fresh = await browser.newSite();
      const visitor = await browser.newVisitor({ baseUrl: fresh.url });
      await signInAsAdmin(visitor, fresh);
      await visitor.page.goto("/requests");
      await visitor.page.getByText("No requests yet").waitFor();
      await visitor.page.getByText("/v1/chat/completions").waitFor();
      await checkAccessibility(visitor.page);
      await visitor.page.getByRole("link", { name: "Create a key" }).click();
      await visitor.page.waitForURL("**/keys");
    });
  });
});
