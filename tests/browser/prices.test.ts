import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { FEED_ENTRIES_MAX } from "#catalog/feed.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { Visitor, VisitorOptions } from "./support/visitor.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();
const USAGE = { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 40 } };

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({
    upstream: {
      script: (call) =>
        call.reply({ body: JSON.stringify({ choices: [{ message: { content: "hi" } }], usage: USAGE }) }),
      models: { own: "vendor/own", fed: "vendor/fed", gone: "vendor/gone" },
    },
  });
  await ask("PATCH", "/admin/v1/models/own", { pricing: { input_tokens: 1 } });
  await ask("POST", "/admin/v1/models", { alias: "name", target: "own" });
  await ask("POST", "/admin/v1/pricing", {
    version: "first",
    entries: [
      { model: "vendor/fed", unit: "input_tokens", price_per_million: 3 },
      { model: "vendor/fed", unit: "output_tokens", price_per_million: 4 },
    ],
  });
  for (const model of ["own", "fed", "gone"]) {
    await ask("POST", "/v1/chat/completions", { model, messages: [{ role: "user", content: "hi" }] });
  }
  await ask("DELETE", "/admin/v1/models/gone");
});

async function ask(method: string, path: string, body?: unknown): Promise<any> {
  const response = await fetch(site.url + path, {
    method,
    headers: { authorization: `Bearer ${await site.adminKey()}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(response.ok).toBe(true);
  return await response.json();
}

/** The prices that are kept under a name, by unit. */
async function readKept(name: string): Promise<Record<string, number>> {
  const { entries } = await ask("GET", "/admin/v1/pricing");
  const own = entries.filter((entry: { model: string }) => entry.model === name);
  return Object.fromEntries(
    own.map((entry: { unit: string; price_per_million: number }) => [entry.unit, entry.price_per_million]),
  );
}

async function open(options: Partial<VisitorOptions> = {}): Promise<Visitor> {
  const visitor = await browser.newVisitor({ baseUrl: site.url, ...options });
  await signInAsAdmin(visitor, site);
  await visitor.page.goto("/models/prices");
  await visitor.page.getByRole("heading", { name: "Prices per million" }).waitFor();
  return visitor;
}

const missing = (page: Page) => page.getByRole("region", { name: "Used without a price" });
/** By its title: a message that comes and goes has the same role. */
const dialog = (page: Page) =>
  page.getByRole("dialog", { name: /^(?:Load prices|Review changes|Prices loaded|Set price)$/ });

async function drop(page: Page, value: unknown, name = "prices.json"): Promise<void> {
  await page.getByRole("button", { name: "Load prices" }).click();
  const buffer = Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
  await page.locator('input[type="file"]').setInputFiles({ name, mimeType: "application/json", buffer });
}

async function setPrice(page: Page, unit: string, name: string, price: string): Promise<void> {
  await page.getByRole("button", { name: `Set price for ${unit} of ${name}`, exact: true }).click();
  await page.getByRole("textbox", { name: "Price per million tokens" }).fill(price);
  await page.keyboard.press("Enter");
  await page.getByText(`Price set for ${name}`).first().waitFor();
  await dialog(page).waitFor({ state: "detached" });
}

describeInBrowser("what is used without a price", () => {
  test("is listed by unit, deleted names too, and what has a price under any name is not", async () => {
    const { page } = await open();
    await eventually(async () => {
      const lines = await missing(page).locator("tbody tr").allInnerTexts();
      const pairs = lines.map((line) => line.replaceAll(/\s+/g, " ").replace(/ Set price$/, "")).sort();
      expect(pairs).toEqual([
        "fed Cached input tokens 40 1",
        "gone no model Cached input tokens 40 1",
        "gone no model Input tokens 60 1",
        "gone no model Output tokens 20 1",
        "own Cached input tokens 40 1",
        "own Output tokens 20 1",
      ]);
    });
    await page.getByText("past requests stay unpriced").waitFor();
  });

  test("gets a price without another unit losing its own: set with the model, from a feed, or of a name that is gone", async () => {
    const { page } = await open();
    await setPrice(page, "output tokens", "own", "2.5");
    expect(await readKept("own")).toEqual({ input_tokens: 1, output_tokens: 2.5 });
    await setPrice(page, "cached input tokens", "fed", "0.5");
    expect(await readKept("fed")).toEqual({ cached_input_tokens: 0.5 });
    const { models } = await ask("GET", "/admin/v1/models?provider=lab");
    expect(models.find(({ alias }: { alias: string }) => alias === "fed").pricing).toEqual({
      input_tokens: 3,
      output_tokens: 4,
      cached_input_tokens: 0.5,
    });
    await setPrice(page, "input tokens", "gone", "0");
    expect(await readKept("gone")).toEqual({ input_tokens: 0 });
    await page
      .getByRole("button", { name: "Set price for output tokens of own" })
      .waitFor({ state: "detached" });
    const { requests } = await ask("GET", "/stats/requests?model=own");
    expect(requests[0].unit_prices.output_tokens).toBeNull();
  });

  test("is refused a price finer than is kept, with the server's sentence and code", async () => {
    const visitor = await open();
    const { page } = visitor;
    visitor.expect(/400/);
    await page.getByRole("button", { name: "Set price for cached input tokens of own" }).click();
    await page.getByRole("textbox", { name: "Price per million tokens" }).fill("0.0000001");
    await page.keyboard.press("Enter");
    await dialog(page).getByRole("alert").getByText("invalid_pricing").waitFor();
    expect(await readKept("own")).not.toHaveProperty("cached_input_tokens");
  });
});

describeInBrowser("a pricing feed", () => {
  test("is dropped, shown beside the prices of now, and changes nothing before it is loaded", async () => {
    const { page } = await open();
    await drop(page, {
      version: "second",
      entries: [
        { model: "vendor/fed", unit: "input_tokens", price_per_million: 3.3 },
        { model: "vendor/fed", unit: "output_tokens", price_per_unit: 0.000004 },
        { model: "<b>new</b>", unit: "input_tokens", price_per_million: 7 },
      ],
    });
    await dialog(page).getByText("Nothing is loaded yet").waitFor();
    await page.getByRole("button", { name: "Changed 1", exact: true }).waitFor();
    await page.getByRole("button", { name: "Unchanged 1", exact: true }).waitFor();
    const line = await dialog(page)
      .getByRole("row", { name: /vendor\/fed/ })
      .innerText();
    expect(line.replaceAll(/\s+/g, " ")).toBe("vendor/fed Input tokens $3.00 $3.30 +10%");
    await page.getByRole("button", { name: "Added 1" }).click();
    await dialog(page).getByText("<b>new</b>").waitFor();
    await dialog(page).getByText("1 price is for a name that is not in use").waitFor();
    expect(await readKept("vendor/fed")).toEqual({ input_tokens: 3, output_tokens: 4 });
    await checkAccessibility(page);

    await dialog(page).getByRole("button", { name: "Load 3 prices" }).click();
    await dialog(page).getByText("3: 1 changed, 1 added, 1 as before").waitFor();
    await dialog(page).getByRole("button", { name: "Done" }).click();
    expect(await readKept("vendor/fed")).toEqual({ input_tokens: 3.3, output_tokens: 4 });
    await page.getByText("Last feed: second").waitFor();
    await dialog(page).waitFor({ state: "detached" });
    await page.locator(":focus", { hasText: "Load prices" }).waitFor();
  });

  test("with bad entries names their fields, is not loaded with them, and is without them when told so", async () => {
    const { page } = await open();
    await drop(page, {
      entries: [
        { model: "vendor/part", unit: "input_tokens", price_per_million: 1 },
        { model: "vendor/part", unit: "tokens", price_per_million: 1 },
      ],
    });
    const alert = dialog(page).getByRole("alert");
    await alert.getByText("entries[1].unit").waitFor();
    const load = dialog(page).getByRole("button", { name: "Load 1 price" });
    const disabled = load.and(page.getByRole("button", { disabled: true }));
    await disabled.waitFor();
    await page.getByRole("checkbox", { name: "Leave out the invalid entry" }).click();
    await alert.waitFor({ state: "detached" });
    await disabled.waitFor();
    await page.getByRole("textbox", { name: "Version" }).fill("mended");
    await load.click();
    await dialog(page).getByText("1: 0 changed, 1 added, 0 as before").waitFor();
    expect(await readKept("vendor/part")).toEqual({ input_tokens: 1 });
  });

  test("that is no JSON is told, and one may be pasted instead", async () => {
    const { page } = await open();
    await drop(page, "version: 1");
    await dialog(page).getByText("This is not JSON").waitFor();
    await page.getByRole("button", { name: "Paste instead" }).click();
    await page
      .getByRole("textbox", { name: "A feed or a price map" })
      .fill('{"version":"pasted","entries":[{"model":"own","unit":"input_tokens","price_per_million":1}]}');
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.getByRole("button", { name: "Unchanged 1", exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
  });

  test("may be the public list prices, whose source and day are told, and of which nothing applies before it is loaded", async () => {
    // Called as a listed model and bound to another one: it must not get the price of its name.
    await ask("PATCH", "/admin/v1/models/fed", { alias: "gpt-4o" });
    await ask("POST", "/admin/v1/models", { alias: "mini", provider: "lab", upstream_name: "gpt-5-mini" });
    const { page } = await open();
    await page.getByRole("button", { name: "Load prices" }).click();
    expect(
      await dialog(page)
        .getByRole("button", { name: /list prices/ })
        .count(),
    ).toBe(0);
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "List prices for 1 model without any price" }).click();
    await dialog(page)
      .getByText(/^List prices of \d{4}-\d\d-\d\d, from LiteLLM .*/)
      .waitFor();
    await dialog(page)
      .getByRole("textbox", { name: "Version" })
      .and(page.locator("[value^='list prices 20']"))
      .waitFor();
    await page.getByRole("checkbox", { name: /^Only names in use here/, checked: true }).waitFor();
    await dialog(page)
      .getByRole("row", { name: /gpt-5-mini/ })
      .first()
      .waitFor();
    expect(
      await dialog(page)
        .getByRole("row", { name: /gpt-4o/ })
        .count(),
    ).toBe(0);
    expect(await readKept("gpt-5-mini")).toEqual({});
    await page.getByRole("button", { name: /^Load \d prices$/ }).click();
    await dialog(page).getByRole("button", { name: "Done" }).click();
    expect(Object.keys(await readKept("gpt-5-mini"))).toContain("input_tokens");
    expect(await readKept("gpt-4o")).toEqual({});
  });

  test("may be LiteLLM's price map, of which the names in use are taken first, and what was skipped says why", async () => {
    const { page } = await open();
    await drop(page, {
      sample_spec: { input_cost_per_token: 0 },
      "vendor/own": { input_cost_per_token: 2e-6, output_cost_per_token: 0.000009 },
      "other/model": { input_cost_per_token: 1e-6 },
      "draws/pictures": { input_cost_per_image: 0.04 },
    });
    await dialog(page).getByText("LiteLLM’s price map with 3 prices").waitFor();
    await dialog(page).getByRole("button", { name: "Load 2 prices" }).waitFor();
    await page.getByRole("button", { name: "Skipped 2" }).click();
    await dialog(page).getByText("It has no price that has a unit here.").waitFor();
    await page.getByRole("checkbox", { name: /^Only names in use here/ }).click();
    await dialog(page).getByRole("button", { name: "Load 3 prices" }).click();
    await dialog(page).getByText("3: 0 changed, 3 added, 0 as before").waitFor();
    expect(await readKept("vendor/own")).toEqual({ input_tokens: 2, output_tokens: 9 });
    expect(await readKept("other/model")).toEqual({ input_tokens: 1 });
  });

  test("as large as the server takes is read, shown, loaded and listed with only the rows in sight drawn", async () => {
    const { page } = await open();
    const entries = Array.from({ length: FEED_ENTRIES_MAX }, (_, index) => ({
      model: `bulk/model-${index}`,
      unit: "input_tokens",
      price_per_million: index / 1000,
    }));
    await drop(page, { version: "bulk", entries });
    await page.getByRole("button", { name: "Added 20,000" }).waitFor();
    expect(await dialog(page).locator("tbody tr").count()).toBeLessThan(100);
    await dialog(page).getByRole("button", { name: "Load 20,000 prices" }).click();
    await dialog(page).getByText("20,000: 0 changed, 20,000 added, 0 as before").waitFor();
    await dialog(page).getByRole("button", { name: "Done" }).click();
    const table = page.getByRole("region", { name: "Prices per million units" });
    await page.getByRole("searchbox", { name: "Find a price" }).fill("bulk/model-19999");
    await table.getByText("$19.999").waitFor();
    await eventually(async () => expect(await table.locator("tbody tr").count()).toBe(1));
  });
});
