import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { startModelServer, type ModelServer } from "../../contrib/demo/model-server.ts";
import { callApi } from "../support/installation.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { shoot } from "./support/screenshots.ts";
import { inBothThemes } from "./support/themes.ts";
import { signInAsAdmin } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import type { VisitorOptions } from "./support/visitor.ts";
import { waitForFocus, waitForValue } from "./support/waiting.ts";

const browser = useBrowser();

const CHAT_MODELS = ["meta-llama/Llama-3.3-70B", "qwen3", "two words"];
const EMBEDDING_MODELS = ["bge-m3"];
const MANY_MODELS = Array.from({ length: 1500 }, (_, place) => `many/model-${place}`);

let site: Site;
let server: ModelServer;
let largeServer: ModelServer;

beforeAll(async () => {
  server = await startModelServer({ port: 0, chatModels: CHAT_MODELS, embeddingModels: EMBEDDING_MODELS });
  largeServer = await startModelServer({ port: 0, chatModels: MANY_MODELS });
});
afterAll(async () => {
  await server?.stop();
  await largeServer?.stop();
});
beforeEach(async () => {
  site = await browser.newSite();
});

async function visit(path: string, options: Partial<VisitorOptions> = {}) {
  const visitor = await browser.newVisitor({ baseUrl: site.url, ...options });
  await signInAsAdmin(visitor, site);
  await visitor.page.goto(path);
  return visitor;
}

async function call(method: string, path: string, body?: unknown): Promise<any> {
  const response = await callApi(site.url, await site.adminKey(), method, `/admin/v1${path}`, body);
  return JSON.parse(await response.text());
}

async function addProvider(name: string, baseUrl: string, aliases: readonly string[] = []) {
  await call("POST", "/providers", { name, base_url: baseUrl });
  for (const alias of aliases)
    await call("POST", "/models", { alias, provider: name, upstream_name: "qwen3" });
}

