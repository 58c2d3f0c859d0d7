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
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();
const USAGE = { prompt_tokens: 1000, completion_tokens: 200, prompt_tokens_details: { cached_tokens: 400 } };
const FLEX = {
  when: { tier: "flex" },
  pricing: { input_tokens: 1.25, output_tokens: 5, cached_input_tokens: 0.125 },
};
const LONG = {
  when: { tier: "flex", input_over: 500 },
  pricing: { input_tokens: 2.5, output_tokens: 7.5, cached_input_tokens: 0.25 },
};

let site: Site;
beforeEach(async () => {
  site = await browser.newSite({
    upstream: {
      script: (asked) =>
        asked.reply({
          body: JSON.stringify({
            choices: [{ message: { content: "hi" } }],
            service_tier: "flex",
            usage: USAGE,
          }),
        }),
      models: { best: "vendor/best" },
      pricing: { input_tokens: 2.5, output_tokens: 10, cached_input_tokens: 0.25 },
    },
  });
});

async function ask(method: string, path: string, body?: unknown): Promise<any> {
  const response = await callApi(site.url, await site.adminKey(), method, path, body);
  expect(response.ok).toBe(true);
  return JSON.parse(await response.text());
}

async function findModel(alias: string): Promise<any> {
  const { models } = await ask("GET", "/admin/v1/models");
  return models.find((model: { alias: string }) => model.alias === alias);
}

async function open(path: string): Promise<Page> {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  await openAtRest(visitor.page, path);
  return visitor.page;
}

