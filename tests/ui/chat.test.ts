import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { MODELS, PROVIDERS } from "../../ui/api/catalog.ts";
import { fetchRequests } from "../../ui/api/reports.ts";
import { streamChat, type ChatDelta, type ChatRequest } from "../../ui/api/chat.ts";
import { ApiFailure } from "../../ui/api/failure.ts";
import { signInWithPassword } from "../../ui/api/session.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamCall } from "../support/upstream.ts";
import { openPage, type TestPage } from "./page.ts";

let page: TestPage;
let upstream: ScriptedUpstream;

beforeEach(async () => {
  page = await openPage();
  upstream = await startUpstream();
  await signInWithPassword(page.app.adminPassword);
  await PROVIDERS.create.run({ name: "acme", base_url: upstream.baseUrl, api_key: "secret" });
  await MODELS.create.run({ alias: "org/chat", provider: "acme", upstream_name: "modèle/1" });
});
afterEach(async () => {
  await page.close();
  await upstream.stop();
});

/** Asks for a streamed answer, lets the upstream do its part, and says how both ended. */
async function chat(script: (call: UpstreamCall) => Promise<unknown>, request: Partial<ChatRequest> = {}) {
  const deltas: ChatDelta[] = [];
  const asked = streamChat({
    model: "org/chat",
    messages: [{ role: "user", content: "hello" }],
    onDelta: (delta) => deltas.push(delta),
    ...request,
  }).then(
    (ending) => ({ ending, failure: null }),
    (failure: unknown) => ({ ending: null, failure }),
  );
  await script(await upstream.nextCall());
  return { deltas, ...(await asked) };
}

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const delta = (fields: unknown, finish: string | null = null) =>
  event({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });

describe("an answer of a model", () => {
  test("comes piece by piece, and ends with who gave it and what it used, as the request log has it", async () => {
    const { deltas, ending } = await chat(async (call) => {
      await call.beginStream();
      const bytes = Buffer.from(
        delta({ role: "assistant", reasoning_content: "hm" }) + delta({ content: "Grüße" }),
      );
      // Within the two bytes of a letter.
      const cut = bytes.indexOf("ü") + 1;
      await call.sendChunk(bytes.subarray(0, cut));
      await call.sendChunk(bytes.subarray(cut));
      await call.sendChunk(delta({ content: "!" }, "stop"));
      const details = { prompt_tokens_details: { cached_tokens: 4 } };
      await call.sendChunk(
        event({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 2, ...details } }),
      );
      await call.sendChunk("data: [DONE]\n\n");
      await call.endStream();
    });
    expect(deltas).toEqual([
      { kind: "reasoning", text: "hm" },
      { kind: "text", text: "Grüße" },
      { kind: "text", text: "!" },
    ]);
    const { requests } = await fetchRequests({ model: "org/chat" }, {});
    expect(requests).toHaveLength(1);
    expect(ending).toEqual({
      status: 200,
      provider: "acme",
      upstreamName: "modèle/1",
      requestId: requests[0]?.id ?? null,
      usage: { input_tokens: 6, output_tokens: 2, cached_input_tokens: 4 },
      finishReason: "stop",
    });
    expect(requests[0]).toMatchObject({ principal: "admin", key_id: null, outcome: "ok" });
  });

  test("is asked for with the page's settings, and never with another model or a stream that was not wanted", async () => {
    const { deltas, ending } = await chat(
      (call) => {
        expect(JSON.parse(call.request.body.toString())).toEqual({
          temperature: 0.5,
          model: "modèle/1",
          messages: [{ role: "user", content: "hello" }],
        });
        expect(call.request.headers.get("cookie")).toBeUndefined();
        const message = { role: "assistant", content: "whole" };
        return call.reply({
          body: JSON.stringify({
            choices: [{ message, finish_reason: "length" }],
            usage: { prompt_tokens: 1 },
          }),
        });
      },
      { stream: false, settings: { temperature: 0.5, model: "another" } },
    );
    expect(deltas).toEqual([{ kind: "text", text: "whole" }]);
    expect(ending).toMatchObject({ finishReason: "length", usage: { input_tokens: 1 } });
  });
});

