import { toAuthHeader } from "#catalog/provider-fields.ts";
import { openCredential, type Provider } from "#catalog/provider.ts";
import type { FetchedModels, FetchModels, ModelsPage } from "#catalog/discovery.ts";
import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { Cancellation, createDeadlines } from "#kernel/cancellation.ts";
import { USER_AGENT_DEFAULT } from "./headers.ts";
import { joinPieces } from "#kernel/bytes.ts";
import { bufferBody } from "./response-buffer.ts";
import { tlsOptions } from "./upstream.ts";

interface ModelsCallDeps {
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
 * The upstream call that is not a caller's request: it takes no permit of `max_concurrency` and leaves no usage event.
 * As for the others, no redirect is followed, no byte is decoded, the provider's TLS settings apply.
 */
export function createModelsCall({ clock, secrets, maxResponseBytes }: ModelsCallDeps): FetchModels {
  const deadlines = createDeadlines(() => clock.monotonicMs());
  const bytesMax = Math.min(maxResponseBytes, MODELS_BYTES_MAX);
  return async (provider, { afterId, signal }) => {
    const cancellation = new Cancellation({ signal }, { limits: deadlines });
    // One limit for the whole call: without a body nothing tells when the connection stands (docs/decisions.md).
    const limitMs = (provider.timeoutConnectSeconds + provider.timeoutReadSeconds) * 1000;
    cancellation.arm(Math.min(limitMs, MODELS_CALL_MS_MAX));
    const request = toModelsRequest(provider, openCredential(secrets, provider), afterId);
    const answer = await call(provider, request, { cancellation, bytesMax });
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
  { url, headers }: ModelsRequest,
  { cancellation, bytesMax }: CallBounds,
): Promise<FetchedModels> {
  const failed = (): FetchedModels => ({
    kind: "failed",
    error: cancellation.cause === "timeout" ? "timeout" : "connection_error",
  });
  try {
    const response = await fetch(url, {
      headers,
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

interface ModelsRequest {
  readonly url: string;
  readonly headers: [string, string][];
}

/** Anthropic's API refuses a request without one; this is its newest (platform.claude.com/docs/en/api/versioning). */
const ANTHROPIC_VERSION = "2026-10-21";

/** The request for a page of a provider's models. */
export function toModelsRequest(
  { baseUrl, authStyle }: Provider,
  credential: string | null,
  afterId: ModelsPage["afterId"],
): ModelsRequest {
  const headers: [string, string][] = [
    ["accept", "application/json"],
    ["accept-encoding", "identity"],
    ["user-agent", USER_AGENT_DEFAULT],
  ];
  const authHeader = toAuthHeader(authStyle, credential);
  if (authHeader !== null) headers.push(authHeader);
  if (authStyle === "x-api-key") headers.push(["anthropic-version", ANTHROPIC_VERSION]);
  const query = afterId === null ? "" : `?after_id=${encodeURIComponent(afterId)}`;
  return { url: `${baseUrl}/models${query}`, headers };
}
