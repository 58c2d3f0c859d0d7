import type { PriceRow } from "#catalog/pricing.ts";
import { createSnapshot } from "#catalog/snapshot.ts";
import { createRelay } from "#forward/relay.ts";
import { OpenRequests } from "#forward/open-requests.ts";
import { createFailures } from "#http/door/failures.ts";
import { createHostRule } from "#http/door/host.ts";
import { createRefusals } from "#http/door/refusals.ts";
import { createTransparent, toRelayRoutes } from "#http/ingress/transparent.ts";
import { createBodyMemory } from "#http/door/body-memory.ts";
import { Drain } from "#http/door/connections.ts";
import { createArrivals } from "#kernel/ids.ts";
import { createSystemClock, type Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { LogFields } from "#kernel/log.ts";
import { createUsageMetrics, type UsageMetrics } from "#usage/metrics.ts";
import type { UsageEvent, UsageBeginning } from "#usage/event.ts";
import type { ScriptedUpstream, UpstreamScript } from "../support/upstream.ts";
import { startUpstream } from "../support/upstream.ts";
import { createMemoryLedger, type MemoryLedgerOptions } from "./ledger.ts";

export const TOKEN = "lpt_planted0relay0token0of0these0tests0000000000";
const BODY_BYTES_MAX = 4 * 1024 * 1024;

export interface RelaySetup extends MemoryLedgerOptions {
  /** Where the relayed paths begin; the scripted upstream's origin by default. */
  readonly baseUrl?: string;
  readonly prices?: readonly PriceRow[];
  readonly connectSeconds?: number;
  readonly silenceSeconds?: number;
  readonly clock?: Clock;
  readonly maxBodyBytes?: number;
  readonly scannedBytesTotalMax?: number;
}

export interface RelayPair {
  readonly upstream: ScriptedUpstream;
  readonly port: number;
  /** The base URL of a client, with the token. */
  readonly url: string;
  readonly events: readonly UsageEvent[];
  readonly subjects: readonly UsageBeginning[];
  readonly metrics: UsageMetrics;
  readonly logLines: readonly { readonly message: string; readonly fields: LogFields | undefined }[];
  readonly activeCount: () => number;
  /** Fulfilled when every relayed request that began is accounted for. */
  readonly drained: () => Promise<void>;
  readonly onlyEvent: () => Promise<UsageEvent>;
  /** A request by `fetch` that leaves everything as it comes. */
  readonly send: (method: string, path: string, options?: SendOptions) => Promise<Response>;
}

export interface SendOptions {
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

const running: { stop(): Promise<void> }[] = [];

/** Ends what the test started; for `afterEach`. */
export async function stopRelays(): Promise<void> {
  for (const each of running.splice(0).toReversed()) await each.stop();
}

/** The relay behind its own door and a real socket, with one token, in front of a scripted upstream. */
export async function startRelay(script?: UpstreamScript, setup: RelaySetup = {}): Promise<RelayPair> {
  const upstream = await startUpstream(script === undefined ? {} : { script });
  const logLines: { message: string; fields: LogFields | undefined }[] = [];
  const logLine = (message: string, fields?: LogFields) => void logLines.push({ message, fields });
  const log = { debug: logLine, info: logLine, warn: logLine, error: logLine };
  const { ledger, events, subjects, onlyEvent } = createMemoryLedger(setup);
  const { clock = createSystemClock() } = setup;
  const metrics = createUsageMetrics();
  const snapshot = createSnapshot({ providers: [], models: [], prices: setup.prices ?? [] });
  const catalog = { peek: () => snapshot, snapshot: () => Promise.resolve(snapshot) };
  const requests = new OpenRequests({ catalog, ledger, metrics, clock, log });
  const { connectSeconds = 5, silenceSeconds = 20, maxBodyBytes = BODY_BYTES_MAX } = setup;
  const baseUrl = setup.baseUrl ?? `http://127.0.0.1:${upstream.port}`;
  const transparent = createTransparent({
    clock,
    arrivals: createArrivals(clock),
    drain: new Drain(),
    memory: createBodyMemory({ bytesMax: BODY_BYTES_MAX }),
    failures: createFailures(log, createRefusals(log, clock)),
    hosts: createHostRule({
      host: "0.0.0.0",
      publicUrl: null,
      allowedHosts: [],
      maxBodyBytes,
      adminPasswordEnabled: true,
    }),
    relay: {
      relay: createRelay(requests, {
        baseUrl,
        connectSeconds,
        silenceSeconds,
        ...(setup.scannedBytesTotalMax !== undefined && { scannedBytesTotalMax: setup.scannedBytesTotalMax }),
      }),
      authenticator: {
        authenticate(token) {
          if (token !== TOKEN) throw new ProxyError("unknown_relay_token", "not known");
          return Promise.resolve({ principal: ADA, relayTokenId: "token-1", fixedTags: [] });
        },
      },
    },
    maxBodyBytes,
  });
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    development: false,
    maxRequestBodySize: Infinity,
    routes: toRelayRoutes(transparent.serve),
    fetch: (request, connections) => transparent.serve(request, connections, null),
  });
  running.push(upstream, {
    async stop() {
      await server.stop(true);
      await requests.settled();
    },
  });
  const url = `http://127.0.0.1:${server.port}/transparent/messages/${TOKEN}`;
  return {
    upstream,
    port: server.port ?? 0,
    url,
    events,
    subjects,
    metrics,
    logLines,
    activeCount: () => requests.openCount(),
    drained: () => requests.settled(),
    async onlyEvent() {
      await requests.settled();
      return onlyEvent();
    },
    send: (method, path, { headers = {}, body } = {}) =>
      fetch(url + path, {
        method,
        headers,
        redirect: "manual",
        decompress: false,
        ...(body === undefined ? {} : { body }),
      }),
  };
}

const ADA = {
  id: "principal-1",
  name: "ada",
  kind: "user",
  role: "member",
  enabled: true,
  createdAtUs: 1,
  tags: [],
} as const;

export const PATH = `/transparent/messages/${TOKEN}/v1/messages`;
export const MODEL = "claude-planted-1";
export const MESSAGE = {
  model: MODEL,
  max_tokens: 10,
  messages: [{ role: "user", content: "planted" }],
} as const;
export const STREAMED_MESSAGE = { ...MESSAGE, stream: true } as const;
export const ANSWER =
  '{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":7,"cache_creation_input_tokens":2,"cache_read_input_tokens":5,"output_tokens":3}}';

export function toEvent(type: string, more: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
}
export const START = toEvent("message_start", {
  message: { id: "msg_1", usage: { input_tokens: 7, cache_read_input_tokens: 5, output_tokens: 1 } },
});
export const DELTA = toEvent("content_block_delta", {
  index: 0,
  delta: { type: "text_delta", text: "hello" },
});
export const USAGE = toEvent("message_delta", {
  delta: { stop_reason: "end_turn" },
  usage: { output_tokens: 3 },
});
export const STOP = toEvent("message_stop");
