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

const browser = useBrowser();
const USAGE = { prompt_tokens: 1000, completion_tokens: 200 };

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({
    upstream: {
      script: (asked) =>
        asked.reply({
          body: JSON.stringify({ choices: [{ message: { content: "hi" } }], usage: USAGE }),
        }),
      models: { best: "vendor/best" },
      pricing: { input_tokens: 2, output_tokens: 10 },
    },
  });
  await ask("POST", "/v1/chat/completions", { model: "best", messages: [{ role: "user", content: "hi" }] });
});

async function ask(method: string, path: string, body?: unknown): Promise<any> {
  const response = await callApi(site.url, await site.adminKey(), method, path, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

async function readPricing(): Promise<unknown> {
  const { models } = await ask("GET", "/admin/v1/models");
  return models.find(({ alias }: any) => alias === "best").pricing;
}

async function open(path: string): Promise<Page> {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  await openAtRest(visitor.page, path);
  return visitor.page;
}

/** In both themes, on a wide window and on a phone, once SCREENSHOTS says where. */
async function shootAll(
  page: Page,
  name: string,
  toPart: () => ReturnType<Page["getByRole"]>,
): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await toPart().scrollIntoViewIfNeeded();
      await shoot(page, `${name}-${width}-${colorScheme}`);
    }
    await checkAccessibility(page);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1440, height: 900 });
}

const history = (page: Page) => page.getByRole("region", { name: "Price history" }).getByRole("table");
const isoDay = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

describeInBrowser("the prices of a model", () => {
  test("have their history in its details, the newest first, with pages", async () => {
    for (let price = 3; price <= 12; price += 1)
      await ask("PATCH", "/admin/v1/models/best", { pricing: { input_tokens: price, output_tokens: 10 } });
    const page = await open("/models?open=best");
    await history(page)
      .getByRole("row", { name: /holds Input tokens \$12\.00 Model$/ })
      .waitFor();
    const shown = await history(page).getByRole("row").allInnerTexts();
    expect(shown[1]).toContain("$12.00");
    expect(shown[2]).toContain("$11.00");
    await page.getByText("1 to 8 of 12", { exact: true }).waitFor();
    await checkFitsSmall(page);
    await shootAll(page, "price-history", () => page.getByText("1 to 8 of 12", { exact: true }));
    await page.getByRole("button", { name: "Older" }).click();
    await page.getByText("9 to 12 of 12", { exact: true }).waitFor();
    await history(page)
      .getByRole("row", { name: /holds Output tokens \$10\.00 Model$/ })
      .waitFor();
    await page.getByRole("button", { name: "Newer" }).click();
    await page.getByText("1 to 8 of 12", { exact: true }).waitFor();
  });

  test("may hold from a date to come, are listed until then, and can be taken back alone", async () => {
    const page = await open("/models?open=best");
    const panel = page.getByRole("dialog", { name: "best" });
    await panel.getByRole("textbox", { name: "Input tokens", exact: true }).fill("7");
    await panel.getByRole("button", { name: "From a date" }).click();
    const date = panel.getByRole("textbox", { name: "Date (UTC)" });
    await panel.getByRole("button", { name: "Save changes" }).click();
    await panel.getByText("Fill in this field").waitFor();
    await date.fill("tomorrow");
    await panel.getByText(/^Enter a date, or a date and time/).waitFor();
    await date.fill(isoDay(30));
    await shootAll(page, "price-date", () => date);
    await panel.getByRole("button", { name: "Save changes" }).click();
    await page.getByText(`Prices apply from ${isoDay(30)} 00:00 UTC on.`).waitFor();
    const toCome = panel.getByRole("region", { name: "Prices to come" });
    await toCome.getByText("Input tokens $7, Output tokens $10").waitFor();
    await history(page)
      .getByRole("row", { name: /to come Input tokens \$7\.00 Model$/ })
      .waitFor();
    expect(await readPricing()).toEqual({ input_tokens: 2, output_tokens: 10 });
    // What is taken back is what is to come, and not what holds.
    expect(await page.getByRole("button", { name: "Undo", exact: true }).count()).toBe(0);
    await checkFitsSmall(page);
    await shootAll(page, "price-to-come", () => toCome);
    await toCome.getByRole("button", { name: /^Take back the prices from/ }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Take back" }).click();
    await toCome.waitFor({ state: "detached" });
    expect((await ask("GET", "/admin/v1/pricing/schedule")).total).toBe(0);
    expect(await readPricing()).toEqual({ input_tokens: 2, output_tokens: 10 });
  });

  test("that are dated back say how many requests keep theirs, and lead to a re-pricing of these", async () => {
    const page = await open("/models?open=best");
    const panel = page.getByRole("dialog", { name: "best" });
    await panel.getByRole("textbox", { name: "Input tokens", exact: true }).fill("3");
    await panel.getByRole("button", { name: "From a date" }).click();
    await panel.getByRole("textbox", { name: "Date (UTC)" }).fill(isoDay(-1));
    await panel.getByRole("button", { name: "Save changes" }).click();
    const note = panel.getByText(`1 request since ${isoDay(-1)} (UTC) keeps what it was recorded with.`);
    await note.waitFor();
    expect(await readPricing()).toEqual({ input_tokens: 3, output_tokens: 10 });
    await checkFitsSmall(page);
    await shootAll(page, "price-late", () => panel.getByText(/keeps what it was recorded with/));
    await panel.getByRole("link", { name: "Re-price them…" }).click();
    const plan = page.getByRole("dialog", { name: "Re-price", exact: true });
    await plan.getByRole("list", { name: "Chosen models" }).getByText("best").waitFor();
    expect(await plan.getByRole("textbox", { name: "Since" }).inputValue()).toBe(isoDay(-1));
    await plan.getByRole("button", { name: "As they held", pressed: true }).waitFor();
    await page.getByRole("button", { name: "Make the plan" }).click();
    await page.getByText("Nothing is changed yet. 1 request: $0.004 becomes $0.005 (+$0.001).").waitFor();
    await page.getByText(/, at the prices as they held/).waitFor();
  });

  test("are set with a date from the list of prices as well", async () => {
    const page = await open("/models/prices");
    await page.getByRole("button", { name: "Set price of best" }).click();
    const dialog = page.getByRole("dialog", { name: "Set price" });
    await dialog.getByRole("textbox", { name: /^Price per million/ }).fill("4");
    await dialog.getByRole("button", { name: "From a date" }).click();
    await dialog.getByRole("textbox", { name: "Date (UTC)" }).fill(isoDay(-1));
    await dialog.getByRole("button", { name: "Set price" }).click();
    await page.getByRole("button", { name: "Re-price them…" }).click();
    await page.waitForURL(
      (url) => url.pathname === "/models/repricing" && url.searchParams.get("of") === "best",
    );
    expect(await readPricing()).toEqual({ input_tokens: 4, output_tokens: 10 });
  });
});
