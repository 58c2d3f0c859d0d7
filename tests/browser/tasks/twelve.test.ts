import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { callApi } from "../../support/installation.ts";
import { startModelServer, type ModelServer } from "../../../contrib/demo/model-server.ts";
import { describeInBrowser, useBrowser } from "../support/browser.ts";
import { openAtRest } from "../support/rest.ts";
import { signInAsAdmin } from "../support/sign-in.ts";
import type { Site } from "../support/site.ts";
import { doWithin } from "./actions.ts";

/**
 * What people come for, and how many presses it may take from the overview. The first of the twelve has a file of its own. A
 * number in brackets is the aim where it is not met yet.
 */
const browser = useBrowser();

let provider: ModelServer;
beforeAll(async () => {
  provider = await startModelServer({ port: 0, chatModels: ["gpt-4o-mini"] });
});
afterAll(() => provider.stop());

const DEMO = { demo: { days: 14, seed: 1 } } as const;

async function begin(site: Site): Promise<Page> {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  await openAtRest(visitor.page, "/");
  return visitor.page;
}

async function call(site: Site, method: string, path: string, body?: unknown): Promise<any> {
  const response = await callApi(site.url, await site.adminKey(), method, path, body);
  return JSON.parse(await response.text());
}

/** A provider with a model that answers, and one request to it. */
async function makeUsed(site: Site): Promise<void> {
  await call(site, "POST", "/admin/v1/providers", { name: "lab", base_url: provider.baseUrl });
  await call(site, "POST", "/admin/v1/models", {
    alias: "fast",
    provider: "lab",
    upstream_name: "gpt-4o-mini",
  });
  await call(site, "POST", "/v1/chat/completions", {
    model: "fast",
    messages: [{ role: "user", content: "Hello there, how are you?" }],
  });
  while ((await call(site, "GET", "/admin/v1/requests?limit=1")).total < 1);
}

const nav = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();

describeInBrowser("within the presses that it may take", () => {
  test("2 and 3 (3): the top spender of last week is found, by the breakdown of people", async () => {
    const page = await begin(await browser.sharedSite(DEMO));
    await doWithin(page, 3, async () => {
      await page.getByRole("button", { name: /^Window: / }).click();
      await page.getByRole("button", { name: "Last week", exact: true }).click();
      await page.getByRole("button", { name: "Person", exact: true }).click();
      await page.getByRole("table", { name: "Usage by person" }).getByRole("rowheader").first().waitFor();
      await page.waitForURL(/range=last-week.*by=principal|by=principal.*range=last-week/);
    });
  });

  test("4: why requests failed yesterday is told in three", async () => {
    const page = await begin(await browser.sharedSite(DEMO));
    await doWithin(page, 3, async () => {
      await nav(page, "Errors");
      await page.getByRole("button", { name: /^Window: / }).click();
      await page.getByRole("button", { name: "Yesterday", exact: true }).click();
      await page.waitForURL(/range=yesterday/);
      await page.getByRole("heading", { level: 1, name: "Errors" }).waitFor();
    });
  });

  test("6, 8 and 11: a price with its consequence, a leaked key by its end, a rename that keeps the old name", async () => {
    const site = await browser.newSite();
    await makeUsed(site);
    const { key_suffix: suffix } = await call(site, "POST", "/my/keys", { label: "leaked" });
    const page = await begin(site);
    await doWithin(page, 4, async () => {
      await nav(page, "Models");
      await page.getByRole("button", { name: /^Input tokens of fast: unpriced/ }).click();
      await page.getByRole("textbox", { name: /^Input tokens of fast/ }).fill("1000");
      await page.getByText(/^Last 30 days: unpriced at the prices of now, \$0\.00\d+ at these/).waitFor();
      await page.keyboard.press("Enter");
      await page.getByText("fast saved").waitFor();
    });
    expect((await call(site, "GET", "/admin/v1/models")).models[0].pricing).toEqual({ input_tokens: 1000 });

    await doWithin(page, 4, async () => {
      await nav(page, "People & keys");
      await page.getByRole("tab", { name: "All keys" }).click();
      await page.getByRole("searchbox", { name: "Find" }).fill(suffix);
      await page.getByRole("button", { name: "Delete key leaked" }).click();
      const question = page.getByRole("alertdialog");
      await question.getByText(`***${suffix}`).waitFor();
      await question.getByText("no requests").waitFor();
      await question.getByRole("button", { name: "Delete key" }).click();
      await page.getByText("Deleted key leaked").waitFor();
    });

    await doWithin(page, 5, async () => {
      await nav(page, "Models");
      await page.getByRole("rowheader", { name: /fast/ }).click();
      await page.getByRole("textbox", { name: "Alias" }).fill("quick");
      await page.getByRole("checkbox", { name: "Keep fast as another name" }).click();
      await page.getByRole("button", { name: "Save changes" }).click();
      await page.getByText("fast is now quick").waitFor();
    });
    expect((await call(site, "GET", "/admin/v1/resolve?model=fast")).upstream_name).toBe("gpt-4o-mini");
    const { models } = await call(site, "GET", "/admin/v1/models");
    expect(models.map(({ alias, target }: any) => [alias, target])).toEqual([
      ["fast", "quick"],
      ["quick", null],
    ]);
  });

  test("9 and 12: models without a price are priced from public list prices, and whether a provider is healthy", async () => {
    const site = await browser.newSite();
    await makeUsed(site);
    const page = await begin(site);
    await doWithin(page, 4, async () => {
      await nav(page, "Models");
      await page.getByRole("link", { name: "List prices for 1 unpriced model" }).click();
      const review = page.getByRole("dialog", { name: "Review changes" });
      await review
        .getByText(/^List prices of \d{4}-\d\d-\d\d, from /)
        .first()
        .waitFor();
      await review
        .getByRole("row", { name: /gpt-4o-mini/ })
        .first()
        .waitFor();
      expect((await call(site, "GET", "/admin/v1/pricing")).entries).toEqual([]);
      await review.getByRole("button", { name: /^Load \d prices$/ }).click();
      await page.getByRole("dialog", { name: "Prices loaded" }).getByRole("button", { name: "Done" }).click();
    });
    const { models } = await call(site, "GET", "/admin/v1/models");
    expect(models[0].pricing).toMatchObject({ input_tokens: 0.15, output_tokens: 0.6 });

    await doWithin(page, 2, async () => {
      await nav(page, "Providers");
      const row = page.getByRole("row", { name: /lab/ });
      await row.getByText("0%", { exact: true }).waitFor();
      await row.getByText(/just now|s ago/).waitFor();
    });
  });
});
