import { expect } from "bun:test";
import { createSystemClock, type Clock } from "#kernel/clock.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamCall } from "../support/upstream.ts";

/** A wall clock that a test sets; durations go with it. */
export interface SetClock extends Clock {
  /** Moves both clocks on. */
  pass(seconds: number): void;
  /** Sets the wall clock alone, as an operator does. */
  set(instant: string): void;
}

export function createSetClock(start: string): SetClock {
  let wallUs = Date.parse(start) * 1000;
  let elapsedMs = 0;
  return {
    // No two readings are the same, as on a machine.
    nowUs: () => (wallUs += 1),
    monotonicMs: () => (elapsedMs += 0.001),
    pass(seconds) {
      wallUs += seconds * 1e6;
      elapsedMs += seconds * 1000;
    },
    set(instant) {
      wallUs = Date.parse(instant) * 1000;
    },
  };
}

/** The machine's clock, set to this instant at its making: it goes on as a wall clock does. */
export function createClockAt(start: string): Clock {
  const machine = createSystemClock();
  const offsetUs = Date.parse(start) * 1000 - machine.nowUs();
  return { nowUs: () => machine.nowUs() + offsetUs, monotonicMs: () => machine.monotonicMs() };
}

export interface World {
  readonly app: TestApp;
  readonly upstream: ScriptedUpstream;
  /** A request to the model `m`, unless it names another. */
  chat(options?: ChatOptions): Promise<Response>;
  admin(method: string, path: string, body?: unknown): Promise<Response>;
  /** Makes a limit and returns it. */
  limit(draft: object): Promise<LimitJson>;
  readLimit(id: string): Promise<LimitJson>;
  /** A principal of that name, and a key of it. */
  person(name: string): Promise<Person>;
  stop(): Promise<void>;
}

export interface ChatOptions {
  readonly model?: string;
  readonly key?: string;
  readonly tags?: string;
  readonly more?: object;
}

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly keyId: string;
  readonly key: string;
}

export interface LimitJson {
  readonly id: string;
  readonly name: string;
  readonly used: number;
  readonly left: number;
  readonly [field: string]: unknown;
}

/** Ten tokens in and ten out: with the prices of `m` a request costs 0.1. */
export const COMPLETION = '{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":10}}';
export const COST = 0.1;
export const TOKENS = 20;
const PRICING = { input_tokens: 5000, output_tokens: 5000 };

export interface WorldOptions {
  readonly clock?: Clock;
  readonly dataDir?: string;
  /** Null: a test answers each request itself. */
  readonly script?: ((call: UpstreamCall) => unknown) | null;
  readonly messagesBaseUrl?: string;
  /** Where notices go. */
  readonly webhookUrl?: string;
}

/** A server with a model `m` that has prices, and `free`, which has none. */
export async function startWorld({
  clock,
  dataDir,
  script,
  messagesBaseUrl,
  webhookUrl,
}: WorldOptions = {}): Promise<World> {
  const upstream = await startUpstream(script === null ? {} : { script: script ?? replyWhole });
  const app = await startApp(
    {
      ...(dataDir !== undefined && { dataDir }),
      ...(messagesBaseUrl !== undefined && { messagesBaseUrl }),
      ...(webhookUrl !== undefined && { notices: { url: webhookUrl, secret: "s3cret" } }),
    },
    clock === undefined ? {} : { clock },
  );
  const admin = (method: string, path: string, body?: unknown) => app.api(method, `/admin/v1${path}`, body);
  const ok = async (response: Response) => {
    const text = await response.text();
    expect({ status: response.status, text }).toEqual({
      status: response.status < 300 ? response.status : 200,
      text,
    });
    return JSON.parse(text);
  };
  // A world that begins again on a folder has them.
  await admin("POST", "/providers", { name: "up", base_url: upstream.baseUrl });
  await admin("PATCH", "/providers/up", { base_url: upstream.baseUrl });
  const capabilities = ["chat", "chat_stream"];
  await admin("POST", "/models", {
    alias: "m",
    provider: "up",
    upstream_name: "um",
    capabilities,
    pricing: PRICING,
  });
  await admin("POST", "/models", { alias: "free", provider: "up", upstream_name: "uf", capabilities });
  return {
    app,
    upstream,
    admin,
    chat: ({ model = "m", key = app.adminKey, tags, more = {} } = {}) =>
      app.api(
        "POST",
        "/v1/chat/completions",
        { model, ...more },
        {
          authorization: `Bearer ${key}`,
          ...(tags !== undefined && { "x-proxy-tags": tags }),
        },
      ),
    limit: async (draft) => await ok(await admin("POST", "/limits", draft)),
    readLimit: async (id) => await ok(await admin("GET", `/limits/${id}`)),
    async person(name) {
      const { id } = await ok(await admin("POST", "/principals", { name }));
      const made = await ok(await admin("POST", "/keys", { principal: name, label: "" }));
      return { id, name, keyId: made.id, key: made.key };
    },
    async stop() {
      await app.stop();
      await upstream.stop();
    },
  };
}

const replyWhole = (call: UpstreamCall) => call.reply({ body: COMPLETION });

/** Status and, of a refusal, its code. */
export async function outcomeOf(answer: Response | Promise<Response>): Promise<string> {
  const response = await answer;
  const text = await response.text();
  return response.status < 400
    ? String(response.status)
    : `${response.status} ${JSON.parse(text).error.code}`;
}
