import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { startModelServer, type ModelServer } from "../../contrib/demo/model-server.ts";
import { LIVE_MODELS } from "../../contrib/demo/catalogue.ts";
import { callApi } from "../support/installation.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamCall } from "../support/upstream.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { copiedBy } from "./support/clipboard.ts";
import { checkFits } from "./support/layout.ts";
import { rest } from "./support/rest.ts";
import { runInShell } from "./support/shell.ts";
import { makeLoginLink } from "./support/sign-in.ts";
import type { Site } from "./support/site.ts";
import { inBothThemes } from "./support/themes.ts";
import { eventually } from "./support/waiting.ts";

const browser = useBrowser();

/** What the relay reaches: it answers as the messages API does, to whoever brings a credential of their own. */
const MESSAGE = JSON.stringify({
  type: "message",
  model: "claude-haiku-4-5-20251001",
  content: [{ type: "text", text: "Hello by the relay." }],
  usage: { input_tokens: 10, output_tokens: 5 },
});

const HALF = "I have read half of";
/** Answers half-way and then says nothing more, until its caller leaves. */
async function answerHalf(call: UpstreamCall): Promise<void> {
  await call.beginStream();
  await call.sendChunk(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: HALF } }] })}\n\n`);
}

let models: ModelServer;
let messages: ScriptedUpstream;
let site: Site;
beforeAll(async () => {
  models = await startModelServer({
    port: 0,
    wordPauseMs: 15,
    chatModels: LIVE_MODELS.chat,
    embeddingModels: LIVE_MODELS.embeddings,
  });
  messages = await startUpstream({ script: (call) => call.reply({ body: MESSAGE }) });
});
afterAll(async () => {
  await messages?.stop();
  await models?.stop();
});
beforeEach(async () => {
  site = await browser.newSite({
    demo: { days: 5, liveBaseUrl: models.baseUrl },
    upstream: { script: answerHalf, models: { "half-way": "half" } },
    env: { PROXY_MESSAGES_BASE_URL: messages.baseUrl.replace(/\/v1$/, "") },
  });
});

/** By a link, as `linus`, who is no admin. */
async function visit(path: string, timezoneId?: string) {
  const visitor = await browser.newVisitor({ baseUrl: site.url, ...(timezoneId && { timezoneId }) });
  const { page } = visitor;
  await page.goto(await makeLoginLink(site, "linus"));
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  const name = new Map([
    ["/usage", "My usage"],
    ["/requests", "Requests"],
    ["/keys", "My keys"],
    ["/playground", "Playground"],
    ["/relay-tokens", "Relay tokens"],
  ]).get(path);
  if (name === undefined) return visitor;
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
  return visitor;
}

const look = async (page: Page) => {
  await rest(page);
  await inBothThemes(page, async () => {
    await checkAccessibility(page);
    await checkFits(page);
  });
};

async function ask(key: string, model = "qwen3-coder"): Promise<Response> {
  const body = { model, messages: [{ role: "user", content: "three small words" }] };
  return await callApi(site.url, key, "POST", "/v1/chat/completions", body, { "user-agent": "member-day/1" });
}

const rows = (page: Page) =>
  page.getByRole("region", { name: "Requests", exact: true }).locator("tbody tr[data-index]");

describeInBrowser("a member's day", () => {
  test("begins with the team's overview, without an item of admins, and asks nothing of their interface", async () => {
    const visitor = await visit("/");
    const { page } = visitor;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.getByRole("rowheader").first().waitFor();
    const links = await page.getByRole("navigation", { name: "Pages" }).getByRole("link").allTextContents();
    expect(links).toContain("My usage");
    for (const name of ["Providers", "People & keys", "Prices", "Audit"]) {
      expect(links).not.toContain(name);
    }
    // What is unpriced is told; the way to the prices is for those who may change them.
    expect(await page.locator("main a[href^='/models/prices']").count()).toBe(0);
    await look(page);
    await page.getByRole("button", { name: /^Account: linus/ }).click();
    expect(await page.getByRole("menu").innerText()).toContain("member");
    await look(page);
    await page.keyboard.press("Escape");
    expect(asked.filter((path) => path.startsWith("/admin"))).toEqual([]);
    const refused = await page.evaluate(async () => (await fetch("/admin/v1/models")).status);
    expect(refused).toBe(403);
    visitor.expect(/^request: GET .*\/admin\/v1\/models answered 403$/);
  });

  test("shows their own usage alone: as many requests as the log has of them", async () => {
    const { page } = await visit("/usage");
    await page.getByRole("rowheader").first().waitFor();
    const since = new Date(Date.now() - 29 * 86_400_000).toISOString().slice(0, 10);
    const response = await callApi(
      site.url,
      await site.adminKey(),
      "GET",
      `/stats/requests?limit=1&principal=linus&since=${since}`,
    );
    const { total } = JSON.parse(await response.text());
    expect(total).toBeGreaterThan(20);
    const tile = page.getByRole("group", { name: "Requests", exact: true });
    await tile.getByText(total.toLocaleString("en-US"), { exact: true }).waitFor();
    await look(page);
    await page.getByRole("link", { name: "My requests" }).click();
    await page.getByRole("list", { name: "Active filters" }).getByText("person: linus").waitFor();
    await page.getByText(`of ${total.toLocaleString("en-US")} requests`).waitFor();
  });

  test("filters the requests into an address that shows the same when it is loaded again, and by somebody else", async () => {
    const { page } = await visit("/requests");
    await rows(page).first().waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("qwen3-coder");
    await look(page);
    await page
      .getByRole("option", { name: /model.*qwen3-coder|^qwen3-coder/ })
      .first()
      .click();
    await page.waitForURL(/model=qwen3-coder/);
    await page.keyboard.press("/");
    await page.keyboard.type("failed");
    await page
      .getByRole("option", { name: /failed/i })
      .first()
      .click();
    await page.waitForURL(/outcome=failed/);
    await page.getByRole("button", { name: /^Window/ }).click();
    await look(page);
    await page.getByRole("button", { name: "All time", exact: true }).click();
    await page.waitForURL(/range=all/);
    await rest(page);
    const shown = async (where: Page) => ({
      filters: await where.getByRole("list", { name: "Active filters" }).allInnerTexts(),
      place: await where
        .getByRole("navigation", { name: "Pages of requests" })
        .getByRole("status")
        .innerText(),
      rows: await rows(where).evaluateAll((all) => all.map((row) => row.querySelector("time")?.dateTime)),
    });
    const before = await shown(page);
    expect(before.rows.length).toBeGreaterThan(0);
    const address = page.url();
    await page.reload();
    await rows(page).first().waitFor();
    await rest(page);
    expect(page.url()).toBe(address);
    await eventually(async () => expect(await shown(page)).toEqual(before));
    const other = await visit("/", "America/Anchorage");
    await other.page.goto(address);
    await rows(other.page).first().waitFor();
    await rest(other.page);
    await eventually(async () => expect(await shown(other.page)).toEqual(before));
    await page.goBack();
    await page.waitForURL((url) => !url.searchParams.has("range"));
    await page.goBack();
    await page.waitForURL((url) => !url.searchParams.has("outcome"));
    await page.getByRole("list", { name: "Active filters" }).getByText("model: qwen3-coder").waitFor();
  });

  test("makes a key, runs the snippet with it, sees the request arrive live with its cost, and ends the key", async () => {
    const visitor = await visit("/keys");
    const { page, context } = visitor;
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("textbox", { name: "Label" }).fill("day");
    await page.keyboard.press("Enter");
    const key = await page.getByRole("textbox", { name: "Key", exact: true }).inputValue();
    await look(page);
    await copiedBy(page, () => page.getByRole("button", { name: "Copy key" }).click());
    await page.getByRole("button", { name: "Done" }).click();

    const tail = await context.newPage();
    await tail.goto("/requests?client=member-day&range=1h");
    await tail.getByText("Updated just now").waitFor();
    await rest(tail);
    expect(await rows(tail).count()).toBe(0);
    expect((await ask(key)).status).toBe(200);
    await rows(tail).first().waitFor();
    expect(await rows(tail).count()).toBe(1);
    for (const part of ["linus", "qwen3-coder", "$0.00000"])
      await rows(tail).first().getByText(part).first().waitFor();
    await look(tail);
    await tail.close();

    await page.bringToFront();
    await page.getByRole("button", { name: "Delete key day" }).click();
    await look(page);
    await page.getByRole("button", { name: "Delete key", exact: true }).click();
    await page.getByText("Requests with it are refused.").first().waitFor();
    const refused = await ask(key);
    expect(refused.status).toBe(401);
    expect(JSON.parse(await refused.text()).error.code).toBe("invalid_api_key");
  });

  test("asks a model in the playground, and stops an answer half-way", async () => {
    const { page } = await visit("/playground");
    const model = page.getByRole("combobox", { name: "Model" });
    // The page chooses a model once it knows which there are: until then it would take the place of what is typed.
    await eventually(async () => expect(await model.inputValue()).not.toBe(""));
    await model.fill("qwen3-coder");
    await page.getByRole("option", { name: /qwen3-coder/ }).click();
    const message = page.getByRole("textbox", { name: "Message", exact: true });
    await message.fill("one two three");
    await page.keyboard.press("Control+Enter");
    await page.getByText("I have read the 3 words that you sent.").waitFor();
    await page.getByRole("link", { name: "Open the request" }).waitFor();
    await look(page);

    // A model whose answer is not at its end before the button is pressed, however busy the machine is.
    await model.fill("half-way");
    await page.getByRole("option", { name: /half-way/ }).click();
    await message.fill("one two three four");
    await page.keyboard.press("Control+Enter");
    await page.getByText(HALF).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("stopped", { exact: true }).waitFor();
    await site.upstream?.allClosed();
    await page.getByText(HALF).waitFor();
    await page.getByRole("link", { name: "Open the request" }).nth(1).click();
    await page.getByRole("dialog", { name: "half-way" }).getByText("Cancelled").first().waitFor();
    await look(page);
  });

  test("makes a relay token whose snippet reaches the messages API, and counts for them", async () => {
    const { page } = await visit("/relay-tokens");
    await page.getByRole("button", { name: "Create a relay token" }).click();
    await page.getByRole("textbox", { name: "Label" }).fill("shell");
    await page.keyboard.press("Enter");
    const token = await page.getByRole("textbox", { name: "Relay token", exact: true }).inputValue();
    await look(page);
    await copiedBy(page, () => page.getByRole("button", { name: "Copy relay token" }).click());
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("rowheader", { name: "shell" }).waitFor();
    const answer = await runInShell(
      `curl -sS '${site.url}/transparent/messages/${token}/v1/messages' -H 'x-api-key: of-their-own' \
        -H 'content-type: application/json' -d '{"model":"claude-haiku-4-5-20251001","max_tokens":5,"messages":[]}'`,
    );
    expect(answer).toBe(MESSAGE);
    expect(messages.lastRequest().headers.get("x-api-key")).toBe("of-their-own");
    expect(messages.lastRequest().head).not.toContain(token);
    await page.goto("/requests?principal=linus&model=claude-haiku-4-5-20251001&client=curl&range=1h");
    await rows(page).first().waitFor();
    expect(await rows(page).count()).toBe(1);
    await rows(page).first().click();
    const panel = page.getByRole("dialog", { name: "claude-haiku-4-5-20251001" });
    await panel.getByText("/v1/messages").first().waitFor();
    await panel.getByText("Relay token", { exact: true }).waitFor();
    await look(page);
    expect(await page.content()).not.toContain(token);
  });
});
