import { openCredential, type Provider } from "#catalog/provider.ts";
import type { FetchedModels, FetchModels } from "#catalog/discovery.ts";
import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { createDeadlines } from "#kernel/deadlines.ts";
import { Cancellation } from "#kernel/cancellation.ts";
import { USER_AGENT_DEFAULT } from "./headers.ts";
import { joinPieces } from "#kernel/bytes.ts";
import { bufferBody } from "./response-buffer.ts";
import { tlsOptions } from "./upstream.ts";

export interface ModelsCallDeps {
  readonly clock: Clock;
  readonly secrets: SecretBox;
  /** Bytes of a response that is buffered until it is complete. */
  readonly maxResponseBytes: number;
}

/** A person waits for the answer in front of a page, and a provider lists its models at once. */
export const MODELS_CALL_MS_MAX = 30_000;
/** The largest public list is under 1 MiB; it is parsed on the thread that serves. */
export const MODELS_BYTES_MAX = 8 * 1024 * 1024;

/**
 * The one upstream call that is not a caller's request: it takes no permit of `max_concurrency` and leaves no usage event.
 * What holds for the others holds for it: no redirect is followed, no byte is decoded, the provider's TLS settings apply.
 */
export function createModelsCall({ clock, secrets, maxResponseBytes }: ModelsCallDeps): FetchModels {
  const deadlines = createDeadlines(() => clock.monotonicMs());
  const bytesMax = Math.min(maxResponseBytes, MODELS_BYTES_MAX);
  return async (provider, signal) => {
    const cancellation = new Cancellation({ signal }, { limits: deadlines });
    // One limit for the whole call: without a body nothing tells when the connection stands (docs/decisions.md).
    const limitMs = (provider.timeoutConnectSeconds + provider.timeoutReadSeconds) * 1000;
    cancellation.arm(Math.min(limitMs, MODELS_CALL_MS_MAX));
    const answer = await call(provider, openCredential(secrets, provider), { cancellation, bytesMax });
    // Closes the connection of a refusal, or of a body that is too large, instead of reading the rest.
    cancellation.cancel("cancelled");
    return answer;
  };
}

interface CallBounds {
  readonly cancellation: Cancellation;
  readonly bytesMax: number;
}

async function call(
  provider: Provider,
  credential: string | null,
  { cancellation, bytesMax }: CallBounds,
): Promise<FetchedModels> {
  const failed = (): FetchedModels => ({
    kind: "failed",
    error: cancellation.cause === "timeout" ? "timeout" : "connection_error",
  });
  try {
    const response = await fetch(`${provider.baseUrl}/models`, {
      headers: toHeaders(credential),
      // On a connection that was kept open the runtime would send it again by itself.
      keepalive: false,
      decompress: false,
      redirect: "manual",
      timeout: false,
      signal: cancellation.signal,
      ...tlsOptions(provider),
    });
    if (response.status < 200 || response.status > 299) return { kind: "refused", status: response.status };
    const held = await bufferBody(response, { bytesMax });
    if (held.kind === "too_large") return { kind: "failed", error: "response_too_large" };
    return held.kind === "broken" ? failed() : { kind: "answered", body: joinPieces(held.pieces) };
  } catch {
    return failed();
  }
}

function toHeaders(credential: string | null): [string, string][] {
  const headers: [string, string][] = [
    ["accept", "application/json"],
    ["accept-encoding", "identity"],
    ["user-agent", USER_AGENT_DEFAULT],
  ];
  if (credential !== null) headers.push(["authorization", `Bearer ${credential}`]);
  return headers;
}
