import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { toDefaults } from "#kernel/fields.ts";
import { OWN_SLOTS } from "#catalog/slots.ts";
import type { Capability } from "#catalog/capability.ts";
import { isEndpointName, type EndpointName } from "#catalog/endpoint.ts";
import { sealCredential, type Provider } from "#catalog/provider.ts";
import type { Model } from "#catalog/model.ts";
import type { PriceRow } from "#catalog/pricing.ts";
import { type CatalogSnapshot, createSnapshot } from "#catalog/snapshot.ts";
import { type Exchange, type ExchangeDeps, createExchange } from "#forward/exchange.ts";
import { setProxiedBy, toProxiedBy } from "#forward/headers.ts";
import { createSystemClock } from "#kernel/clock.ts";
import { createSecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { LogFields } from "#kernel/log.ts";
import type { UsageEnding, UsageEvent, UsageBeginning } from "#usage/event.ts";
import { type UsageMetrics, createUsageMetrics } from "#usage/metrics.ts";
import { ConnectedCaller } from "#http/door/connections.ts";
import { createMemoryLedger } from "./ledger.ts";

export const CREDENTIAL = "sk-provider-credential";
export const UPSTREAM_NAME = "org/upstream-model";
export const ALIAS = "team/chat";

const secrets = createSecretBox(new Uint8Array(32).fill(7));

export interface Setup {
  readonly baseUrl: string;
  readonly provider?: Partial<Provider>;
  readonly upstreamName?: string;
  readonly capabilities?: readonly Capability[];
  readonly prices?: readonly PriceRow[];
  readonly exchange?: Partial<ExchangeDeps>;
  /** Runs when the ledger is asked to write an event down. */
  readonly onEnd?: (ending: UsageEnding) => Promise<void> | void;
  readonly onOpen?: (subject: UsageBeginning) => void;
}

export interface Proxy {
  readonly port: number;
  readonly exchange: Exchange;
  /** Every event written so far. */
  readonly events: readonly UsageEvent[];
  readonly metrics: UsageMetrics;
  readonly subjects: readonly UsageBeginning[];
  readonly logLines: readonly { readonly message: string; readonly fields: LogFields | undefined }[];
  /** Fulfilled when every exchange that began is accounted for. */
  drained(): Promise<void>;
  /** The one event there is; fails when there are more or none. Waits for exchanges that run. */
  onlyEvent(): Promise<UsageEvent>;
  replaceCatalog(setup: Setup): void;
  post(body: unknown, options?: PostOptions): Promise<Response>;
  url(endpoint?: EndpointName): string;
  stop(): Promise<void>;
}

export interface PostOptions {
  readonly endpoint?: EndpointName;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** The exchange behind a minimal server: no authentication, no storage, everything else real. */
export function startProxy(setup: Setup): Proxy {
  const { ledger, events, subjects, onlyEvent } = createMemoryLedger(setup);
  const logLines: { message: string; fields: LogFields | undefined }[] = [];
  const logLine = (message: string, fields?: LogFields) => void logLines.push({ message, fields });
  let snapshot = toSnapshot(setup);
  const clock = createSystemClock();
  const metrics = createUsageMetrics();
  const exchange = createExchange({
    catalog: { peek: () => snapshot, snapshot: () => Promise.resolve(snapshot) },
    ledger,
    metrics,
    slots: OWN_SLOTS,
    secrets,
    clock,
    log: { debug: logLine, info: logLine, warn: logLine, error: logLine },
    maxEmbeddingBatch: 2048,
    maxResponseBytes: 4 * 1024 * 1024,
    ...setup.exchange,
  });

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    development: false,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    async fetch(request, connections) {
      const name = new URL(request.url).pathname.slice(1);
      const endpoint = isEndpointName(name) ? name : "chat";
      try {
        const result = await exchange.run({
          endpoint,
          caller: {
            principalId: "principal-1",
            principalName: "ada",
            keyId: "key-1",
            models: null,
            fixedTags: [],
          },
          headers: request.headers,
          query: "",
          body: new Uint8Array(await request.arrayBuffer()),
          arrivedAtUs: clock.nowUs(),
          arrivedAtMs: clock.monotonicMs(),
          connection: new ConnectedCaller(request, connections),
        });
        if (result.kind === "responded") return result.response;
        if (result.kind === "cancelled") return new Response(null, { status: 499 });
        if (result.kind === "refused") throw result.refusal;
        const response = Response.json({ unreachable: result.error }, { status: 502 });
        setProxiedBy(response.headers, toProxiedBy(result.provider, result.upstreamName));
        return response;
      } catch (failure) {
        if (failure instanceof ProxyError)
          return Response.json(
            { code: failure.code, param: failure.param, message: failure.message },
            { status: failure.status },
          );
        return Response.json({ code: "bug", message: String(failure) }, { status: 500 });
      }
    },
  });
  const url = (endpoint: EndpointName = "chat") => `http://127.0.0.1:${server.port}/${endpoint}`;

  return {
    port: server.port ?? 0,
    exchange,
    events,
    metrics,
    subjects,
    logLines,
    drained: () => exchange.drained(),
    async onlyEvent() {
      await exchange.drained();
      return onlyEvent();
    },
    replaceCatalog(next) {
      snapshot = toSnapshot(next);
    },
    url,
    post(body, { endpoint = "chat", headers = {}, signal } = {}) {
      const asked = fetch(url(endpoint), {
        method: "POST",
        body:
          typeof body === "string"
            ? body
            : body instanceof Uint8Array
              ? new Uint8Array(body)
              : JSON.stringify(body),
        headers: { "content-type": "application/json", ...headers },
        redirect: "manual",
        decompress: false,
        ...(signal === undefined ? {} : { signal }),
      });
      // What a test that broke off leaves under way is no failure of the one after it.
      asked.catch(() => undefined);
      return asked;
    },
    async stop() {
      await server.stop(true);
      await exchange.drained();
    },
  };
}

export function toSnapshot(setup: Setup): CatalogSnapshot {
  const unsealed: Provider = {
    id: "provider-1",
    name: "acme",
    wireFormat: "openai",
    baseUrl: setup.baseUrl,
    endpoints: {},
    sealedCredential: null,
    ...toDefaults(PROVIDER_SETTINGS),
    timeoutConnectSeconds: 5,
    timeoutReadSeconds: 20,
    enabled: true,
    createdAtUs: 1,
    ...setup.provider,
  };
  const isWithout = setup.provider?.sealedCredential === null;
  const sealedCredential = isWithout ? null : sealCredential(secrets, unsealed, CREDENTIAL);
  const provider: Provider = { ...unsealed, sealedCredential };
  const model: Model = {
    id: "model-1",
    alias: ALIAS,
    route: {
      kind: "binding",
      providerId: provider.id,
      upstreamName: setup.upstreamName ?? UPSTREAM_NAME,
      capabilities: setup.capabilities ?? ["chat", "chat_stream", "completions", "embeddings"],
    },
    origin: "declared",
    hidden: false,
    createdAtUs: 1,
  };
  return createSnapshot({ providers: [provider], models: [model], prices: setup.prices ?? [] });
}

export const CHAT = { model: ALIAS, messages: [{ role: "user", content: "hello" }] } as const;
export const STREAMED_CHAT = { ...CHAT, stream: true } as const;
export const COMPLETION =
  '{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}';
export const SSE_HELLO =
  'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hello"}}]}\n\n';
export const SSE_USAGE =
  'data: {"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}\n\n';
export const SSE_DONE = "data: [DONE]\n\n";