describe("an answer that fails", () => {
  test("by the proxy has its code, and nothing goes upstream", async () => {
    const before = upstream.requests.length;
    const asked = streamChat({ model: "nobody", messages: [], onDelta: () => undefined });
    const failure: unknown = await asked.catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ source: "proxy", code: "model_not_found", status: 404, param: "model" });
    expect(upstream.requests.length).toBe(before);
  });

  test("by the provider has the provider's sentence and the kind of error that the log gets", async () => {
    const body = JSON.stringify({ error: { message: "Slow down.", type: "rate_limit_error", code: "x" } });
    const { failure, deltas } = await chat((call) => call.reply({ status: 429, body }));
    expect(failure).toBeInstanceOf(ApiFailure);
    expect(failure).toMatchObject({
      source: "upstream",
      code: "rate_limit_error",
      status: 429,
      message: "Slow down.",
      param: null,
    });
    expect(deltas).toEqual([]);
    const { requests } = await fetchRequests({ outcome: "upstream_error" }, {});
    expect(requests.map(({ error_kind: kind }) => kind)).toEqual(["rate_limit_error"]);
  });

  test("with a page of the provider instead of JSON says the status", async () => {
    const { failure } = await chat((call) =>
      call.reply({ status: 503, headers: ["content-type: text/html"], body: "<h1>busy</h1>" }),
    );
    expect(failure).toMatchObject({ source: "upstream", code: "http_503", status: 503 });
    expect(String(failure)).not.toContain("<h1>");
  });

  test("within a stream keeps what has come, and is the provider's failure", async () => {
    const { failure, deltas } = await chat(async (call) => {
      await call.beginStream();
      await call.sendChunk(delta({ content: "so far" }));
      await call.sendChunk(event({ error: { message: "Overloaded.", type: "overloaded_error" } }));
      await call.endStream();
    });
    expect(deltas).toEqual([{ kind: "text", text: "so far" }]);
    expect(failure).toMatchObject({ source: "upstream", code: "overloaded_error", message: "Overloaded." });
  });

  test.each([
    ["a connection that breaks", async (call: UpstreamCall) => call.reset()],
    ["a stream without an end", async (call: UpstreamCall) => void (await call.endStream())],
  ])("by %s is incomplete_answer and no answer, and keeps what has come", async (_, end) => {
    const shown = Promise.withResolvers<ChatDelta>();
    const { failure, ending } = await chat(
      async (call) => {
        await call.beginStream();
        await call.sendChunk(delta({ content: "half" }));
        expect(await shown.promise).toEqual({ kind: "text", text: "half" });
        await end(call);
      },
      { onDelta: shown.resolve },
    );
    expect(ending).toBeNull();
    expect(failure).toMatchObject({ source: "page", code: "incomplete_answer" });
  });

  test("by the stop button ends at the provider too, and is no failure to show", async () => {
    const stop = new AbortController();
    const texts: string[] = [];
    const { failure } = await chat(
      async (call) => {
        await call.beginStream();
        await call.sendChunk(delta({ content: "one" }));
        await call.closed;
      },
      {
        signal: stop.signal,
        onDelta: ({ text }) => {
          texts.push(text);
          stop.abort();
        },
      },
    );
    expect(failure).toMatchObject({ name: "AbortError" });
    expect(failure).not.toBeInstanceOf(ApiFailure);
    expect(texts).toEqual(["one"]);
  });
});

describe("an answer of the Responses API", () => {
  beforeEach(async () => {
    await MODELS.create.run({
      alias: "thinker",
      provider: "acme",
      upstream_name: "thinker-1",
      capabilities: ["responses"],
    });
  });
  const respond = (script: (call: UpstreamCall) => Promise<unknown>, request: Partial<ChatRequest> = {}) =>
    chat(script, { endpoint: "responses", model: "thinker", ...request });
  const told = (type: string, fields: object) => `event: ${type}\n${event({ type, ...fields })}`;
  const RESPONSE = { id: "resp_1", object: "response", error: null, incomplete_details: null };
  const USAGE = {
    input_tokens: 10,
    output_tokens: 5,
    total_tokens: 15,
    input_tokens_details: { cached_tokens: 4 },
  };

  test("comes piece by piece, its thinking apart, and ends with what it used, as the request log has it", async () => {
    const { deltas, ending } = await respond(
      async (call) => {
        expect(call.request.target).toBe("/v1/responses");
        // The provider is asked to keep none of it.
        expect(JSON.parse(call.request.body.toString())).toEqual({
          temperature: 0.5,
          max_output_tokens: 64,
          model: "thinker-1",
          input: [
            { role: "system", content: "Be brief." },
            { role: "user", content: "hello" },
          ],
          store: false,
          stream: true,
        });
        await call.beginStream();
        await call.sendChunk(
          told("response.created", { response: { ...RESPONSE, status: "in_progress", usage: null } }) +
            told("response.reasoning_summary_text.delta", { delta: "hm" }) +
            told("response.output_text.delta", { delta: "Grü" }),
        );
        await call.sendChunk(
          told("response.output_text.delta", { delta: "ße" }) +
            told("response.output_text.done", { text: "Grüße" }) +
            told("response.completed", { response: { ...RESPONSE, status: "completed", usage: USAGE } }),
        );
        await call.endStream();
      },
      {
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "hello" },
        ],
        settings: { temperature: 0.5, max_tokens: 64 },
      },
    );
    expect(deltas).toEqual([
      { kind: "reasoning", text: "hm" },
      { kind: "text", text: "Grü" },
      { kind: "text", text: "ße" },
    ]);
    const { requests } = await fetchRequests({ model: "thinker" }, {});
    expect(ending).toEqual({
      status: 200,
      provider: "acme",
      upstreamName: "thinker-1",
      requestId: requests[0]?.id ?? null,
      usage: { input_tokens: 6, output_tokens: 5, cached_input_tokens: 4 },
      finishReason: "completed",
    });
    expect(requests).toMatchObject([{ endpoint: "responses", outcome: "ok", streamed: true }]);
  });

  test("is one delta where it comes at once, and says why it stopped", async () => {
    const output = [
      { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "whole" }] },
    ];
    const { deltas, ending } = await respond(
      (call) =>
        call.reply({
          body: JSON.stringify({
            ...RESPONSE,
            status: "incomplete",
            incomplete_details: { reason: "max_output_tokens" },
            output,
            usage: USAGE,
          }),
        }),
      { stream: false },
    );
    expect(deltas).toEqual([
      { kind: "reasoning", text: "hm" },
      { kind: "text", text: "whole" },
    ]);
    expect(ending).toMatchObject({ finishReason: "max_output_tokens", usage: { output_tokens: 5 } });
  });

  test.each([
    [
      "response.failed",
      { response: { ...RESPONSE, status: "failed", error: { code: "server_error", message: "It broke." } } },
      "server_error",
    ],
    ["error", { code: "rate_limit_exceeded", message: "It broke.", param: null }, "rate_limit_exceeded"],
  ])("that fails by %s keeps what has come, and is the provider's failure", async (type, fields, code) => {
    const { deltas, failure, ending } = await respond(async (call) => {
      await call.beginStream();
      await call.sendChunk(told("response.output_text.delta", { delta: "so far" }) + told(type, fields));
      await call.endStream();
    });
    expect(deltas).toEqual([{ kind: "text", text: "so far" }]);
    expect(ending).toBeNull();
    expect(failure).toMatchObject({ source: "upstream", code, message: "It broke." });
  });

  test("without its last event is incomplete_answer, and keeps what has come", async () => {
    const { deltas, failure } = await respond(async (call) => {
      await call.beginStream();
      await call.sendChunk(told("response.output_text.delta", { delta: "half" }));
      await call.endStream();
    });
    expect(deltas).toEqual([{ kind: "text", text: "half" }]);
    expect(failure).toMatchObject({ source: "page", code: "incomplete_answer" });
  });
});

