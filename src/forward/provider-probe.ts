import { lookup } from "node:dns/promises";
import { connect, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import { openCredential, type Provider } from "#catalog/provider.ts";
import type { FetchedModels } from "#catalog/discovery.ts";
import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { withinLimit } from "#kernel/timer.ts";
import { joinPieces } from "#kernel/bytes.ts";
import { bufferBody } from "./response-buffer.ts";
import { MODELS_BYTES_MAX, toModelsRequest } from "./models-call.ts";
import { tlsOptions } from "./upstream.ts";

const STEP_MS_MAX = 5_000;
const MODELS_MS_MAX = 15_000;

interface ProbeDeps {
  readonly clock: Clock;
  readonly secrets: SecretBox;
  /** True: only the whole call is made, since an outgoing proxy stands between. */
  readonly isProxied: boolean;
}

/** The step that a probe of a provider came to. A failure is a code of the system or of TLS, never a message or a URL. */
export type ProbeOutcome =
  | { readonly kind: "failed"; readonly step: "dns" | "tcp" | "tls" | "models"; readonly code: string }
  | { readonly kind: "sealed" }
  | {
      readonly kind: "answered";
      readonly fetched: FetchedModels;
      /** From the request to the end of the answer. */
      readonly durationMs: number;
      /** The answer's Content-Type without parameters. */
      readonly contentType: string;
      /** Its clock minus ours; null when it tells no time (RFC 9110, section 6.6.1: whole seconds). */
      readonly clockSkewSeconds: number | null;
    };

/** Name, connection, TLS and `GET <base URL>/models` with the provider's own credential, one after another. Never throws. */
export async function probeProvider(provider: Provider, deps: ProbeDeps): Promise<ProbeOutcome> {
  const { protocol, hostname, port } = new URL(provider.baseUrl);
  const host = hostname.replace(/^\[|\]$/g, "");
  const target = { host, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
  if (!deps.isProxied) {
    const steps = [
      { step: "dns", run: () => inTime(lookup(host)) },
      { step: "tcp", run: () => reach(() => connect(target), "connect") },
      ...(protocol === "https:"
        ? [{ step: "tls", run: () => reach(() => openTls(target, provider), "secureConnect") } as const]
        : []),
    ] as const;
    for (const { step, run } of steps) {
      const code = await run().then(() => null, toCode);
      if (code !== null) return { kind: "failed", step, code };
    }
  }
  return callModels(provider, deps);
}

async function callModels(provider: Provider, { clock, secrets }: ProbeDeps): Promise<ProbeOutcome> {
  let credential: string | null;
  try {
    credential = openCredential(secrets, provider);
  } catch {
    return { kind: "sealed" };
  }
  const startedMs = clock.monotonicMs();
  try {
    const { url, headers } = toModelsRequest(provider, credential, null);
    const response = await fetch(url, {
      headers,
      keepalive: false,
      decompress: false,
      redirect: "manual",
      signal: AbortSignal.timeout(MODELS_MS_MAX),
      ...tlsOptions(provider),
    });
    const date = Date.parse(response.headers.get("date") ?? "");
    const clockSkewSeconds = Number.isNaN(date) ? null : Math.round(date / 1000 - clock.nowUs() / 1e6);
    const fetched = await hold(response);
    return {
      kind: "answered",
      fetched,
      durationMs: clock.monotonicMs() - startedMs,
      contentType: (response.headers.get("content-type") ?? "").replace(/;.*$/, "").trim().toLowerCase(),
      clockSkewSeconds,
    };
  } catch (cause) {
    return { kind: "failed", step: "models", code: toCode(cause) };
  }
}

async function hold(response: Response): Promise<FetchedModels> {
  const { status } = response;
  if (status < 200 || status > 299) {
    await response.body?.cancel();
    return { kind: "refused", status };
  }
  const held = await bufferBody(response, { bytesMax: MODELS_BYTES_MAX });
  if (held.kind === "too_large") return { kind: "failed", error: "response_too_large" };
  return held.kind === "broken"
    ? { kind: "failed", error: "connection_error" }
    : { kind: "answered", body: joinPieces(held.pieces) };
}

interface Target {
  readonly host: string;
  readonly port: number;
}

function openTls(target: Target, provider: Provider) {
  const { verifyTls, caPem } = provider;
  return connectTls({
    ...target,
    rejectUnauthorized: verifyTls,
    // RFC 6066, section 3: an address is no server name.
    ...(isIP(target.host) === 0 ? { servername: target.host } : {}),
    ...(caPem === null ? {} : { ca: caPem }),
  });
}

interface Reaching {
  once(event: string, listener: (cause: unknown) => void): unknown;
  destroy(): unknown;
}

async function reach(open: () => Reaching, ready: "connect" | "secureConnect"): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = open();
  socket.once(ready, () => resolve());
  socket.once("error", reject);
  try {
    await inTime(promise);
  } finally {
    // A failure that comes after the limit has no listener left.
    socket.once("error", () => undefined);
    socket.destroy();
  }
}

function inTime<Done>(step: Promise<Done>): Promise<Done> {
  return withinLimit(step, STEP_MS_MAX, () => {
    throw new DOMException("", "TimeoutError");
  });
}

function toCode(cause: unknown): string {
  if (!(cause instanceof Error)) return "failure";
  if (cause.name === "TimeoutError" || cause.name === "AbortError") return "timeout";
  return "code" in cause && typeof cause.code === "string" ? cause.code : "failure";
}
