import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { startModelServer, type ModelServer } from "../../../contrib/demo/model-server.ts";
import { describeInBrowser, useBrowser } from "../support/browser.ts";
import { copiedBy } from "../support/clipboard.ts";
import { openAtRest } from "../support/rest.ts";
import { signInAsAdmin } from "../support/sign-in.ts";
import type { Site } from "../support/site.ts";
import { doWithin } from "./actions.ts";
import { call, goTo, makeUsed, sendHello } from "./tasks.ts";

const browser = useBrowser();

let provider: ModelServer;
beforeAll(async () => {
  provider = await startModelServer({ port: 0, chatModels: ["gpt-4o-mini"] });
});
afterAll(() => provider.stop());

async function begin(site: Site): Promise<Page> {
  const visitor = await browser.newVisitor({ baseUrl: site.url });
  await signInAsAdmin(visitor, site);
  await openAtRest(visitor.page, "/");
  return visitor.page;
}

describeInBrowser("a change, from the overview", () => {
  test("6, 8 and 11: a price with its consequence, a leaked key by its end, a rename that keeps the old name", async () => {
    const site = await browser.newSite();
    await makeUsed(site, provider);
    const { key_suffix: suffix } = await call(site, "POST", "/my/keys", { label: "leaked" });
    const page = await begin(site);
    await doWithin(page, 4, async () => {
      await goTo(page, "Models");
      await page.getByRole("button", { name: /^Input tokens of fast: unpriced/ }).click();
      await page.getByRole("textbox", { name: /^Input tokens of fast/ }).fill("1000");
      await page.getByText(/^Last 30 days: unpriced at the prices of now, \$0\.00\d+ at these/).waitFor();
      await page.keyboard.press("Enter");
      await page.getByText("fast saved").waitFor();
    });
    expect((await call(site, "GET", "/admin/v1/models")).models[0].pricing).toEqual({ input_tokens: 1000 });

    await doWithin(page, 4, async () => {
      await goTo(page, "People & keys");
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
      await goTo(page, "Models");
      // Overview has rows of these names as well.
      await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
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

  test("7: a colleague gets a key of their own, and with it a monthly budget", async () => {
    const site = await browser.newSite();
    const page = await begin(site);
    await doWithin(page, 8, async () => {
      await goTo(page, "People & keys");
      await page.getByRole("button", { name: "Add person or service" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill("ada");
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await page.getByRole("button", { name: "Create a key" }).click();
      await page.getByRole("textbox", { name: "Label" }).fill("laptop");
      await page.getByRole("button", { name: "Create key" }).click();
      await page.getByRole("button", { name: "Copy key" }).click();
      await page.getByRole("link", { name: "Set a monthly budget" }).click();
      const form = page.getByRole("dialog", { name: "New limit" });
      expect(await form.getByRole("combobox", { name: "Person or service" }).inputValue()).toBe("ada");
      await form.getByRole("textbox", { name: "Amount" }).fill("25");
      await form.getByRole("button", { name: "Create" }).click();
      await form.waitFor({ state: "detached" });
    });
    await page.waitForURL((url) => !url.searchParams.has("budget"));
    expect((await call(site, "GET", "/admin/v1/limits")).limits).toEqual([
      expect.objectContaining({
        subject: { principal: "ada" },
        measure: "cost",
        amount: 25,
        window: "month",
      }),
    ]);
    // The key is for a program of ada's, unless the one who makes it says otherwise.
    const { keys } = await call(site, "GET", "/admin/v1/keys?principal=ada");
    expect(keys).toEqual([expect.objectContaining({ label: "laptop", scope: "inference" })]);
  });

  test("19: a new developer gets a key for two models, handed over as one text that names all they need", async () => {
    const site = await browser.newSite();
    await makeUsed(site, provider);
    await call(site, "POST", "/admin/v1/models", {
      alias: "slow",
      provider: "lab",
      upstream_name: "gpt-4o-mini",
    });
    const page = await begin(site);
    let invitation = "";
    await doWithin(page, 6, async () => {
      await goTo(page, "People & keys");
      await page.getByRole("button", { name: "Add person or service" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill("ada");
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await page.getByRole("button", { name: "Create a key" }).click();
      await page.getByRole("textbox", { name: "Expires" }).fill("2099-01-31 12:00");
      const models = page.getByRole("combobox", { name: "Models" });
      await models.fill("fast, slow");
      await models.press("Tab");
      await page.getByRole("button", { name: "Create key" }).click();
      invitation = await copiedBy(page, () => page.getByRole("button", { name: "Copy invitation" }).click());
    });
    const { keys } = await call(site, "GET", "/admin/v1/keys?principal=ada");
    expect(keys).toEqual([expect.objectContaining({ models: ["fast", "slow"], scope: "inference" })]);
    const origin = new URL(page.url()).origin;
    const secret = /^Key: (lp_\S+)$/m.exec(invitation)?.[1] ?? "";
    expect(secret).toEndWith(keys[0].key_suffix);
    expect(invitation).toStartWith(
      `Address: ${origin}/v1\nKey: ${secret}\nModels: fast, slow\nExpires: 2099-01-31 12:00 UTC\nYour usage and limits: ${origin}/usage\n\n`,
    );
    // The client's own example calls one of the two, with this key.
    const snippet = invitation.slice(invitation.indexOf("\n\n"));
    expect(snippet).toContain(secret);
    expect(snippet).toContain('"fast"');
    await sendHello(site, secret);
    // It was copied with the invitation: nothing is asked on the way out.
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("dialog", { name: "The new key of ada" }).waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(secret);
  });

  test("20: a person gets $50 a month, which is told beforehand", async () => {
    const site = await browser.newSite();
    await call(site, "POST", "/admin/v1/principals", { name: "ada" });
    const page = await begin(site);
    await doWithin(page, 3, async () => {
      await goTo(page, "Budgets & limits");
      await page.getByRole("button", { name: "Budget of ada: none. Set" }).click();
      await page.getByRole("textbox", { name: "Budget of ada, in dollars a month" }).fill("50");
      await page.getByText("Makes 1 limit, for ada.").waitFor();
      await page.keyboard.press("Enter");
      await page.getByText("ada: monthly budget created").waitFor();
    });
    expect((await call(site, "GET", "/admin/v1/limits")).limits).toEqual([
      expect.objectContaining({
        name: "ada: monthly budget",
        subject: { principal: "ada" },
        measure: "cost",
        amount: 50,
        window: "month",
        action: "refuse",
      }),
    ]);
  });

  test("14: past requests of a model get the price that it has by now, with what changes before it is applied", async () => {
    const site = await browser.newSite();
    await makeUsed(site, provider);
    await call(site, "PATCH", "/admin/v1/models/fast", {
      pricing: { input_tokens: 1000, output_tokens: 1000 },
    });
    const readCost = async () => (await call(site, "GET", "/stats/breakdown?by=model")).total.cost;
    expect(await readCost()).toBeNull();
    const page = await begin(site);
    await doWithin(page, 6, async () => {
      await goTo(page, "Models");
      // Overview has rows of these names as well.
      await page.getByRole("heading", { level: 1, name: "Models" }).waitFor();
      await page.getByRole("rowheader", { name: /fast/ }).click();
      await page.getByRole("dialog").getByRole("link", { name: "Re-price…" }).click();
      await page.getByRole("button", { name: "Make the plan" }).click();
      const plan = page.getByRole("dialog", { name: "Re-pricing of fast" });
      await plan.getByText("Nothing is changed yet. 1 request: unpriced becomes $").waitFor();
      await plan.getByRole("button", { name: "Apply" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Apply" }).click();
      await plan.getByRole("button", { name: "Take it back" }).waitFor();
    });
    expect(await readCost()).toBeGreaterThan(0);
  });

  test("9 and 12: models without a price are priced from public list prices, and whether a provider is healthy", async () => {
    const site = await browser.newSite();
    await makeUsed(site, provider);
    const page = await begin(site);
    await doWithin(page, 4, async () => {
      await goTo(page, "Models");
      await page.getByRole("link", { name: "List prices for 1 model without any price" }).click();
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
      await goTo(page, "Providers");
      const row = page.getByRole("row", { name: /lab/ });
      await row.getByText("0%", { exact: true }).waitFor();
      await row.getByText(/just now|s ago/).waitFor();
    });
  });

  test("21: a credential of a provider is rotated once what is typed has passed its test, and can be taken back", async () => {
    const site = await browser.newSite();
    const wanted = await startModelServer({ port: 0, keys: ["sk-first", "sk-second"] });
    const path = "/admin/v1/providers/lab";
    try {
      const made = { name: "lab", base_url: wanted.baseUrl, api_key: "sk-first" };
      const { credential_set_at: before } = await call(site, "POST", "/admin/v1/providers", made);
      const page = await begin(site);
      await doWithin(page, 4, async () => {
        await goTo(page, "Providers");
        await page.getByRole("rowheader", { name: /lab/ }).click();
        const key = page.getByRole("dialog").getByLabel(/^API key/);
        await key.click();
        await key.fill("sk-second");
        await page.getByRole("button", { name: "Test and save" }).click();
        await page.getByText("Tested; applies from the next request.").waitFor();
      });
      expect((await call(site, "GET", path)).credential_set_at > before).toBe(true);

      await doWithin(page, 1, async () => {
        await page.getByRole("button", { name: "Take it back" }).click();
        await page.getByText("lab has its former key again").waitFor();
      });
      expect((await call(site, "GET", path)).credential_set_at).toBe(before);
    } finally {
      await wanted.stop();
    }
  });
});