describe("an answer of the messages API", () => {
  beforeEach(async () => {
    await MODELS.create.run({
      alias: "claude",
      provider: "acme",
      upstream_name: "claude-1",
      capabilities: ["messages"],
    });
  });
  const told = (type: string, fields: object) => `event: ${type}\n${event({ type, ...fields })}`;
  const MESSAGE = { id: "msg_1", type: "message", role: "assistant", model: "claude-1", stop_reason: null };
  const ask = (script: (call: UpstreamCall) => Promise<unknown>, request: Partial<ChatRequest> = {}) =>
    chat(script, { endpoint: "messages", model: "claude", ...request });

  test("comes piece by piece, its thinking apart, with the system message where that API has it", async () => {
    const { deltas, ending } = await ask(
      async (call) => {
        expect(call.request.target).toBe("/v1/messages");
        expect(call.request.headers.get("anthropic-version")).toBe("2023-06-01");
        expect(JSON.parse(call.request.body.toString())).toEqual({
          max_tokens: 64,
          model: "claude-1",
          system: "Be brief.",
          messages: [{ role: "user", content: "hello" }],
          stream: true,
        });
        await call.beginStream();
        await call.sendChunk(
          told("message_start", {
            message: { ...MESSAGE, content: [], usage: { input_tokens: 6, output_tokens: 1 } },
          }) +
            told("content_block_start", { index: 0, content_block: { type: "thinking", thinking: "" } }) +
            told("content_block_delta", { index: 0, delta: { type: "thinking_delta", thinking: "hm" } }) +
            told("content_block_delta", { index: 1, delta: { type: "text_delta", text: "Grüße" } }) +
            told("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } }) +
            told("message_stop", {}),
        );
        await call.endStream();
      },
      {
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "hello" },
        ],
        settings: { max_tokens: 64 },
      },
    );
    expect(deltas).toEqual([
      { kind: "reasoning", text: "hm" },
      { kind: "text", text: "Grüße" },
    ]);
    expect(ending).toMatchObject({
      finishReason: "end_turn",
      usage: { input_tokens: 6, output_tokens: 5 },
    });
  });

  test("is one delta where it comes at once, and a failure within a stream is the provider's", async () => {
    const whole = await ask(
      (call) =>
        call.reply({
          body: JSON.stringify({
            ...MESSAGE,
            content: [{ type: "text", text: "whole" }],
            stop_reason: "max_tokens",
            usage: { input_tokens: 6, output_tokens: 5 },
          }),
        }),
      { stream: false },
    );
    expect(whole.deltas).toEqual([{ kind: "text", text: "whole" }]);
    expect(whole.ending).toMatchObject({ finishReason: "max_tokens", usage: { output_tokens: 5 } });
    const { failure, ending } = await ask(async (call) => {
      await call.beginStream();
      await call.sendChunk(told("error", { error: { type: "overloaded_error", message: "Overloaded" } }));
      await call.endStream();
    });
    expect(failure).toMatchObject({ code: "overloaded_error", source: "upstream", message: "Overloaded" });
    expect(ending).toBeNull();
  });
});
