import type { Chance } from "../support/chance.ts";
import { callApi } from "../support/installation.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamCall } from "../support/upstream.ts";

/** The part that a request gives its upstream, and the one of its caller. */
const KINDS = [
  "unary",
  "unary",
  "unary",
  "embeddings",
  "stream",
  "stream",
  "slow",
  "error",
  "reset",
  "left",
  "silent",
] as const;
export type Kind = (typeof KINDS)[number];

export const TOKENS = { unary: [7, 3], embeddings: [5, null], stream: [11, 6], slow: [11, 6] } as const;
const SLOW_CHUNKS = 12;
const SLOW_PAUSE_MS = 20;
const CHUNK = 'data: {"choices":[{"index":0,"delta":{"content":"word "}}]}\n\n';

export interface MixedUpstream {
  readonly baseUrl: string;
  /** The number of times that a request arrived, by its id. */
  readonly arrivals: ReadonlyMap<string, number>;
  /** Fulfilled when this request is here. */
  arrived(id: string): Promise<void>;
  stop(): Promise<void>;
}

/** A provider that does what each request asks it to do, and remembers which came. */
export async function startMixedUpstream(): Promise<MixedUpstream> {
  const arrivals = new Map<string, number>();
  const waiting = new Map<string, () => void>();
  const upstream: ScriptedUpstream = await startUpstream({
    script: async (call) => {
      const { user, kind } = JSON.parse(call.request.body.toString());
      arrivals.set(user, (arrivals.get(user) ?? 0) + 1);
      waiting.get(user)?.();
      waiting.delete(user);
      await answer(call, kind);
    },
  });
  return {
    baseUrl: upstream.baseUrl,
    arrivals,
    arrived: (id) =>
      arrivals.has(id) ? Promise.resolve() : new Promise((resolve) => waiting.set(id, resolve)),
    stop: () => upstream.stop(),
  };
}

async function answer(call: UpstreamCall, kind: Kind): Promise<void> {
  if (kind === "silent") return;
  if (kind === "reset") return call.reset();
  if (kind === "error") {
    await call.reply({ status: 429, body: '{"error":{"type":"rate_limit_error","message":"slow down"}}' });
    return;
  }
  if (kind === "unary" || kind === "embeddings") {
    const [prompt, completion] = TOKENS[kind];
    const usage = {
      prompt_tokens: prompt,
      ...(completion === null ? {} : { completion_tokens: completion }),
    };
    await call.reply({ body: JSON.stringify({ choices: [], usage }) });
    return;
  }
  await call.beginStream();
  for (let index = 0; index < SLOW_CHUNKS; index += 1) {
    if (!(await call.sendChunk(CHUNK))) return;
    if (kind !== "stream") await new Promise((resolve) => setTimeout(resolve, SLOW_PAUSE_MS));
  }
  const [prompt, completion] = TOKENS.stream;
  const usage = { prompt_tokens: prompt, completion_tokens: completion };
  await call.sendChunk(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
  await call.endStream();
}

/** The outcomes of the requests, as their callers and their upstream saw them. */
export interface Ledger {
  readonly sent: Set<string>;
  /** Requests whose response came to its end at the caller. */
  readonly ended: Map<string, { readonly kind: Kind; readonly status: number }>;
  /** Ids of keys whose creation was confirmed. */
  readonly keys: Set<string>;
}

export interface LoadOptions {
  readonly url: string;
  readonly key: string;
  readonly upstream: MixedUpstream;
  readonly chance: Chance;
  readonly ledger: Ledger;
  readonly callers: number;
  /** Called when a response has ended. */
  readonly onEnded: () => void;
}

export interface Load {
  /** Waits for the requests that are under way. */
  stop(): Promise<void>;
}

/** Callers that send one request after the other until `stop` is called, also while the server is gone. */
export function startLoad(options: LoadOptions): Load {
  const stopping = new AbortController();
  const caller = async (number: number) => {
    while (!stopping.signal.aborted) {
      try {
        // One of them works on the catalog meanwhile.
        if (number === 0 && options.chance.below(4) === 0) await makeKey(options);
        else await sendOne(options);
      } catch {
        // The server went away, and this caller with it; or the caller hung up, as it meant to.
        if (!stopping.signal.aborted) await new Promise((resolve) => setImmediate(resolve));
      }
    }
  };
  const callers = Array.from({ length: options.callers }, (_, number) => caller(number));
  return {
    async stop() {
      stopping.abort();
      await Promise.all(callers);
    },
  };
}

async function makeKey({ url, key, ledger }: LoadOptions): Promise<void> {
  const response = await callApi(url, key, "POST", "/admin/v1/keys", { principal: "admin", label: "load" });
  const { id } = JSON.parse(await response.text());
  if (response.status === 201) ledger.keys.add(id);
}

async function sendOne({ url, key, upstream, chance, ledger, onEnded }: LoadOptions): Promise<void> {
  const kind = chance.pick(KINDS);
  const id = `r${ledger.sent.size}`;
  ledger.sent.add(id);
  const leaving = new AbortController();
  const stream = kind === "stream" || kind === "slow" || kind === "left";
  const body = { model: "m", user: id, kind, ...(stream ? { stream } : {}) };
  if (kind === "silent") void upstream.arrived(id).then(() => leaving.abort());
  const response = await fetch(`${url}/v1/${kind === "embeddings" ? "embeddings" : "chat/completions"}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "x-proxy-tags": `id:${id}` },
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  if (kind === "left") {
    await response.body?.getReader().read();
    return leaving.abort();
  }
  const text = await response.text();
  const isWhole = stream ? text.endsWith("data: [DONE]\n\n") : text.endsWith("}");
  if (!isWhole) throw new Error("the response broke off");
  ledger.ended.set(id, { kind, status: response.status });
  onEnded();
}
