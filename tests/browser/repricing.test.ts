import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { openAtRest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();
const USAGE = { prompt_tokens: 1000, completion_tokens: 200, prompt_tokens_details: { cached_tokens: 400 } };
/** 600 × 2.5 + 400 × 0.25 + 200 × 10 millionths a request: $0.0036. */
const PRICING = { input_tokens: 2.5, output_tokens: 10, cached_input_tokens: 0.25 };

let site: Site;
let tier: string | undefined;
beforeEach(async () => {
  tier = undefined;
  site = await browser.newSite({
    upstream: {
      script: (asked) =>
        asked.reply({
          body: JSON.stringify({
            choices: [{ message: { content: "hi" } }],
            service_tier: tier,
            usage: USAGE,
          }),
        }),
      models: { best: "vendor/best", other: "vendor/other" },
    },
  });
});

async function ask(method: string, path: string, body?: unknown): Promise<any> {
  const response = await callApi(site.url, await site.adminKey(), method, path, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

const use = (model: string) =>
  ask("POST", "/v1/chat/completions", { model, messages: [{ role: "user", content: "hi" }] });

async function readCost(): Promise<number | null> {
  const { total } = await ask("GET", "/stats/breakdown?by=model");
  return total.cost;
}

async function visit(path: string): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  await openAtRest(visitor.page, path);
  return visitor;
}

/** In both themes, on a wide window and on a phone, once SCREENSHOTS says where. */
async function shootAll(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await shoot(page, `${name}-${width}-${colorScheme}`);
    }
    await checkAccessibility(page);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1440, height: 900 });
}

const plan = (page: Page) => page.getByRole("dialog", { name: "Re-price", exact: true });
const details = (page: Page) => page.getByRole("dialog", { name: /^Re-pricing of / });
const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

