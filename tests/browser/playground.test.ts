import { beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { callApi, requestLog } from "../support/installation.ts";
import type { UpstreamCall, UpstreamScript } from "../support/upstream.ts";
import { checkAccessibility } from "./support/axe.ts";
import { describeInBrowser, useBrowser } from "./support/browser.ts";
import { copiedBy } from "./support/clipboard.ts";
import { tabThrough } from "./support/keyboard.ts";
import { checkFitsSmall } from "./support/layout.ts";
import { shoot } from "./support/screenshots.ts";
import type { Site, SiteOptions } from "./support/site.ts";
import type { Renewal, Visitor } from "./support/visitor.ts";
import { eventually, waitForFocus } from "./support/waiting.ts";

const browser = useBrowser();

let site: Site;
let answer: UpstreamScript;
const LAB = {
  upstream: {
    script: (call) => answer(call),
    models: { "chat-large": "acme/large-1", "chat-small": "acme/small-1" },
    pricing: { input_tokens: 2, output_tokens: 10, cached_input_tokens: 0.5 },
  },
} satisfies SiteOptions;

beforeEach(async () => {
  answer = (call) => tellWords(call, ["Hello", " there"]);
  site = await browser.sharedSite(LAB);
  for (const [alias, capabilities] of [
    ["vectors", ["embeddings"]],
    ["whole-answers", ["chat"]],
    ["thinker", ["responses"]],
    ["either", ["chat", "chat_stream", "responses"]],
  ] as const) {
    const model = { alias, provider: "lab", upstream_name: alias, capabilities };
    const response = await callApi(site.url, await site.adminKey(), "POST", "/admin/v1/models", model);
    // A test before this one has added it.
    expect([201, 409]).toContain(response.status);
  }
});
async function adminCall(method: string, path: string, body: unknown): Promise<void> {
  const response = await callApi(site.url, await site.adminKey(), method, `/admin/v1${path}`, body);
  // A try before this one has made it.
  expect([200, 201, 409]).toContain(response.status);
}
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const word = (content: string, finish: string | null = null) =>
  event({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] });
const USAGE = { prompt_tokens: 1000, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 400 } };

async function tellWords(call: UpstreamCall, words: readonly string[], usage: object = USAGE): Promise<void> {
  await call.beginStream();
  for (const text of words) await call.sendChunk(word(text));
  await call.sendChunk(word("", "stop") + event({ choices: [], usage }) + "data: [DONE]\n\n");
  await call.endStream();
}

async function open(path = "/playground", options: Renewal = {}): Promise<Visitor> {
  const visitor = await browser.sharedVisitor(site, options);
  await visitor.page.goto(path);
  // Before it is known which models there are, none can be asked.
  const model = visitor.page.getByRole("combobox", { name: "Model" });
  await eventually(async () => expect(await model.inputValue()).not.toBe(""));
  return visitor;
}

const message = (page: Page) => page.getByRole("textbox", { name: "Message", exact: true });
const figure = (page: Page, name: string) =>
  page.locator("dl div", { has: page.getByText(name, { exact: true }) });

async function ask(page: Page, text: string): Promise<void> {
  await message(page).fill(text);
  await message(page).press("Control+Enter");
}

