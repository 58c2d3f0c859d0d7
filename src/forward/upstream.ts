import type { Provider } from "#catalog/provider.ts";
import type { Clock } from "#kernel/clock.ts";
import type { TransportError } from "#usage/event.ts";
import type { Cutoff } from "./cutoff.ts";
import type { UpstreamRoute } from "./route.ts";
import { createWarmConnections } from "./warm.ts";

export interface UpstreamRequest {
  readonly route: UpstreamRoute;
  readonly provider: Pick<Provider, "verifyTls" | "caPem" | "timeoutConnectSeconds">;
  readonly headers: [string, string][];
  readonly body: Uint8Array<ArrayBuffer>;
  /** Cutting it closes the connection in every phase, also while the body of the response is being read. */
  readonly cutoff: Cutoff;
  /** How long, from now, the head of the response may take. Asked before connecting and when connected. */
  readonly headLimitMs: () => number;
}

/** A response whose head has come and whose body has not been touched. */
export interface UpstreamHead {
  readonly kind: "head";
  readonly response: Response;
  /** To be called when its body was read to its end. */
  readToEnd(): void;
}

/** A head, or the class of what went wrong. When the caller hung up the class means nothing. */
export type UpstreamAnswer =
  | UpstreamHead
  | { readonly kind: "failed"; readonly error: Exclude<TransportError, "response_too_large"> };

export interface Upstream {
  /**
   * One POST, and at most one: nothing is retried or followed, and no byte is decoded. Never throws: what the network
   * says holds URLs, and only its class goes on.
   */
  call(request: UpstreamRequest): Promise<UpstreamAnswer>;
}

/** Of one response: names and values together. The runtime itself lets 600 KB of one header pass. */
export const RESPONSE_HEAD_BYTES_MAX = 64 * 1024;

export function createUpstream(clock: Clock): Upstream {
  const warm = createWarmConnections(clock);
  return {
    async call({ route, provider, headers, body, cutoff, headLimitMs }) {
      const isWarm = warm.take(route);
      cutoff.arm(isWarm ? headLimitMs() : Math.min(provider.timeoutConnectSeconds * 1000, headLimitMs()));
      try {
        const response = await fetch(route.url, {
          method: "POST",
          headers,
          body: isWarm ? body : toConnectedBody(body, () => cutoff.arm(headLimitMs())),
          // By default a compressed body is decoded while its headers stay, and a redirect resends the credential elsewhere.
          decompress: false,
          redirect: "manual",
          // The runtime's own timer is coarse and does not run while connecting.
          timeout: false,
          signal: cutoff.signal,
          ...tlsOptions(provider),
        });
        if (!isRelayable(response)) {
          response.body?.cancel().catch(() => undefined);
          return { kind: "failed", error: "connection_error" };
        }
        return {
          kind: "head",
          response,
          readToEnd() {
            if (response.headers.get("connection")?.toLowerCase() !== "close") warm.put(route);
          },
        };
      } catch {
        return { kind: "failed", error: cutoff.cause === "timeout" ? "timeout" : "connection_error" };
      }
    },
  };
}

/**
 * A body that says when its connection stands (DNS, TCP and TLS are done): a direct stream is pulled only then. It is the
 * one exact way to time connecting with `fetch`. Its length is known, so it is not sent in chunks.
 */
function toConnectedBody(body: Uint8Array, onConnected: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    type: "direct",
    pull(controller) {
      onConnected();
      void controller.write(body);
      controller.close();
    },
  });
}

/** A `Response` of ours cannot carry a status outside 200 to 599. */
function isRelayable({ status, headers }: Response): boolean {
  if (status < 200 || status > 599) return false;
  let headBytes = 0;
  headers.forEach((value, name) => {
    headBytes += name.length + value.length;
  });
  return headBytes <= RESPONSE_HEAD_BYTES_MAX;
}

/** Connections with different settings never share a pool (measured: docs/decisions.md). */
function tlsOptions({ verifyTls, caPem }: Pick<Provider, "verifyTls" | "caPem">): {
  tls?: { rejectUnauthorized: boolean; ca?: string };
} {
  if (verifyTls && caPem === null) return {};
  return { tls: { rejectUnauthorized: verifyTls, ...(caPem === null ? {} : { ca: caPem }) } };
}
