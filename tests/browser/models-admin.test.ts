import { beforeEach, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { busyLimit } from "../support/waiting.ts";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { openAtRest } from "./support/rest.ts";
import { shoot } from "./support/screenshots.ts";
import type { Site } from "./support/site.ts";
import type { Renewal } from "./support/visitor.ts";
import { waitForFocus } from "./support/waiting.ts";

const browser = useBrowser();

let site: Site;

const MODELS_MANY = 2000;

const DEMO = { demo: { days: 3 } } as const;
/** The demonstration's own. */
let aliases: ReadonlySet<string> | null = null;
beforeEach(async () => {
  site = await browser.sharedSite(DEMO);
  const added = (await findModels()).filter(({ alias }) => aliases?.has(alias) === false);
  // A test that is tried again begins anew; names go before what they lead to.
  for (const { alias } of added.toSorted(
    (one, other) => Number(one.target === null) - Number(other.target === null),
  ))
    await callApi(site.url, await site.adminKey(), "DELETE", `/admin/v1/models/${encodeURIComponent(alias)}`);
  aliases ??= new Set((await findModels()).map(({ alias }) => alias));
});

async function visit(path: string, { at = site, ...renewal }: Renewal & { readonly at?: Site } = {}) {
  const visitor = await browser.sharedVisitor(at, renewal);
  await visitor.page.goto(path);
  return visitor;
}

async function call(method: string, path: string, body?: unknown, at: Site = site): Promise<any> {
  const response = await callApi(at.url, await at.adminKey(), method, `/admin/v1${path}`, body);
  return JSON.parse(await response.text());
}

async function findModels(): Promise<readonly any[]> {
  return (await call("GET", "/models?limit=500")).models;
}

async function findModel(alias: string): Promise<any> {
  return (await findModels()).find((model) => model.alias === alias);
}

async function addModel(model: Record<string, unknown>) {
  return await call("POST", "/models", { provider: "openai", upstream_name: "up", ...model });
}

/** By the keyboard: what is typed next is its price. */
async function edit(page: Page, price: Locator): Promise<void> {
  await price.press("Enter");
  await page.locator("td input:focus").waitFor();
}

/** What the page sends when this is done. Both are waited for at once: a wait that is left behind would fail the next try. */
async function patchOf(page: Page, act: () => Promise<unknown>): Promise<unknown> {
  const [request] = await Promise.all([page.waitForRequest((asked) => asked.method() === "PATCH"), act()]);
  return request.postDataJSON();
}

describeInBrowser("the models of an administrator", () => {
  test("shows a price as own, inherited or unpriced, and never an unpriced one as $0", async () => {
    await addModel({ alias: "aa-own", pricing: { input_tokens: 2 } });
    await call("POST", "/models", { alias: "aa-name", target: "aa-own" });
    const { page } = await visit("/models?q=aa-");
    await page.getByRole("button", { name: "Input tokens of aa-own: $2.00, own. Change" }).waitFor();
    await page.getByRole("button", { name: "Input tokens of aa-name: $2.00, inherited. Change" }).waitFor();
    await page.getByRole("button", { name: "Output tokens of aa-own: unpriced. Change" }).waitFor();
    expect(await page.getByText("$0.00").count()).toBe(0);
    await checkAccessibility(page);
  });

  test("writes a changed price in place: of a binding with all its others as they are then, of a name alone", async () => {
    await addModel({ alias: "ab-own", pricing: { input_tokens: 2, output_tokens: 4 } });
    await call("POST", "/models", { alias: "ab-name", target: "ab-own" });
    const visitor = await visit("/models?q=ab-");
    const { page } = visitor;
    await edit(page, page.getByRole("button", { name: /^Cached input tokens of ab-own/ }));
    await page.keyboard.type("0.5");
    // What somebody else sets meanwhile does not go back to what this page saw.
    await call("PATCH", "/models/ab-own", { pricing: { input_tokens: 2, output_tokens: 8 } });
    expect(await patchOf(page, () => page.keyboard.press("Enter"))).toEqual({
      pricing: { input_tokens: 2, output_tokens: 8, cached_input_tokens: 0.5 },
    });
    await page.getByRole("button", { name: "Cached input tokens of ab-own: $0.50, own. Change" }).waitFor();

    await edit(page, page.getByRole("button", { name: /^Output tokens of ab-name/ }));
    await page.keyboard.type("9");
    expect(await patchOf(page, () => page.keyboard.press("Enter"))).toEqual({
      pricing: { output_tokens: 9 },
    });
    const changed = page.getByRole("button", { name: "Output tokens of ab-name: $9.00, own. Change" });
    // The keyboard goes on from there.
    await waitForFocus(changed);
    await page.getByRole("button", { name: "Input tokens of ab-name: $2.00, inherited. Change" }).waitFor();
    expect((await findModel("ab-name")).pricing).toEqual({
      input_tokens: 2,
      output_tokens: 9,
      cached_input_tokens: 0.5,
    });

    // Esc leaves it as it was, and sends nothing.
    await edit(page, changed);
    await page.keyboard.type("777");
    await page.keyboard.press("Escape");
    await changed.waitFor();
    expect((await findModel("ab-name")).pricing.output_tokens).toBe(9);
    // Going elsewhere saves what can be read; the rest stays with what is wrong beside it, and asks before it is lost.
    await edit(page, changed);
    await page.keyboard.type("much");
    await page.getByRole("heading", { level: 1 }).click();
    await page.getByText("Enter a number such as 0.25").waitFor();
    await page.getByRole("link", { name: "My keys" }).click();
    await page.getByRole("button", { name: "Keep editing" }).click();
    const field = page.getByRole("textbox", { name: /^Output tokens of ab-name/ });
    expect(await field.inputValue()).toBe("much");
    visitor.expect(/^request: PATCH .* answered 400$/);
    // What it would change is asked for while it is typed, where the key comes late.
    visitor.allow(/^request: POST .*\/pricing\/preview answered 400$/);
    await field.fill("0.12345678");
    await page.keyboard.press("Enter");
    await page.getByText("(invalid_pricing)").waitFor();
    expect([await field.inputValue(), (await findModel("ab-name")).pricing.output_tokens]).toEqual([
      "0.12345678",
      9,
    ]);
    await field.fill("7");
    expect(await patchOf(page, () => page.getByRole("heading", { level: 1 }).click())).toEqual({
      pricing: { output_tokens: 7 },
    });
    const saved = page.getByRole("button", { name: "Output tokens of ab-name: $7.00, own. Change" });
    // Emptied, a name inherits again.
    await edit(page, saved);
    await page.keyboard.press("Delete");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Output tokens of ab-name: $8.00, inherited. Change" }).waitFor();
  });

  test("says at once that a price is being saved, however long the server takes", async () => {
    await addModel({ alias: "aj-slow", pricing: { input_tokens: 1 } });
    const { page } = await visit("/models");
    await openAtRest(page, "/models?q=aj-slow");
    const held = Promise.withResolvers<void>();
    await page.route(/admin\/v1\/(?:models|pricing)(?:[?]|$)/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await edit(page, page.getByRole("button", { name: /^Input tokens of aj-slow/ }));
    await page.keyboard.type("3");
    // Told by the page itself, from the press to the first frame that says so; it listens before the key is pressed.
    const said = await page.evaluateHandle(() => {
      const { promise, resolve } = Promise.withResolvers<number>();
      const listen = () => {
        const beganAt = performance.now();
        const look = () => {
          if (document.body.innerText.includes("Saving…")) resolve(performance.now() - beganAt);
          else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      };
      document.addEventListener("keydown", listen, { once: true, capture: true });
      return { promise };
    });
    await page.keyboard.press("Enter");
    expect(await said.evaluate(({ promise }) => promise)).toBeLessThan(busyLimit(150));
    await checkAccessibility(page);
    await shoot(page, "price-saving");
    held.resolve();
    await page.getByRole("button", { name: "Input tokens of aj-slow: $3.00, own. Change" }).waitFor();
    expect(await page.getByText("Saving…").count()).toBe(0);
  });

  test("keeps the prices that a binding inherits from a feed when another one is written, and says so", async () => {
    await addModel({ alias: "ac-own", upstream_name: "ac-upstream" });
    await call("POST", "/pricing", {
      version: "test",
      entries: [{ model: "ac-upstream", unit: "input_tokens", price_per_million: 3 }],
    });
    const { page } = await visit("/models?open=ac-own");
    await page.getByText("Inherited from ac-upstream: input tokens.").waitFor();
    await page.getByRole("textbox", { name: "Output tokens", exact: true }).fill("6");
    await page.getByText("No requests in the last 30 days.").waitFor();
    expect(await patchOf(page, () => page.getByRole("button", { name: "Save changes" }).click())).toEqual({
      pricing: { input_tokens: 3, output_tokens: 6 },
    });
    await page.getByText("ac-own saved").waitFor();
  });

  test("renames a model; what led to it still does, and the old name resolves no more", async () => {
    await addModel({ alias: "ad-old", pricing: { input_tokens: 1 } });
    await call("POST", "/models", { alias: "ad-name", target: "ad-old" });
    const { page } = await visit("/models?open=ad-old");
    await page.getByRole("textbox", { name: "Alias" }).fill("ad-new");
    expect(await patchOf(page, () => page.getByRole("button", { name: "Save changes" }).click())).toEqual({
      alias: "ad-new",
    });
    await page.getByText("ad-old is now ad-new").waitFor();
    expect(await findModel("ad-name")).toMatchObject({ target: "ad-new", pricing: { input_tokens: 1 } });
    expect(await findModel("ad-old")).toBeUndefined();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("ad-old is as it was").waitFor();
    expect(await findModel("ad-old")).toMatchObject({ pricing: { input_tokens: 1 } });
    expect(await findModel("ad-new")).toBeUndefined();
  });

  test("marks the field of a refusal, and keeps what was written", async () => {
    await addModel({ alias: "ae-one" });
    const visitor = await visit("/models?open=ae-one");
    const { page } = visitor;
    visitor.expect(/admin\/v1\/models\/ae-one answered 409/);
    const alias = page.getByRole("textbox", { name: "Alias" });
    await alias.fill("gpt-5");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("alert").getByText("alias_exists").waitFor();
    await alias.and(page.locator("[aria-invalid=true]")).waitFor();
    expect(await alias.inputValue()).toBe("gpt-5");
    await checkAccessibility(page);
  });

  test("turns a name into a binding of its own that does and costs what it did", async () => {
    await addModel({ alias: "af-own", capabilities: ["embeddings"], pricing: { input_tokens: 4 } });
    await call("POST", "/models", { alias: "af-name", target: "af-own" });
    const { page } = await visit("/models?open=af-name");
    await page.getByRole("button", { name: "Routes to a provider" }).click();
    expect(await patchOf(page, () => page.getByRole("button", { name: "Save changes" }).click())).toEqual({
      target: "",
      provider: "openai",
      upstream_name: "up",
      pricing: { input_tokens: 4 },
    });
    await page.getByText("af-name saved").waitFor();
    expect(await findModel("af-name")).toMatchObject({
      target: null,
      capabilities: ["embeddings"],
      pricing: { input_tokens: 4 },
      pricing_inherited: false,
    });
  });

  test("adds a name to a model, and then says which names keep it from being deleted", async () => {
    await addModel({ alias: "ag-own" });
    const { page } = await visit("/models?open=ag-own");
    await page.getByRole("textbox", { name: "Another name" }).fill("ag-name");
    await page.getByRole("button", { name: "Add name" }).click();
    await page.getByRole("list", { name: "Other names of ag-own" }).getByText("ag-name").waitFor();
    await page.getByRole("button", { name: "Delete model" }).click();
    const dialog = page.getByRole("dialog", { name: "ag-own is in use" });
    expect(await dialog.getByRole("button", { name: "Delete model" }).count()).toBe(0);
    await dialog.getByRole("link", { name: "ag-name" }).click();
    await page.getByRole("dialog", { name: "ag-name", exact: true }).waitFor();
    await page.getByRole("button", { name: "Delete model" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete model" }).click();
    await page.getByText("ag-name deleted").waitFor();
    expect(await findModel("ag-name")).toBeUndefined();
    expect(await findModel("ag-own")).toMatchObject({ alias: "ag-own" });
  });

  test("hides a model from the list with its switch alone, and takes it back from the message", async () => {
    await addModel({ alias: "ah-own" });
    const { page } = await visit("/models?q=ah-own");
    expect(await patchOf(page, () => page.getByRole("switch", { name: "ah-own listed" }).click())).toEqual({
      hidden: true,
    });
    await page.getByText("ah-own is not listed any more").waitFor();
    expect((await call("GET", "/resolve?model=ah-own")).alias).toBe("ah-own");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("ah-own is as it was").waitFor();
    expect(await findModel("ah-own")).toMatchObject({ hidden: false });
  });

  test("declares a model by hand", async () => {
    const { page } = await visit("/models");
    await page.getByRole("button", { name: "Add model" }).click();
    await page.getByRole("combobox", { name: "Provider" }).last().click();
    await page.getByRole("option", { name: "vllm-lab" }).click();
    await page.getByRole("textbox", { name: "Upstream name" }).fill("ai/model");
    await checkAccessibility(page);
    await page.getByRole("button", { name: "Add model" }).click();
    await page.getByText("ai/model added").waitFor();
    expect(await findModel("ai/model")).toMatchObject({
      origin: "declared",
      provider: "vllm-lab",
      pricing: {},
    });
  });

  test("resolves a name to its exact URL, by an address that can be sent on", async () => {
    const { page } = await visit("/models");
    const model = page.getByRole("combobox", { name: "Model" });
    await model.fill("smart");
    await model.press("Enter");
    await page.getByText("POST https://openrouter.example.com/api/v1/chat/completions").waitFor();
    await page.getByRole("checkbox", { name: "Stream" }).click();
    await page.waitForURL(/resolve=smart.*stream=1/);
    await page.reload();
    const way = page.getByRole("status").getByRole("list", { name: "Route of smart" });
    await way.waitFor();
    expect(await way.getByRole("listitem").allInnerTexts()).toEqual([
      "smart",
      "claude-sonnet-4.5",
      "openrouter",
      "anthropic/claude-sonnet-4.5",
    ]);
    await checkAccessibility(page);
    await checkFitsSmall(page);
  });

  test("has the counts, examples and links of a member's list beside what is edited", async () => {
    const { page } = await visit("/models?capability=chat");
    await page.waitForFunction(() => document.querySelectorAll("tbody [data-row-open]").length > 3);
    expect(await page.locator('[data-row-id="embed"]').count()).toBe(0);
    await page.getByRole("button", { name: "How to call gpt-5", exact: true }).click();
    await page.getByRole("dialog", { name: "How to call gpt-5" }).getByText("/v1/chat/completions").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Change gpt-5", exact: true }).press("Enter");
    const panel = page.getByRole("dialog", { name: "gpt-5", exact: true });
    await panel.getByText("Requests in 30 days (UTC)").waitFor();
    await panel.getByRole("link", { name: "Requests", exact: true }).waitFor();
    await panel.getByRole("link", { name: "Try it" }).click();
    await page.waitForURL(/\/playground\?model=gpt-5$/);
  });

  test("is where the former addresses of the catalog and of the prices lead, with what they ask for", async () => {
    const { page } = await visit("/catalogue?q=gpt&provider=openai&resolve=smart&stream=1");
    await page.waitForURL(/\/models\?q=gpt&provider=openai&resolve=smart&stream=1$/);
    await page.goto("/pricing?q=gpt");
    await page.waitForURL(/\/models\/prices\?q=gpt$/);
    await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name: "Models" }).click();
    await page.waitForURL(/\/models$/);
  });

  test("reads a refusal to resolve as help", async () => {
    const visitor = await visit("/models?resolve=embed");
    const { page } = visitor;
    visitor.expect(/resolve\?.* answered 400/);
    visitor.expect(/resolve\?.* answered 404/);
    await page.getByText("Missing capabilities: chat. Supported capabilities: embeddings.").waitFor();
    await page.getByRole("button", { name: "Change capabilities" }).waitFor();
    await page.goto("/models?resolve=llama-3.3-70b");
    await page.getByText("its provider together is disabled").waitFor();
    await page.getByRole("link", { name: "Open together" }).waitFor();
    await page.goto("/models?resolve=gpt-5-minni");
    await page.getByText("model_not_found").waitFor();
    await page.getByRole("button", { name: "gpt-5-mini", exact: true }).click();
    await page.getByText("POST https://api.openai.example.com/v1/chat/completions").waitFor();
  });

  test(`draws only the models in sight of ${MODELS_MANY}, and finds any of them`, async () => {
    const largeSite = await browser.newSite();
    const models = Array.from({ length: MODELS_MANY }, (_, place) => [
      `model-${place}`,
      { provider: "large", upstream_name: "up", capabilities: ["chat"] },
    ]);
    const providers = { large: { base_url: "http://127.0.0.1:9/v1" } };
    await call(
      "POST",
      "/catalog",
      { lockport_catalog: 1, providers, models: Object.fromEntries(models) },
      largeSite,
    );
    const { page } = await visit("/models", { at: largeSite });
    await page.getByText("2,000 models").waitFor();
    const table = page.getByRole("region", { name: "Models" });
    expect(await table.getByRole("row").count()).toBeLessThan(60);
    await page.keyboard.press("/");
    await page.keyboard.type("model-1999");
    await page.getByText("1 of 2,000 models").waitFor();
    await table.getByRole("button", { name: "Change model-1999" }).waitFor();
    await shoot(page, "models-large");
  });

  test("offers capabilities in groups, each with the path that it opens, and adds one beside the others", async () => {
    const { page } = await visit("/models?open=gpt-5");
    await page.setViewportSize({ width: 390, height: 844 });
    const picker = page.getByRole("group", { name: "Capabilities" });
    for (const group of ["Conversation", "Text", "Audio and images"])
      await picker.getByRole("group", { name: group, exact: true }).waitFor();
    await picker.getByText("/v1/responses, for Codex and Agents SDKs").waitFor();
    await picker.scrollIntoViewIfNeeded();
    await shoot(page, "capabilities-390");
    await page.getByRole("checkbox", { name: "Responses" }).click();
    const [saved] = await Promise.all([
      page.waitForRequest((request) => request.method() === "PATCH"),
      page.getByRole("button", { name: "Save changes" }).click(),
    ]);
    expect(saved.postDataJSON()).toEqual({ capabilities: ["chat", "chat_stream", "vision", "responses"] });
    await page.getByText(/reports only within output are not metered/).waitFor();
    await page.getByRole("checkbox", { name: "Responses" }).click();
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText(/are not metered/).waitFor({ state: "detached" });
  });
});
