import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { startWorld, type World } from "../limits/world.ts";
import { runProcess } from "../support/process.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamCall } from "../support/upstream.ts";
import { until } from "../support/waiting.ts";
import { CLIENT_MS_MAX, isReady, toProgram } from "./support.ts";

/** The official SDKs, each making one request with its own settings. Those for TypeScript are among the tests' packages. */
const SUBJECTS = [
  { id: "the OpenAI SDK for TypeScript", file: "openai_request.mjs", isRelay: false },
  { id: "the OpenAI SDK for Python", file: "openai_request.py", isRelay: false },
  { id: "the Anthropic SDK for TypeScript", file: "anthropic_request.mjs", isRelay: true },
  { id: "the Anthropic SDK for Python", file: "anthropic_request.py", isRelay: true },
] as const;
type Subject = (typeof SUBJECTS)[number];

const CHAT = JSON.stringify({
  id: "c",
  object: "chat.completion",
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "hi" } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});
const MESSAGE = JSON.stringify({
  id: "m",
  type: "message",
  role: "assistant",
  model: "c",
  content: [{ type: "text", text: "hi" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
});

let world: World;
let messages: ScriptedUpstream;
let token: string;
/** The answer of both upstreams to every request, in place of their usual one. */
let refusal: { readonly status: number; readonly body: string } | null;
/** Calls that wait for the test, while it holds them. */
let held: UpstreamCall[] | null;
beforeEach(async () => {
  held = null;
  refusal = null;
  const script = (call: UpstreamCall, body: string) =>
    held === null ? call.reply(refusal ?? { body }) : void held.push(call);
  messages = await startUpstream({ script: (call) => script(call, MESSAGE) });
  world = await startWorld({
    script: (call) => script(call, CHAT),
    messagesBaseUrl: new URL(messages.baseUrl).origin,
  });
  ({ token } = (await (await world.app.api("POST", "/my/relay-tokens", {})).json()) as { token: string });
});
afterEach(async () => {
  await world.stop();
  await messages.stop();
});

/** A request without an SDK. */
function send({ isRelay }: Subject): Promise<Response> {
  if (!isRelay) return world.chat();
  const body = { model: "m", max_tokens: 1, messages: [] };
  return fetch(`${world.app.url}/transparent/messages/${token}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "sk-ant-own" },
    body: JSON.stringify(body),
  });
}

interface Outcome {
  readonly name: string;
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
  readonly text?: string;
  readonly elapsedMs: number;
}

interface Asked {
  readonly retries?: string;
  readonly model?: string;
  /** The key, or the relay token. */
  readonly secret?: string;
}

async function ask({ file, isRelay }: Subject, { retries = "", model = "m", secret }: Asked = {}) {
  const program = file.endsWith(".py") ? toProgram("python", "python") : "node";
  const {
    code,
    data,
    messages: said,
  } = await runProcess([program, join(import.meta.dir, "requests", file)], {
    env: {
      LOCKPORT_URL: world.app.url,
      LOCKPORT_KEY: secret ?? (isRelay ? token : world.app.adminKey),
      MODEL: model,
      RETRIES: retries,
    },
  });
  if (code !== 0) throw new Error(`${file} ended with ${code}: ${said}`);
  const outcome: Outcome = JSON.parse(data);
  return outcome;
}

for (const subject of SUBJECTS) {
  describe.skipIf(subject.file.endsWith(".py") && !isReady("python"))(subject.id, () => {
    test(
      "reads a refusal of ours and one of the provider's as errors of its own, with their sentences",
      async () => {
        const ours: readonly (readonly [asked: Asked, name: string, status: number, sentence: string])[] =
          subject.isRelay
            ? [[{ secret: "lpt_nobody" }, "NotFoundError", 404, "This relay token is not known."]]
            : [
                [{ model: "nope" }, "NotFoundError", 404, "is not served here."],
                [{ secret: "lp_nobody" }, "AuthenticationError", 401, "This API key is not valid."],
              ];
        for (const [asked, name, status, sentence] of ours) {
          const outcome = await ask(subject, { ...asked, retries: "0" });
          expect(outcome).toMatchObject({ name, status });
          expect(outcome.message).toContain(sentence);
        }
        const error = { message: "Slow down.", type: "rate_limit_error" };
        refusal = { status: 429, body: JSON.stringify({ type: "error", error }) };
        const outcome = await ask(subject, { retries: "0" });
        expect(outcome).toMatchObject({ name: "RateLimitError", status: 429 });
        expect(outcome.message).toContain("Slow down.");
      },
      CLIENT_MS_MAX,
    );

    test(
      "meets a used up limit with one request and no other, and its error has our sentence",
      async () => {
        const { id } = await world.limit({
          name: "sdk: all",
          subject: { model: "m" },
          measure: "requests",
          amount: 1,
          window: "total",
        });
        expect((await send(subject)).status).toBe(200);
        const outcome = await ask(subject);
        expect(outcome).toMatchObject({ name: "RateLimitError", status: 429 });
        expect(outcome.message).toContain("sdk: all");
        expect(outcome.message).toContain("is used up: 1 of 1 requests in all. It does not start anew.");
        if (!subject.isRelay) expect(outcome.code).toBe("limit_exceeded");
        expect(await world.readLimit(id)).toMatchObject({ used: 1, refused: 1 });
      },
      CLIENT_MS_MAX,
    );

    test(
      "does not try again where a window goes on for more than a minute",
      async () => {
        const { id } = await world.limit({
          name: "sdk: hour",
          subject: { model: "m" },
          measure: "requests",
          amount: 1,
          window: "hour",
        });
        expect((await send(subject)).status).toBe(200);
        expect(await ask(subject)).toMatchObject({ name: "RateLimitError", status: 429 });
        expect(await world.readLimit(id)).toMatchObject({ used: 1, refused: 1 });
      },
      CLIENT_MS_MAX,
    );

    test(
      "waits for its retry-after and succeeds where a place is free again soon",
      async () => {
        const { id } = await world.limit({
          name: "sdk: one",
          subject: { model: "m" },
          measure: "concurrent",
          amount: 1,
        });
        held = [];
        const waiting = held;
        const first = send(subject);
        await until(
          () => waiting.length === 1,
          () => "the first request did not reach its provider",
        );
        const asked = ask(subject, { retries: "10" });
        await until(
          async () => Number((await world.readLimit(id))["refused"]) > 0,
          () => "the second request was not refused",
        );
        held = null;
        await waiting[0]?.reply({ body: subject.isRelay ? MESSAGE : CHAT });
        expect((await first).status).toBe(200);
        const outcome = await asked;
        expect(outcome).toMatchObject({ name: "none", text: "hi" });
        expect(outcome.elapsedMs).toBeGreaterThanOrEqual(1000);
        expect(await world.readLimit(id)).toMatchObject({ used: 0 });
      },
      CLIENT_MS_MAX,
    );
  });
}