describeInBrowser("the playground", () => {
  test("asks the chosen model with what is set and nothing else, and shows who answered, what it took and the cost that the log has", async () => {
    const { page } = await open("/playground?model=chat-large");
    await ask(page, "First\n  question");
    await page.getByText("Hello there").waitFor();
    const link = page.getByRole("link", { name: "Open the request" });
    await link.waitFor();
    const sent = site.upstream!.lastRequest();
    expect(JSON.parse(sent.body.toString())).toEqual({
      model: "acme/large-1",
      messages: [{ role: "user", content: "First\n  question" }],
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(sent.headers.get("x-proxy-tags")).toBeUndefined();
    const [row] = await requestLog(site.url, await site.adminKey(), "app:playground");
    expect(row).toMatchObject({
      model: "chat-large",
      outcome: "ok",
      streamed: true,
      tags: ["app:playground"],
    });
    // 600 × $2 + 400 × $0.50 + 20 × $10, per million.
    expect(row!.cost).toBe(0.0016);
    await figure(page, "Cost").getByText("$0.0016").waitFor();
    await figure(page, "Provider").getByText("lab").waitFor();
    await figure(page, "Upstream name").getByText("acme/large-1").waitFor();
    await figure(page, "Tokens").getByText("1k in · 20 out · 400 cached").waitFor();
    await link.click();
    await page.waitForURL(/\/requests\?open=[0-9a-f-]{36}$/);
  });

  test("asks a model that has only responses by them, and another by what is chosen, with figures and errors as of chat", async () => {
    const tell = (type: string, fields: object) => event({ type, ...fields });
    const usage = {
      input_tokens: 1000,
      output_tokens: 20,
      total_tokens: 1020,
      input_tokens_details: { cached_tokens: 400 },
    };
    answer = async (call) => {
      if (call.request.target !== "/v1/responses") return tellWords(call, ["By", " chat"]);
      await call.beginStream();
      for (const delta of ["By", " responses"])
        await call.sendChunk(tell("response.output_text.delta", { delta }));
      const response = { id: "resp_1", object: "response", status: "completed", usage };
      await call.sendChunk(tell("response.completed", { response }));
      await call.endStream();
    };
    const { page } = await open("/playground?model=thinker");
    expect(await page.getByRole("combobox", { name: "Endpoint" }).count()).toBe(0);
    await ask(page, "A question");
    await page.getByText("By responses").waitFor();
    await figure(page, "Tokens").getByText("1k in · 20 out · 400 cached").waitFor();
    expect(JSON.parse(site.upstream!.lastRequest().body.toString())).toEqual({
      model: "thinker",
      input: [{ role: "user", content: "A question" }],
      store: false,
      stream: true,
    });
    await page.goto("/playground?model=either");
    await ask(page, "By default");
    await page.getByText("By chat").waitFor();
    await page.getByRole("combobox", { name: "Endpoint" }).click();
    await page.getByRole("option", { name: "Responses" }).click();
    await ask(page, "By choice");
    await page.getByText("By responses").waitFor();
    await page.getByRole("link", { name: "Open the request" }).nth(1).waitFor();
    await shoot(page, "playground-responses");
    answer = async (call) => {
      await call.beginStream();
      await call.sendChunk(
        tell("response.failed", {
          response: {
            id: "resp_2",
            object: "response",
            status: "failed",
            error: { code: "server_error", message: "It broke." },
          },
        }),
      );
      await call.endStream();
    };
    await ask(page, "And now?");
    await page.getByText("It broke.", { exact: true }).waitFor();
    await page.getByText("The error comes from the provider lab (HTTP 200).").waitFor();
  });

  test("tells a request that did not reach its provider as not sent, and not as unpriced", async () => {
    const call = (path: string, body: unknown) => adminCall("POST", path, body);
    await call("/providers", { name: "away", base_url: "http://127.0.0.1:9/v1" });
    const away = { alias: "unreached", provider: "away", upstream_name: "m", pricing: { input_tokens: 1 } };
    await call("/models", { ...away, capabilities: ["chat", "chat_stream"] });
    const visitor = await open("/playground?model=unreached");
    const { page } = visitor;
    visitor.expect(/^request: POST .*\/v1\/chat\/completions answered 502$/);
    await ask(page, "Anybody there?");
    await figure(page, "Cost").getByText("none: not sent").waitFor();
    expect(await page.getByText("Unpriced").count()).toBe(0);
    await shoot(page, "playground-not-sent");
  });

  test("tells the model what was said before, the system message and the numbers that are set", async () => {
    const { page } = await open("/playground?model=chat-small");
    await page.getByRole("textbox", { name: "System message" }).fill("Be brief.");
    await page.getByRole("textbox", { name: "Temperature" }).fill("0.5");
    await page.getByRole("textbox", { name: "Max tokens" }).fill("64");
    await ask(page, "One");
    await page.getByText("Hello there").waitFor();
    await page.getByRole("link", { name: "Open the request" }).waitFor();
    await ask(page, "Two");
    await page.getByText("Hello there").nth(1).waitFor();
    expect(JSON.parse(site.upstream!.lastRequest().body.toString())).toMatchObject({
      temperature: 0.5,
      max_tokens: 64,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "One" },
        { role: "assistant", content: "Hello there" },
        { role: "user", content: "Two" },
      ],
    });
    await page.getByRole("link", { name: "Open the request" }).nth(1).waitFor();
  });

  test("shows an ended answer as Markdown whose HTML, pictures and scripts stay text, and copies it as it came", async () => {
    const markdown = [
      "## Steps",
      "1. **Stop** the `server`",
      "2. [read](https://example.com/docs), [run](javascript:alert(1))",
      "",
      "| a | b |\n|---|---|\n| 1 | <img src=x onerror=alert(1)> |",
      "",
      "![picture](https://example.com/p.png)",
      "",
      "```sh\nls -l\n```",
    ].join("\n");
    answer = (call) => tellWords(call, [markdown]);
    const { page } = await open("/playground?model=chat-small");
    await ask(page, "How?");
    const shown = page.getByRole("region", { name: "Conversation" });
    await shown.getByRole("listitem").getByText("Stop", { exact: true }).waitFor();
    expect(await shown.getByRole("link", { name: "read" }).getAttribute("rel")).toBe("noopener noreferrer");
    expect(await shown.getByRole("link", { name: "picture" }).count()).toBe(1);
    expect(await shown.getByRole("link", { name: "run" }).count()).toBe(0);
    expect(await shown.locator("img, script").count()).toBe(0);
    await shown.getByRole("cell", { name: "<img src=x onerror=alert(1)>" }).waitFor();
    await shown.getByRole("region", { name: "sh" }).getByText("ls -l").waitFor();
    const copied = await copiedBy(page, () => page.getByRole("button", { name: "Copy the answer" }).click());
    expect(copied).toBe(markdown);
    await page.getByRole("link", { name: "Open the request" }).waitFor();
    await checkAccessibility(page);
    await shoot(page, "playground-markdown");
  });

  test("asks two models one question side by side, each with its figures, and gives an answer's request as curl", async () => {
    answer = (call) =>
      tellWords(call, [call.request.body.toString().includes("acme/large-1") ? "From large" : "From small"]);
    const { page } = await open("/playground?model=chat-large");
    await page.getByRole("button", { name: "Compare with another model" }).click();
    await page.getByRole("combobox", { name: "Compared with" }).fill("chat-small");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await ask(page, "Which of you?");
    const shown = page.getByRole("region", { name: "Conversation" });
    await shown.getByText("From large", { exact: true }).waitFor();
    await shown.getByText("From small", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Open the request" }).nth(1).waitFor();
    expect(await shown.getByText("Which of you?", { exact: true }).count()).toBe(1);
    expect(await figure(page, "Cost").count()).toBe(2);
    expect(await figure(page, "First byte").count()).toBe(2);
    const curl = await copiedBy(page, () =>
      page.getByRole("button", { name: "As curl with my key" }).nth(1).click(),
    );
    expect(curl).toContain("/v1/chat/completions' \\");
    expect(curl).toContain('-H "authorization: Bearer $LOCKPORT_KEY"');
    expect(curl).toContain('"model":"chat-small"');
    expect(curl).toContain("Which of you?");
    await checkFitsSmall(page);
    await shoot(page, "playground-compared");

    // Each is told its own answers from then on.
    await ask(page, "And now?");
    await page.getByRole("link", { name: "Open the request" }).nth(3).waitFor();
    const bodies = site.upstream!.requests.slice(-2).map(({ body }) => JSON.parse(body.toString()));
    expect(
      Object.fromEntries(
        bodies.map(({ model, messages }) => [model, messages.map((one: any) => one.content)]),
      ),
    ).toEqual({
      "acme/large-1": ["Which of you?", "From large", "And now?"],
      "acme/small-1": ["Which of you?", "From small", "And now?"],
    });
    await page.getByRole("button", { name: "Stop comparing" }).click();
    await page.getByRole("button", { name: "Compare with another model" }).waitFor();
  });

  test("sends nothing while a number cannot be read, and goes to it", async () => {
    const { page } = await open("/playground?model=chat-small");
    const before = site.upstream!.requests.length;
    await page.getByRole("textbox", { name: "Max tokens" }).fill("many");
    await ask(page, "Hello?");
    await page.locator("[aria-invalid=true]:focus").waitFor();
    expect(await message(page).inputValue()).toBe("Hello?");
    expect(site.upstream!.requests.length).toBe(before);
  });

  test("keeps its draft over other pages and a reload, also what is typed before the models are known, and nothing that was sent", async () => {
    const { page } = await open("/playground?model=chat-small");
    await ask(page, "Sent already");
    await page.getByText("Hello there").waitFor();
    await message(page).fill("Not yet sent");
    await page.getByRole("textbox", { name: "System message" }).fill("Be brief.");
    await page.getByRole("textbox", { name: "Temperature" }).fill("0.5");
    await page.getByRole("combobox", { name: "Model" }).fill("large");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\?model=chat-large$/);
    const holds = async () => {
      expect(await message(page).inputValue()).toBe("Not yet sent");
      expect(await page.getByRole("textbox", { name: "System message" }).inputValue()).toBe("Be brief.");
      expect(await page.getByRole("textbox", { name: "Temperature" }).inputValue()).toBe("0.5");
      const model = page.getByRole("combobox", { name: "Model" });
      await eventually(async () => expect(await model.inputValue()).toBe("chat-large"));
    };
    await page.getByRole("link", { name: "My keys" }).click();
    await page.getByRole("heading", { level: 1, name: "My keys" }).waitFor();
    await page.getByRole("link", { name: "Playground" }).click();
    await holds();
    await page.reload();
    await holds();
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain("Sent already");

    const listed = Promise.withResolvers<void>();
    await page.route("**/v1/models?*", async (route) => {
      await listed.promise;
      await route.continue();
    });
    await page.reload();
    const model = page.getByRole("combobox", { name: "Model" });
    await model.pressSequentially("small");
    listed.resolve();
    await page.getByRole("option", { name: /chat-small/ }).waitFor();
    expect(await model.inputValue()).toBe("small");
  });

  test("stops an answer at the provider too, keeps what had come, and lets the focus stay where one writes", async () => {
    const gone = Promise.withResolvers<void>();
    answer = async (call) => {
      await call.beginStream();
      await call.sendChunk(word("Half of it"));
      await call.closed;
      gone.resolve();
    };
    const { page } = await open("/playground?model=chat-large");
    await ask(page, "Begin");
    await page.getByText("Half of it").waitFor();
    await page.locator("[aria-live][aria-busy=true]").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await gone.promise;
    await page.getByText("stopped", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Open the request" }).waitFor();
    await figure(page, "Outcome").getByText("Cancelled").waitFor();
    await page.getByText("Half of it").waitFor();
    await waitForFocus(message(page));
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  test("ends an answer at the provider when the page is left, and has nothing of it afterwards", async () => {
    const gone = Promise.withResolvers<void>();
    answer = async (call) => {
      await call.beginStream();
      await call.sendChunk(word("Unwanted"));
      await call.closed;
      gone.resolve();
    };
    const { page } = await open("/playground?model=chat-large");
    await ask(page, "A private question");
    await page.getByText("Unwanted").waitFor();
    await page.getByRole("link", { name: "My keys" }).click();
    await gone.promise;
    await page.getByRole("link", { name: "Playground" }).click();
    await page.getByText("Send a message to a model").waitFor();
    const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]));
    expect(kept).not.toContain("private question");
    expect(await page.getByText("Unwanted").count()).toBe(0);
  });

  test("says that an error comes from the provider, shows its answer as text, and asks again", async () => {
    answer = (call) =>
      call.reply({
        status: 429,
        headers: ["content-type: application/json"],
        body: JSON.stringify({ error: { message: "Slow <b>down</b>.", type: "rate_limit_error" } }),
      });
    const visitor = await open("/playground?model=chat-large");
    visitor.expect(/^request: POST .*\/v1\/chat\/completions answered 429$/);
    const { page } = visitor;
    await ask(page, "Hurry");
    await page.getByText("The error comes from the provider lab (HTTP 429).").waitFor();
    await page.getByRole("alert").getByText("Slow <b>down</b>.").first().waitFor();
    await page.getByText("Response of the provider").click();
    await page.getByRole("region", { name: "Response body" }).getByText("rate_limit_error").waitFor();
    await page.getByRole("link", { name: "Open the request" }).waitFor();
    await figure(page, "Outcome").getByText("Upstream error").waitFor();
    answer = (call) => tellWords(call, ["Now"]);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Now", { exact: true }).waitFor();
    expect(JSON.parse(site.upstream!.lastRequest().body.toString()).messages).toEqual([
      { role: "user", content: "Hurry" },
    ]);
    expect(await page.getByRole("alert").count()).toBe(0);
    await page.getByRole("link", { name: "Open the request" }).waitFor();
  });

  test("says that the provider answered with a redirect, which the page does not follow", async () => {
    answer = (call) =>
      call.send("HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n");
    const { page } = await open("/playground?model=chat-large");
    await ask(page, "Are you there?");
    const alert = page.getByRole("alert");
    await alert.getByText("Lockport never follows one").waitFor();
    await page.getByText("The error comes from the provider.").waitFor();
    // A browser keeps to itself which request it was: none is shown in its place.
    await page.getByRole("link", { name: "Find the request" }).waitFor();
    expect(await page.getByRole("link", { name: "Open the request" }).count()).toBe(0);
    expect(await page.getByText("does not respond").count()).toBe(0);
    await shoot(page, "playground-redirect");
  });

  test("says that no answer could be had from the provider, with the figures of the log alone", async () => {
    answer = (call) => call.reset();
    const visitor = await open("/playground?model=chat-large");
    visitor.expect(/^request: POST .*\/v1\/chat\/completions answered 502$/);
    const { page } = visitor;
    await ask(page, "Anybody?");
    await page.getByText("Lockport could not get an answer from the provider lab.").waitFor();
    await page.getByRole("link", { name: "Open the request" }).waitFor();
    await figure(page, "Outcome").getByText("Unreachable").waitFor();
    expect(await figure(page, "First byte").textContent()).toBe("First byte–");
  });

  test("says that the proxy refused, and looks for no request, when no provider was asked", async () => {
    const visitor = await open("/playground?model=whole-answers");
    const { page } = visitor;
    await page.getByText("This model does not support streaming.").waitFor();
    expect((await site.cli("model", "remove", "whole-answers", "--yes")).code).toBe(0);
    visitor.expect(/^request: POST .*\/v1\/chat\/completions answered 404$/);
    await ask(page, "Anybody?");
    await page.getByText("Lockport refused the request (HTTP 404); no provider was asked.").waitFor();
    await page.getByText("model_not_found").waitFor();
    expect(await page.getByText("Request log").count()).toBe(0);
  });

  test("lists every model, says why one cannot chat, and lets nobody choose it", async () => {
    const { page } = await open();
    const field = page.getByRole("combobox", { name: "Model" });
    await field.click();
    const vectors = page.getByRole("option", { name: /vectors/ });
    expect(await vectors.textContent()).toContain("embeddings only: it cannot chat");
    expect(await vectors.getAttribute("aria-disabled")).toBe("true");
    await field.fill("small");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\?model=chat-small$/);
    await page.getByText("Per million: input tokens $2.00").waitFor();
    await page.goto("/playground?model=vectors");
    await page.getByText("vectors has embeddings only: it cannot chat.").waitFor();
    const before = site.upstream!.requests.length;
    await ask(page, "Hello?");
    expect(await message(page).inputValue()).toBe("Hello?");
    expect(site.upstream!.requests.length).toBe(before);
  });

  test("shows an answer as the text that it is, with every space, and copies it whole", async () => {
    const text = '<img src=x onerror="alert(1)">\n\n    indented\t**not bold**\n'.repeat(200);
    answer = (call) => tellWords(call, text.match(/[^]{1,100}/g)!);
    const { page } = await open("/playground?model=chat-large");
    await ask(page, "Code, please");
    await page.getByRole("link", { name: "Open the request" }).waitFor();
    const copied = await copiedBy(page, () => page.getByRole("button", { name: "Copy the answer" }).click());
    expect(copied).toBe(text);
    expect(await page.locator("main img, main b, main strong").count()).toBe(0);
  });

  test("draws of a very long answer what is new, and not all of it with every word", async () => {
    const line = `${"A line of a long answer that somebody wanted. ".repeat(3)}\n`;
    const lines = Array.from({ length: 6_000 }, () => line);
    const length = line.length * lines.length;
    answer = (call) => tellWords(call, lines);
    const { page } = await open("/playground?model=chat-large");
    await page.evaluate(() => {
      const drawn = { length: 0, times: 0 };
      Object.assign(globalThis, { drawn });
      new MutationObserver((changes) => {
        drawn.times += 1;
        for (const { target, type, addedNodes } of changes) {
          const texts = type === "characterData" ? [target] : addedNodes;
          for (const text of texts) drawn.length += text.textContent?.length ?? 0;
        }
      }).observe(document.querySelector("main") ?? document, {
        childList: true,
        characterData: true,
        subtree: true,
      });
    });
    await ask(page, "All of it");
    await page.getByRole("link", { name: "Open the request" }).waitFor({ timeout: 60_000 });
    const shown = (await page.locator("[aria-live]").allTextContents()).join("");
    expect(shown).toContain(line.repeat(3));
    expect(shown.length).toBeGreaterThanOrEqual(length);
    const drawn = await page.evaluate<{ length: number; times: number }>("globalThis.drawn");
    // A piece is drawn once as it comes and once when it is whole; besides, there is the one that is written to.
    expect(drawn.length).toBeLessThan(2.5 * length + drawn.times * 4_000);
  });

  test.each(["light", "dark"] as const)(
    "has no accessibility fault, fits a telephone, and is walked through by Tab, in the %s theme",
    async (theme) => {
      const { page } = await open("/playground?model=chat-large", { theme });
      await checkAccessibility(page, theme);
      await ask(page, "Hello");
      await page.getByRole("link", { name: "Open the request" }).waitFor();
      await checkAccessibility(page, theme);
      if (theme === "light") await checkFitsSmall(page);
      await tabThrough(page);
      await shoot(page, `playground-${theme}`);
      await page.getByRole("button", { name: "New conversation" }).click();
      await page.getByText("Send a message to a model").waitFor();
      await waitForFocus(message(page));
    },
  );
});
