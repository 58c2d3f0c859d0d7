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
const USAGE = { prompt_tokens: 1000, completion_tokens: 200, prompt_tokens_details: { cached_tokens: 400 } };

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({
    upstream: {
      script: (asked) =>
        asked.reply({
          body: JSON.stringify({ choices: [{ message: { content: "hi" } }], usage: USAGE }),
        }),
      models: { best: "vendor/best" },
      pricing: { input_tokens: 2.5, output_tokens: 10, cached_input_tokens: 0.25 },
    },
  });
  await ask("POST", "/admin/v1/models", {
    alias: "small",
    target: "best",
    pricing: { input_tokens: 0.25, output_tokens: 1, cached_input_tokens: 0.025 },
  });
  await ask("POST", "/admin/v1/providers", { name: "bare", base_url: "http://127.0.0.1:1/v1" });
  await ask("POST", "/admin/v1/models", {
    alias: "partial",
    provider: "bare",
    upstream_name: "x",
    pricing: { input_tokens: 1 },
  });
  await ask("POST", "/v1/chat/completions", { model: "best", messages: [{ role: "user", content: "hi" }] });
});

async function ask(method: string, path: string, body?: unknown): Promise<any> {
  const response = await callApi(site.url, await site.adminKey(), method, path, body);
  expect(response.ok).toBe(true);
  return JSON.parse(await response.text());
}

async function open(path: string): Promise<Page> {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  await openAtRest(visitor.page, path);
  return visitor.page;
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

describeInBrowser("what if a model were another one", () => {
  test("has its costs by unit and in sum at the other's prices, and no difference where that one lacks a price", async () => {
    const page = await open("/models?open=best");
    await page.getByRole("link", { name: "What if…" }).click();
    await page.getByRole("heading", { level: 1, name: "What if" }).waitFor();
    await page.getByText("no forecast").waitFor();
    expect(await page.getByRole("combobox", { name: "Model", exact: true }).inputValue()).toBe("best");
    const other = page.getByRole("combobox", { name: "Other model" });
    await other.fill("small");
    await other.press("Enter");
    const costs = page.getByRole("table");
    // 600 input tokens at the full rate, 400 from a cache.
    await costs.getByRole("row", { name: "Input tokens 600 $0.0015 $0.00015 −$0.00135" }).waitFor();
    await costs.getByRole("row", { name: "1 request $0.0036 $0.00036 −$0.00324" }).waitFor();
    await checkFitsSmall(page);
    await shootAll(page, "what-if");

    await other.fill("partial");
    await other.press("Enter");
    await costs.getByRole("row", { name: "Output tokens 200 $0.002 Unpriced" }).waitFor();
    await page.getByText("partial has no price for some of it, which is not a cost of $0").waitFor();
    await shootAll(page, "what-if-partial");
    // A name that no model has is not asked for.
    await other.fill("nobody");
    await costs.waitFor({ state: "detached" });
  });

  test("is asked of several models at once in any window, all of which the address keeps", async () => {
    await ask("POST", "/v1/chat/completions", {
      model: "small",
      messages: [{ role: "user", content: "hi" }],
    });
    const page = await open("/models/what-if");
    const fill = async (name: string, model: string) => {
      const field = page.getByRole("combobox", { name, exact: true });
      await field.fill(model);
      await field.press("Enter");
    };
    await fill("Model", "best");
    await fill("Other model", "small");
    await page.getByRole("button", { name: "Add model" }).click();
    await fill("Model 2", "best");
    await page.getByText("This model is in a row above").waitFor();
    await fill("Model 2", "small");
    await fill("Other model 2", "best");
    const costs = page.getByRole("table");
    await costs.getByText("small → best").waitFor();
    // What the one would save, the other would cost.
    await costs.getByRole("row", { name: "1 request $0.0036 $0.00036 −$0.00324" }).waitFor();
    await costs.getByRole("row", { name: "1 request $0.00036 $0.0036 $0.00324" }).waitFor();
    await costs.getByRole("row", { name: "2 requests $0.00396 $0.00396 $0.00" }).waitFor();
    await checkFitsSmall(page);
    await shootAll(page, "what-if-two");
    await page.reload();
    await costs.getByRole("row", { name: "2 requests" }).waitFor();
    await page.getByRole("button", { name: "Remove row 1" }).click();
    await costs.getByText("best → small").waitFor({ state: "detached" });
    expect(new URL(page.url()).searchParams.getAll("pair")).toEqual(["small>best"]);

    await openAtRest(page, "/models/what-if?pair=best%3Esmall&since=2020-01-01&until=2020-02-01");
    await page.getByText("Nothing was used of best in this window.").waitFor();
    await page.getByRole("button", { name: /^Window: / }).click();
    await page.getByRole("button", { name: "Last 7 days" }).click();
    await costs.getByRole("row", { name: "1 request" }).waitFor();
    expect(new URL(page.url()).searchParams.getAll("pair")).toEqual(["best>small"]);
  });
});

describeInBrowser("a prompt cache", () => {
  test("has its share and what it saved on the overview, and in the details of a request", async () => {
    const page = await open("/");
    const note = page.getByRole("note", { name: "Prompt caches" });
    await note
      .getByText("40% of the input was read from prompt caches. That saved $0.0009 against")
      .waitFor();
    await note.scrollIntoViewIfNeeded();
    await shootAll(page, "cache-overview");
    const { requests } = await ask("GET", "/stats/requests");
    await openAtRest(page, `/requests?open=${requests[0].id}`);
    await page.getByText("40% of the input was read from the provider’s cache. That saved $0.0009").waitFor();
    await shootAll(page, "cache-request");
  });
});
