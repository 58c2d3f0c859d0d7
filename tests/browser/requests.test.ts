import { beforeEach, describe, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { readDownload } from "./support/download.ts";
import { copiedBy } from "./support/clipboard.ts";
import { tabThrough } from "./support/keyboard.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { shoot } from "./support/screenshots.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site, SiteOptions } from "./support/site.ts";
import { checkNoShift } from "./support/vitals.ts";
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
    const first = rows(page).first().getByRole("button");
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
    const { page } = await visit(`/requests?outcome=cancelled&open=${id}`);
    const panel = page.getByRole("dialog", { name: model });
    await panel.getByText("Not in this list").waitFor();
    await panel.getByText(id).waitFor();
    await page.goto("/requests?open=01a20145-e676-72a8-8000-00000000dead");
    await page.getByRole("dialog").getByText("This request is not in this view").waitFor();
    await page.goto("/requests?open=nothing");
    await page.getByRole("dialog").getByText("This request is not in this view").waitFor();
  });

  test("follows the log live with its filters, says how many came, and rests while a row is open", async () => {
    const model = await addModel();
    const other = await addModel();
    await ask(model);
    const { page, context } = await visit(`/requests?model=${model}&range=1h`);
    await page.getByRole("button", { name: "Live" }).click();
    await urlHas(page, (url) => url.searchParams.get("live") === "1");
    await page.getByText("Live: updates every 2 seconds").waitFor();
    await showsRows(page, 1);
    await ask(other);
    await ask(model);
    await page
      .getByRole("status")
      .filter({ hasText: /^1 new request$/ })
      .waitFor();
    await showsRows(page, 2);
    expect(await rows(page).filter({ hasText: other }).count()).toBe(0);
    expect(parameter(page, "model")).toBe(model);

    await rows(page).first().getByRole("button").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    let asked = 0;
    page.on("request", (request) => (asked += request.url().includes("/stats/requests?") ? 1 : 0));
    await ask(model);
    const witness = await context.newPage();
    await witness.goto("/requests?live=1");
    for (let polls = 0; polls < 3; polls += 1) {
      await witness.waitForResponse((response) => response.url().includes("/stats/requests?"));
    }
    await witness.close();
    expect(asked).toBe(0);
    await page.bringToFront();
    await page.keyboard.press("Escape");
    await showsRows(page, 3);

    await page.mouse.move(0, 0);
    const box = await table(page).boundingBox();
    if (box === null) throw new Error("the table has no place");
    await page.mouse.move(box.x + 60, box.y + 60);
    await page.getByText("paused while the pointer is over the table").waitFor();
  });

  test("never shows a filter above rows or bars of before that are not dimmed, and a bar once it takes longer than 150 ms", async () => {
    const model = await addModel();
    await ask(model);
    const { page } = await visit("/requests?range=all");
    await place(page, /^1–100 of/);
    const arrival = Promise.withResolvers<void>();
    await page.route(/\/stats\/(requests|series)\?/, async (route) => {
      await arrival.promise;
      await route.continue();
    });
    const frames = page.evaluate(
      (text) =>
        new Promise<{ dimmed: number; undimmed: number; bar: boolean }>((resolve) => {
          const seen = { dimmed: 0, undimmed: 0, bar: false };
          const look = () => {
            const chips = document.querySelector("[aria-label='Active filters']");
            if (chips?.textContent.includes(text) === true) {
              const shown = [...document.querySelectorAll("main table, main figure")];
              const isDim = (one: Element) => one.closest("[data-outdated]")?.checkVisibility() === true;
              const opacities = [...document.querySelectorAll("[data-outdated]")].map(
                (one) => getComputedStyle(one).opacity,
              );
              if (shown.every(isDim) && opacities.every((opacity) => opacity === "0.5")) seen.dimmed += 1;
              else seen.undimmed += 1;
              const bar = getComputedStyle(document.body, "::before");
              seen.bar ||= bar.position === "fixed" && bar.animationDelay === "0.15s";
            }
            if (seen.dimmed + seen.undimmed >= 20) resolve(seen);
            else requestAnimationFrame(look);
          };
          requestAnimationFrame(look);
        }),
      model,
    );
    await page.getByRole("combobox", { name: "Add a filter" }).fill(model);
    await page.getByRole("option", { name: new RegExp(`^${model}`) }).click();
    expect(await frames).toEqual({ dimmed: 20, undimmed: 0, bar: true });
    arrival.resolve();
    await showsRows(page, 1);
    await page.locator("[data-outdated]").first().waitFor({ state: "detached" });
    await page.unrouteAll({ behavior: "wait" });
  });

  test("takes a brushed stretch of the histogram as its window, and leaves the live tail", async () => {
    const { page } = await visit("/requests?live=1");
    const chart = page.getByRole("application", { name: "Requests by hour and outcome" });
    await chart.waitFor();
    await chart.focus();
    for (const keys of ["End", "ArrowLeft", "Shift+ArrowLeft", "Shift+ArrowLeft", "Enter"]) {
      await page.keyboard.press(keys);
    }
    await urlHas(page, (url) => url.searchParams.has("since") && url.searchParams.has("until"));
    const [since, until] = [parameter(page, "since") ?? "", parameter(page, "until") ?? ""];
    expect(Date.parse(until) - Date.parse(since)).toBe(3 * 3_600_000);
    expect(parameter(page, "live")).toBeNull();
    await page.getByRole("button", { name: "Live", pressed: false }).waitFor();
    await place(page, /of \d/);
    await page.goBack();
    await urlHas(page, (url) => url.searchParams.get("live") === "1");
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
    await rows(page).first().getByRole("button").focus();
    await page.keyboard.press("End");
    await table(page).locator("[data-row-open='499']:focus").waitFor();
    expect(await rows(page).count()).toBeLessThan(80);
    await page.getByRole("button", { name: "Older" }).click();
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

  for (const theme of ["light", "dark"] as const) {
    test(`is accessible, fits small windows and shifts nothing, ${theme}`, async () => {
      const model = await addModel();
      await ask(model);
      const { page } = await visit("/requests", { theme });
      await rows(page).nth(3).waitFor();
      await place(page, /of \d/);
      await checkNoShift(page);
      await checkAccessibility(page, theme);
      if (theme === "light") await checkFitsSmall(page);
      await shoot(page, `requests ${theme}`);
      await rows(page).first().click();
      await page.getByRole("dialog").waitFor();
      await checkAccessibility(page, theme);
      if (theme === "light") await checkFitsSmall(page);
      await shoot(page, `requests open ${theme}`);
    });
  }

  test("is reached by Tab in every part, and in the panel as well", async () => {
    const model = await addModel();
    await ask(model);
    const { page } = await visit(`/requests?model=${model}`);
    await rows(page).first().waitFor();
    await tabThrough(page);
    await rows(page).first().click();
    await page.getByRole("dialog").waitFor();
    await tabThrough(page, { within: "[role=dialog]" });
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