describeInBrowser("a re-pricing", () => {
  test("of a model is planned, shown by tier and unit in money and requests, applied after a question that says what changes, found by a reload, and taken back", async () => {
    await use("best");
    await use("best");
    tier = "flex";
    await use("best");
    await use("other");
    await ask("PATCH", "/admin/v1/models/best", { pricing: PRICING });
    expect(await readCost()).toBeNull();
    const { page } = await visit("/models?open=best");

    await page.getByRole("link", { name: "Re-price…" }).last().click();
    await plan(page).getByRole("list", { name: "Chosen models" }).getByText("best").waitFor();
    await checkFitsSmall(page);
    await shootAll(page, "repricing-plan");
    await press(page, "Make the plan");
    await details(page)
      .getByText("Nothing is changed yet. 2 requests: unpriced becomes $0.0072 (+$0.0072)")
      .waitFor();
    const table = details(page).getByRole("table");
    await table.getByRole("row", { name: "Input tokens 1,200 2 Unpriced $0.003 $0.003 2 → 0" }).waitFor();
    await table.getByRole("row", { name: "Sum 2 Unpriced $0.0072 $0.0072 2 → 0" }).waitFor();
    // The tier has no price, and keeps none: it changes nothing.
    expect(await table.getByText("flex").count()).toBe(0);
    expect(await readCost()).toBeNull();
    await checkFitsSmall(page);
    await shootAll(page, "repricing-planned");

    await press(page, "Apply");
    const question = page.getByRole("alertdialog", { name: "Apply this re-pricing?" });
    await question
      .getByText(/2 requests: unpriced becomes \$0\.0072 \(\+\$0\.0072\); .* 2 before, 0 after/)
      .waitFor();
    expect(await readCost()).toBeNull();
    await checkFitsSmall(page);
    await shootAll(page, "repricing-question");
    await question.getByRole("button", { name: "Apply" }).click();
    await details(page).getByRole("button", { name: "Take it back" }).waitFor();
    expect(await readCost()).toBeCloseTo(0.0072, 12);

    await page.reload();
    await details(page).getByText("Applied", { exact: true }).waitFor();
    await press(page, "Take it back");
    const back = page.getByRole("alertdialog", { name: "Take this re-pricing back?" });
    await back.getByText("$0.0072 becomes unpriced.").waitFor();
    await back.getByRole("button", { name: "Take it back" }).click();
    await details(page).getByText("Taken back", { exact: true }).waitFor();
    expect(await readCost()).toBeNull();

    // A plan made again has the requests and the models of the former one filled in.
    await press(page, "Plan again");
    await plan(page).getByRole("list", { name: "Chosen models" }).getByText("best").waitFor();
    await page.keyboard.press("Escape");
    await plan(page).waitFor({ state: "detached" });
    const row = page.getByRole("row", { name: /best Taken back all time 2/ });
    await row.waitFor();
    await checkFitsSmall(page);
    await shootAll(page, "repricing-list");
    const { events } = await ask("GET", "/admin/v1/events");
    expect(events.slice(0, 2).map(({ action }: any) => action)).toEqual([
      "repricing.revert",
      "repricing.apply",
    ]);
  });

  test("tells in the fields what is wrong, and keeps what was typed while another one is under way", async () => {
    await use("best");
    const visitor = await visit("/models/repricing");
    const { page } = visitor;
    await page.getByRole("button", { name: "Re-price…" }).first().click();
    await press(page, "Make the plan");
    await plan(page).getByText("Fill in this field").waitFor();
    const models = plan(page).getByRole("combobox", { name: "Models" });
    await models.fill("best");
    await models.press("Enter");
    await plan(page).getByRole("textbox", { name: "Since" }).fill("soon");
    await press(page, "Make the plan");
    await plan(page)
      .getByText(/^Enter a date, or a date and time/)
      .waitFor();
    await plan(page).getByRole("textbox", { name: "Since" }).fill("2026-03-02 12:00");
    await plan(page).getByRole("textbox", { name: "Until" }).fill("2026-03-02");
    await press(page, "Make the plan");
    await plan(page).getByText("Enter a moment after the first one").waitFor();
    await plan(page).getByRole("textbox", { name: "Until" }).fill("");
    // Without a price of today its requests would lose theirs.
    await press(page, "Make the plan");
    await plan(page).getByText("best has no price today: set one first, or leave it out.").first().waitFor();
    expect((await ask("GET", "/admin/v1/repricing")).total).toBe(0);

    await ask("PATCH", "/admin/v1/models/best", { pricing: PRICING });
    visitor.expect(/answered 409$/);
    const refusal = {
      error: {
        message: "Another re-pricing is under way.",
        type: "conflict",
        code: "repricing_running",
        param: null,
      },
    };
    await page.route("**/admin/v1/repricing", async (route) =>
      route.request().method() === "POST" ? route.fulfill({ status: 409, json: refusal }) : route.continue(),
    );
    await press(page, "Make the plan");
    await plan(page)
      .getByText(/^Wait until it is done: Re-pricing under Models shows how far it is/)
      .waitFor();
    expect(await plan(page).getByRole("textbox", { name: "Since" }).inputValue()).toBe("2026-03-02 12:00");
    await page.unroute("**/admin/v1/repricing");
    await press(page, "Make the plan");
    await details(page).waitFor();
    await page.keyboard.press("Escape");
    await details(page).waitFor({ state: "detached" });
  });

  test("that is under way is found by the page when it is opened, with how far it is, until it is done", async () => {
    await use("best");
    await ask("PATCH", "/admin/v1/models/best", { pricing: PRICING });
    const { id } = await ask("POST", "/admin/v1/repricing", {
      prices: { best: { pricing: PRICING } },
      dry_run: true,
    });
    let isRunning = true;
    const { page } = await visit("/models");
    await page.route(/\/admin\/v1\/repricing(?:\/[\w-]+)?(?:\?.*)?$/, async (route) => {
      const response = await route.fetch();
      const found: any = await response.json();
      const late = (row: any) =>
        isRunning ? { ...row, state: "running", progress: { done: 30, total: 120 } } : row;
      const json =
        found.repricings === undefined ? late(found) : { ...found, repricings: found.repricings.map(late) };
      await route.fulfill({ response, json });
    });
    await page.getByRole("link", { name: "Re-pricing", exact: true }).click();
    const bar = page.getByRole("progressbar", { name: "Applying" });
    await bar.first().waitFor();
    expect(await bar.first().getAttribute("aria-valuenow")).toBe("25");
    await page.getByText("30 of 120 requests").first().waitFor();
    await shootAll(page, "repricing-running");
    await page.getByRole("button", { name: "Re-price…" }).first().click();
    await plan(page)
      .getByText(/^Another re-pricing is under way/)
      .waitFor();
    await page.keyboard.press("Escape");
    await press(page, "Show");
    await details(page).getByText("It goes on when this page is closed.").waitFor();
    expect(await details(page).getByRole("button", { name: "Apply" }).count()).toBe(0);
    expect(new URL(page.url()).searchParams.get("open")).toBe(id);
    isRunning = false;
    await details(page).getByRole("button", { name: "Apply" }).waitFor();
    await eventually(async () => expect(await bar.count()).toBe(0));
  });
});