/** What the page sends when this is done. */
async function patchOf(page: Page, act: () => Promise<unknown>): Promise<unknown> {
  const [request] = await Promise.all([page.waitForRequest((asked) => asked.method() === "PATCH"), act()]);
  return request.postDataJSON();
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

describeInBrowser("the price variants of a model", () => {
  test("say before they are saved what the requests of their tier would have cost, and by their length where their rows are read", async () => {
    await ask("POST", "/v1/chat/completions", {
      model: "best",
      messages: [{ role: "user", content: "hi" }],
    });
    const page = await open("/models?open=best");
    const variants = page.getByRole("region", { name: "Price variants", exact: true });
    await variants.getByRole("button", { name: "Add variant" }).click();
    const fields = variants.getByRole("group");
    await fields.getByLabel("Service tier").fill("flex");
    await fields.getByLabel("Input tokens", { exact: true }).fill("1.25");
    await fields.getByLabel("Output tokens", { exact: true }).fill("5");
    await fields.getByLabel("Cached input tokens", { exact: true }).fill("0.125");
    // 600 × 1.25 + 400 × 0.125 + 200 × 5 millionths
    await page.getByText("Last 30 days: unpriced at the prices of now, $0.0018 at these.").waitFor();
    expect(await page.getByText(/^Variants that depend on/).count()).toBe(0);
    // Its 1,000 tokens of input are told from others by its row.
    await fields.getByLabel("Input over").fill("5000");
    await page.getByText("Last 30 days: unpriced at the prices of now, unpriced at these.").waitFor();
    await fields.getByLabel("Input over").fill("500");
    await page.getByText("Last 30 days: unpriced at the prices of now, $0.0018 at these.").waitFor();
    expect(await page.getByText(/^Variants that depend on/).count()).toBe(0);
    await checkFitsSmall(page);
    await shootAll(page, "price-variants-preview");
  });

  test("are a table that is changed in the panel, with what it means before it is saved, sent alone, and taken back", async () => {
    await ask("PATCH", "/admin/v1/models/best", { price_variants: [FLEX] });
    await ask("POST", "/admin/v1/models", { alias: "also", target: "best" });
    const page = await open("/models?open=best");
    const variants = page.getByRole("region", { name: "Price variants", exact: true });
    const table = variants.getByRole("table");
    await table.getByRole("row", { name: /flex \$1\.25 \$5\.00 \$0\.125/ }).waitFor();

    await variants.getByRole("button", { name: "Add variant" }).click();
    const editor = variants.getByRole("group", { name: "Variant: no condition yet" });
    await editor.getByLabel("Service tier").fill("flex");
    // Alike to the one that is there: it is told, and nothing is sent.
    const fields = variants.getByRole("group", { name: "Variant: flex" });
    await fields.getByLabel("Input tokens", { exact: true }).fill("2.5");
    await page.getByRole("button", { name: "Save changes" }).click();
    await variants.getByText("price_variants[0] has the same conditions already.").waitFor();
    await fields.getByLabel("Input over").fill("500");
    const long = variants.getByRole("group", { name: "Variant: flex, input over 500" });
    await long.getByLabel("Output tokens", { exact: true }).fill("7.5");
    await long.getByLabel("Cached input tokens", { exact: true }).fill("0.25");
    await page.getByText("It also holds for also.").waitFor();
    await checkFitsSmall(page);
    await shootAll(page, "price-variants-edit");
    expect(await patchOf(page, () => page.getByRole("button", { name: "Save changes" }).click())).toEqual({
      price_variants: [FLEX, LONG],
    });
    await page.getByText("best saved").waitFor();
    expect((await findModel("best")).price_variants).toEqual([FLEX, LONG]);
    expect((await findModel("also")).price_variants).toEqual([FLEX, LONG]);

    expect(
      await patchOf(page, () => page.getByRole("button", { name: "Undo", exact: true }).click()),
    ).toEqual({
      price_variants: [FLEX],
    });
    await page.getByText("best is as it was").waitFor();
    await variants.getByRole("button", { name: "Edit flex", exact: true }).click();
    await variants.getByRole("button", { name: "Remove variant" }).click();
    await table.waitFor({ state: "detached" });
    expect(await patchOf(page, () => page.getByRole("button", { name: "Save changes" }).click())).toEqual({
      price_variants: [],
    });
    await eventually(async () => expect(await findModel("best")).not.toHaveProperty("price_variants"));
    // The standard prices were never touched.
    expect((await findModel("best")).pricing).toEqual({
      input_tokens: 2.5,
      output_tokens: 10,
      cached_input_tokens: 0.25,
    });
  });

  test("of a target are shown for its name, and replaced as a whole by the first of its own", async () => {
    await ask("PATCH", "/admin/v1/models/best", { price_variants: [FLEX] });
    await ask("POST", "/admin/v1/models", { alias: "also", target: "best" });
    const page = await open("/models?open=also");
    const variants = page.getByRole("region", { name: "Price variants", exact: true });
    await variants.getByText("Inherited as one list: a variant of its own replaces all of them.").waitFor();
    await variants.getByRole("row", { name: /flex \$1\.25/ }).waitFor();
    expect(await variants.getByRole("button", { name: /^Edit/ }).count()).toBe(0);
    await variants.getByRole("button", { name: "Add variant" }).click();
    const editor = variants.getByRole("group");
    await editor.getByLabel("Hours (UTC)").fill("22:00-04:00");
    await editor.getByLabel("Input tokens", { exact: true }).fill("1");
    expect(await patchOf(page, () => page.getByRole("button", { name: "Save changes" }).click())).toEqual({
      price_variants: [{ when: { hours: "22:00-04:00" }, pricing: { input_tokens: 1 } }],
    });
    expect((await findModel("best")).price_variants).toEqual([FLEX]);
  });

  test("are told in a request's details: which one priced it and why, and why a tier that none names has no price", async () => {
    const body = { model: "best", messages: [{ role: "user", content: "hi" }] };
    await ask("POST", "/v1/chat/completions", body);
    await ask("PATCH", "/admin/v1/models/best", { price_variants: [FLEX, LONG] });
    await ask("POST", "/v1/chat/completions", body);
    const page = await open("/requests");
    const rows = page.getByRole("region", { name: "Requests", exact: true }).locator("tbody tr[data-index]");
    await rows.first().click();
    const cost = page.getByRole("region", { name: "Cost", exact: true });
    await cost
      .getByText(
        "Priced by the variant for flex, input over 500: the answer told the service tier flex; the whole input was 1,000 tokens, cached and written ones included.",
      )
      .waitFor();
    // 600 × 2.5 + 400 × 0.25 + 200 × 7.5
    await cost.getByText("$0.0031").first().waitFor();
    await checkFitsSmall(page);
    await shootAll(page, "price-variants-request");
    await openAtRest(page, "/requests");
    await rows.nth(1).click();
    await cost
      .getByText(/^The provider answered at the service tier flex, and no price of the model names that/)
      .waitFor();
    expect(await cost.getByText(/^Priced by the variant/).count()).toBe(0);
  });
});

describeInBrowser("service tiers on the overview", () => {
  test("cut the usage where there are any, and are not offered where there are none", async () => {
    await ask("PATCH", "/admin/v1/models/best", { price_variants: [FLEX] });
    await ask("POST", "/v1/chat/completions", { model: "best", messages: [{ role: "user", content: "hi" }] });
    const page = await open("/");
    const cut = page.getByRole("group", { name: "What it is cut by" });
    await cut.getByRole("button", { name: "Tier", exact: true }).click();
    const table = page.getByRole("region", { name: "Usage by tier" });
    await table.getByRole("row").filter({ hasText: "flex" }).waitFor();
    // A row of usage does not tell its tier: there is no model to be named beside it.
    expect(await table.getByText("Top model").count()).toBe(0);
    await checkFitsSmall(page);
    await shootAll(page, "overview-tiers");
    await table
      .getByRole("button", { name: /flex/ })
      .or(table.getByRole("link", { name: /flex/ }))
      .first()
      .click();
    await eventually(() => expect(new URL(page.url()).searchParams.get("tier")).toBe("flex"));

    // A window of before that request has no tier, and another cut.
    await openAtRest(page, "/?since=2020-01-01&until=2020-02-01");
    await cut.getByRole("button", { name: "Client", exact: true }).waitFor();
    expect(await cut.getByRole("button", { name: "Tier", exact: true }).count()).toBe(0);
  });
});