describeInBrowser("the providers page", () => {
  test("tests, saves, ticks and adds: nothing is stored before the test, what is added shows its alias, what fails stays with its reason", async () => {
    await addProvider("elsewhere", server.baseUrl, ["taken"]);
    const visitor = await visit("/providers");
    const { page } = visitor;
    await page.getByRole("button", { name: "Add provider" }).first().click();
    await page.getByRole("button", { name: /Other/ }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("lab");
    await page.getByRole("textbox", { name: "Base URL" }).fill(server.baseUrl);
    const [tested] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith("/admin/v1/discover")),
      page.getByRole("button", { name: "Test and save" }).click(),
    ]);
    expect((await tested.json()).models).toHaveLength(4);

    const table = page.getByRole("region", { name: "Models of the provider" });
    await table.getByRole("textbox", { name: "Alias of qwen3" }).fill("taken");
    await waitForValue(table.getByRole("textbox", { name: "Alias of two words" }), "two-words");
    await page.getByRole("button", { name: "Select all (4)" }).click();
    visitor.expect(/admin\/v1\/models answered 409/);
    await page.getByRole("button", { name: "Add 4 models" }).click();
    await page.getByText("3 added; 1 failed, with the reason in the list.").waitFor();
    await table.getByText("A model of this name exists already.").waitFor();
    await table.getByText("alias_exists").waitFor();
    // Bound, it cannot be chosen again.
    await table.getByRole("checkbox", { name: "Add bge-m3", disabled: true }).waitFor();
    expect(await table.getByRole("textbox", { name: "Alias of bge-m3" }).count()).toBe(0);

    await table.getByRole("textbox", { name: "Alias of qwen3" }).fill("lab-qwen");
    await page.getByRole("button", { name: "Add 1 model" }).click();
    await page.getByText("1 added.").waitFor();
    await checkAccessibility(page);
    await page.getByRole("link", { name: "Show them in Models" }).click();
    await page.waitForURL(/\/models\?provider=lab$/);

    const { models } = await call("GET", "/models?provider=lab");
    expect(
      models.map((model: any) => [model.alias, model.upstream_name, model.capabilities.join(), model.origin]),
    ).toEqual([
      ["bge-m3", "bge-m3", "embeddings", "discovered"],
      ["lab-qwen", "qwen3", "chat,chat_stream", "discovered"],
      ["meta-llama/Llama-3.3-70B", "meta-llama/Llama-3.3-70B", "chat,chat_stream", "discovered"],
      ["two-words", "two words", "chat,chat_stream", "discovered"],
    ]);
    // The one that failed changed nothing.
    expect((await call("GET", "/resolve?model=taken")).provider).toBe("elsewhere");
  });

  test("warns of a base URL without /v1, and adds it with one press", async () => {
    const { page } = await visit("/providers");
    await page.getByRole("button", { name: "Add provider" }).first().click();
    const url = page.getByRole("textbox", { name: "Base URL" });
    await waitForValue(url, "https://api.openai.com/v1");
    expect(await page.getByText("expect /v1 at the end").count()).toBe(0);
    await url.fill("http://127.0.0.1:9/");
    await page.getByText("Most servers expect /v1 at the end").waitFor();
    await page.getByRole("button", { name: "Add /v1" }).click();
    await waitForValue(url, "http://127.0.0.1:9/v1");
    await url.fill("http://127.0.0.1:9/v1/chat/completions");
    await page.getByRole("button", { name: "Remove /chat/completions" }).click();
    await waitForValue(url, "http://127.0.0.1:9/v1");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Discard" }).click();
    // The focus is back where the dialog was opened from.
    await waitForFocus(page.getByRole("button", { name: "Add provider" }).first());
  });

  test("reads an unreachable provider as help, and binds by hand", async () => {
    const visitor = await visit("/providers");
    const { page } = visitor;
    visitor.expect(/discover\S* answered 502/);
    await page.getByRole("button", { name: "Add provider" }).first().click();
    await page.getByRole("button", { name: /Ollama/ }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("gone");
    await page.getByRole("textbox", { name: "Base URL" }).fill("http://127.0.0.1:9/v1");
    await page.getByRole("button", { name: "Test and save" }).click();
    await page.getByText("The provider did not answer: connection_error.").waitFor();
    await page.getByText("Nothing is saved.").waitFor();
    await page.getByText("provider_unreachable").waitFor();
    await page.getByText("GET http://127.0.0.1:9/v1/models").waitFor();
    await page.getByText("Nothing listens at 127.0.0.1:9").waitFor();
    expect(await page.getByText('{"error"').count()).toBe(0);
    expect((await call("GET", "/providers")).providers).toEqual([]);
    await checkAccessibility(page);
    await checkFitsSmall(page);

    await page.getByRole("button", { name: "Save anyway" }).click();
    await page.getByText("GET http://127.0.0.1:9/v1/models").waitFor();
    await page.getByRole("textbox", { name: "Add a model that is not listed" }).fill("llama3.2:3b");
    await page.getByRole("button", { name: "Add to the list" }).click();
    await page.getByRole("button", { name: "Add 1 model" }).click();
    await page.getByText("1 added.").waitFor();
    const { models } = await call("GET", "/models?provider=gone");
    expect(models).toMatchObject([{ alias: "llama3.2:3b", origin: "declared" }]);
  });

  test("draws only the models in sight of 1,500, finds one of them and binds it alone", async () => {
    await addProvider("large", largeServer.baseUrl);
    const { page } = await visit("/providers?open=large");
    await page.getByRole("button", { name: "Discover models" }).click();
    const table = page.getByRole("region", { name: "Models of the provider" });
    await page.getByRole("button", { name: "Select all (1,501)" }).waitFor();
    expect(await table.getByRole("row").count()).toBeLessThan(60);
    await page.getByRole("searchbox", { name: "Find a model" }).fill("model-1499");
    await page.getByRole("button", { name: "Select found (1)" }).click();
    // What was ticked is asked about before it is lost.
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Keep editing" }).click();
    await page.getByRole("button", { name: "Add 1 model" }).click();
    await page.getByText("1 added.").waitFor();
    const { models } = await call("GET", "/models?provider=large");
    expect(models.map(({ alias }: any) => alias)).toEqual(["many/model-1499"]);
  });

  test("tells how a provider fares, says which names stop before it disables, and enables again at once", async () => {
    await addProvider("switched", server.baseUrl, ["stops"]);
    await call("POST", "/models", { alias: "stops-too", target: "stops" });
    const ask = (model: string) =>
      callApi(site.url, key, "POST", "/v1/chat/completions", {
        model,
        messages: [{ role: "user", content: "Hello" }],
      }).then((response) => response.text());
    const key = await site.adminKey();
    const { page } = await visit("/providers");
    const row = page.getByRole("row", { name: /switched/ });
    await row.getByText("none in 24 h").waitFor();
    await ask("stops");
    await ask("stops-too");
    await call("POST", "/providers", { name: "away", base_url: "http://127.0.0.1:9/v1" });
    await call("POST", "/models", { alias: "gone", provider: "away", upstream_name: "gone" });
    await ask("gone");
    // Recorded, and in the database.
    while ((await call("GET", "/requests?limit=1")).total < 3);
    await page.reload();
    await row.getByText("just now").waitFor();
    await row.getByText("0%", { exact: true }).waitFor();
    const away = page.getByRole("row", { name: /away/ });
    await away.getByRole("link", { name: "100%" }).waitFor();
    await away.getByText("none in 24 h").waitFor();
    await page.getByRole("switch", { name: "switched enabled" }).click();
    const question = page.getByRole("alertdialog");
    await question.getByRole("link", { name: "stops", exact: true }).waitFor();
    await question.getByRole("link", { name: "stops-too" }).waitFor();
    expect((await call("GET", "/providers/switched")).enabled).toBe(true);
    await checkAccessibility(page);
    await question.getByRole("button", { name: "Disable provider" }).click();
    await page.getByText("switched is disabled").waitFor();
    expect((await call("GET", "/providers/switched")).enabled).toBe(false);
    await row.getByText("disabled: stops, stops-too not served").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("switched is enabled again").waitFor();
    expect((await call("GET", "/providers/switched")).enabled).toBe(true);
    await page.getByRole("switch", { name: "switched enabled" }).click();
    await question.getByRole("button", { name: "Disable provider" }).click();
    await row.getByText("disabled: stops, stops-too not served").waitFor();
    await page.goto("/models?q=stops-too");
    await page
      .getByRole("row", { name: /stops-too/ })
      .getByText("provider disabled")
      .waitFor();
    await page.goto("/providers");
    await page.getByRole("switch", { name: "switched enabled" }).click();
    await page.getByText("switched is enabled", { exact: true }).waitFor();
    expect((await call("GET", "/providers/switched")).enabled).toBe(true);
  });

  test("shows the endpoint URLs that are set and a way to add one, and sends those alone", async () => {
    await addProvider("elsewhere", server.baseUrl);
    const chat = "http://127.0.0.1:9/chat";
    await call("PATCH", "/providers/elsewhere", { endpoints: { chat } });
    const { page } = await visit("/providers?open=elsewhere");
    await page.getByText("Key header, TLS, timeouts, limits and endpoints").click();
    const fields = page.getByRole("group", { name: /^Endpoint URLs/ });
    expect(await fields.getByRole("textbox").count()).toBe(1);
    await page.setViewportSize({ width: 390, height: 844 });
    await fields.getByRole("combobox", { name: "Add an endpoint URL" }).click();
    expect(await page.getByRole("option", { name: /^Chat/ }).count()).toBe(0);
    await page.getByRole("option", { name: "Speech" }).click();
    await fields.getByRole("textbox", { name: "Speech" }).fill("http://127.0.0.1:9/say");
    await shoot(page, "provider-endpoints-390");
    // One that is cleared stays in sight, to be written anew.
    await fields.getByRole("textbox", { name: "Chat" }).fill("");
    expect(await fields.getByRole("textbox").count()).toBe(2);
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText("elsewhere saved").waitFor();
    expect((await call("GET", "/providers/elsewhere")).endpoints).toEqual({
      speech: "http://127.0.0.1:9/say",
    });
  });

  test("sends only what was changed, keeps the stored key unless it is replaced or removed, and never shows it", async () => {
    await addProvider("edited", server.baseUrl);
    await call("PATCH", "/providers/edited", { api_key: "first-key", max_concurrency: 3 });
    const { page } = await visit("/providers?open=edited");
    await page.getByRole("button", { name: "Save changes", disabled: true }).waitFor();
    await page.getByText("Key header, TLS, timeouts, limits and endpoints").click();
    await page.getByRole("textbox", { name: "Read timeout" }).fill("45");
    await page.getByRole("textbox", { name: "Max concurrency" }).fill("");
    const [saved] = await Promise.all([
      page.waitForRequest((request) => request.method() === "PATCH"),
      page.getByRole("button", { name: "Save changes" }).click(),
    ]);
    expect(saved.postDataJSON()).toEqual({ timeout_read: 45, max_concurrency: null });
    await page.getByText("edited saved").waitFor();
    expect(await call("GET", "/providers/edited")).toMatchObject({
      has_credential: true,
      timeout_read: 45,
      max_concurrency: null,
    });
    expect(await page.content()).not.toContain("first-key");
    await page.getByRole("checkbox", { name: "Remove the stored key" }).click();
    await page.getByRole("button", { name: "Test and save" }).click();
    await page.getByRole("checkbox", { name: "Remove the stored key" }).waitFor({ state: "detached" });
    expect((await call("GET", "/providers/edited")).has_credential).toBe(false);
    await page.getByRole("button", { name: "Test", exact: true }).click();
    await page.getByText("It answers, and lists 4 models.").waitFor();
    await checkAccessibility(page);
  });

  test("of Anthropic's is tested with its key as x-api-key, and of another kind as a bearer again", async () => {
    const visitor = await visit("/providers");
    const { page } = visitor;
    visitor.expect(/discover\S* answered 502/);
    await page.getByRole("button", { name: "Add provider" }).first().click();
    await page.getByRole("button", { name: /^Anthropic/ }).click();
    const askedWith = async (baseUrl: string) => {
      await page.getByRole("textbox", { name: "Base URL" }).fill(baseUrl);
      await page.getByRole("textbox", { name: "API key" }).fill("sk-typed");
      const [asked] = await Promise.all([
        page.waitForRequest((request) => request.url().endsWith("/admin/v1/discover")),
        page.getByRole("button", { name: "Test and save" }).click(),
      ]);
      await page.getByText("Nothing is saved.").waitFor();
      return asked.postDataJSON();
    };
    expect(await page.getByRole("textbox", { name: "Name" }).inputValue()).toBe("anthropic");
    expect(await askedWith("http://127.0.0.1:9/v1")).toMatchObject({
      auth_style: "x-api-key",
      api_key: "sk-typed",
    });
    await shoot(page, "provider-add-anthropic");
    await page.getByRole("button", { name: /^Other/ }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("other");
    expect(await askedWith("http://127.0.0.1:9/v2")).not.toHaveProperty("auth_style");
  });

  test("sends the key as x-api-key where that is chosen, and says so under it", async () => {
    await addProvider("claude", server.baseUrl);
    const { page } = await visit("/providers?open=claude");
    await page.getByText("Key header, TLS, timeouts, limits and endpoints").click();
    const choose = async (option: RegExp) => {
      await page.getByRole("combobox", { name: "Credential header" }).click();
      await page.getByRole("option", { name: option }).click();
      const [saved] = await Promise.all([
        page.waitForRequest((request) => request.method() === "PATCH"),
        page.getByRole("button", { name: "Test and save" }).click(),
      ]);
      return saved.postDataJSON();
    };
    expect(await choose(/^x-api-key/)).toEqual({ auth_style: "x-api-key" });
    await page.getByText("claude saved").waitFor();
    expect(await call("GET", "/providers/claude")).toMatchObject({ auth_style: "x-api-key" });
    await page.getByText(/^Sent to the provider as x-api-key\./).waitFor();
    await inBothThemes(page, async () => {
      await checkAccessibility(page);
      await shoot(page, "provider-auth-style");
    });
    expect(await choose(/Bearer/)).toEqual({ auth_style: "bearer" });
    await page.getByText(/^Sent to the provider as a bearer token\./).waitFor();
  });

  test("saves a key that is typed only once it has passed its test, says why it did not, and takes the former one back", async () => {
    const wanted = await startModelServer({ port: 0, keys: ["sk-first", "sk-second"] });
    try {
      await call("POST", "/providers", { name: "kept", base_url: wanted.baseUrl, api_key: "sk-first" });
      const visitor = await visit("/providers?open=kept");
      const { page } = visitor;
      const setAt = async () => (await call("GET", "/providers/kept")).credential_set_at;
      const before = await setAt();
      const green = page.locator("[role=status] .text-good");
      await page.getByRole("button", { name: "Test", exact: true }).click();
      await page.getByText("It answers, and lists 2 models.").waitFor();
      expect(await green.count()).toBe(1);
      const field = page.getByLabel(/^API key/);
      visitor.expect(/kept\/test answered 502/);
      await field.fill("sk-wrong");
      // What was found out before says nothing of it.
      expect(await green.count()).toBe(0);
      await page.getByRole("button", { name: "Test and save" }).click();
      await page
        .getByText("The key was refused: it may be mistyped, expired or from another account.")
        .waitFor();
      await page.getByText("Nothing is saved.").waitFor();
      await page.getByRole("button", { name: "Save anyway" }).waitFor();
      expect([await setAt(), await field.inputValue()]).toEqual([before, "sk-wrong"]);
      await inBothThemes(page, async () => {
        await checkAccessibility(page);
        await shoot(page, "provider-key-refused");
      });
      await checkFitsSmall(page);

      await field.fill("sk-second");
      await page.getByRole("button", { name: "Test and save" }).click();
      await page.getByText("Tested; applies from the next request.").waitFor();
      expect((await setAt()) > before).toBe(true);
      await page.getByText(/^Former key, in use until /).waitFor();
      expect(await field.inputValue()).toBe("");
      await inBothThemes(page, async () => {
        await checkAccessibility(page);
        await shoot(page, "provider-former-key");
      });
      await checkFitsSmall(page);
      await page.getByRole("button", { name: "Take it back" }).click();
      await page.getByText("kept has its former key again").waitFor();
      expect(await setAt()).toBe(before);

      // A stored key goes to no address that was only typed.
      visitor.expect(/kept\/test answered 400/);
      await page.getByRole("textbox", { name: "Base URL" }).fill(server.baseUrl);
      await page.getByRole("button", { name: "Test and save" }).click();
      await page
        .getByText(/give it again to test it with these/)
        .first()
        .waitFor();
      expect((await call("GET", "/providers/kept")).base_url).toBe(wanted.baseUrl);
      await page.getByRole("button", { name: "Save anyway" }).click();
      await page.getByText(/^Former key, in use until /).waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Save changes", disabled: true }).waitFor();
      expect((await call("GET", "/providers/kept")).base_url).toBe(server.baseUrl);

      // The other one asks nobody for a key.
      await field.fill("sk-any");
      await page.getByRole("button", { name: "Test and save" }).click();
      await page.getByText("nothing tells whether this key is right").waitFor();
      expect(await setAt()).toBe(before);
      await page.getByRole("button", { name: "Save anyway" }).click();
      await page.getByText(/^Former key, in use until /).waitFor();
      await page.getByText("Applies from the next request.").last().waitFor();
      expect((await setAt()) > before).toBe(true);
      expect(await page.content()).not.toMatch(/sk-(first|second)/);
    } finally {
      await wanted.stop();
    }
  });

  test("calls a provider without models no success", async () => {
    const empty = await startModelServer({ port: 0, chatModels: [], embeddingModels: [] });
    try {
      await addProvider("empty", empty.baseUrl);
      const { page } = await visit("/providers?open=empty");
      await page.getByRole("button", { name: "Test", exact: true }).click();
      await page.getByText("It answers, but lists no models.").waitFor();
      expect(await page.locator("[role=status] .text-good").count()).toBe(0);
    } finally {
      await empty.stop();
    }
  });

  test("deletes only after the name was typed, and names what goes with it", async () => {
    await addProvider("doomed", server.baseUrl, ["doomed-model"]);
    await call("POST", "/models", { alias: "doomed-name", target: "doomed-model" });
    const { page } = await visit("/providers?open=doomed");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    const question = page.getByRole("alertdialog");
    await question.getByRole("list", { name: "Models removed with it" }).getByText("doomed-model").waitFor();
    await question.getByRole("list", { name: "Names removed with it" }).getByText("doomed-name").waitFor();
    const confirm = question.getByRole("button", { name: "Delete provider" });
    await confirm.and(page.getByRole("button", { disabled: true })).waitFor();
    await question.getByRole("textbox").fill("doomed");
    await confirm.click();
    await page.getByText("doomed deleted").waitFor();
    await page.waitForURL(/\/providers$/);
    expect((await call("GET", "/resolve?model=doomed-name")).error.code).toBe("model_not_found");
  });
});
