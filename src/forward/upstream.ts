import type { Provider } from "#catalog/provider.ts";
import type { Clock } from "#kernel/clock.ts";
import type { TransportError } from "#usage/event.ts";
import type { Cancellation } from "#kernel/cancellation.ts";
import { createWarmConnections } from "./warm.ts";

/** A body that is passed on as it comes. */
export interface BodySource {
  /** Null when it is not known beforehand. */
  readonly sizeBytes: number | null;
  /** The next bytes, asked for when those before have left; or null at the end. Throws when the body breaks off, or is refused after all. */
  next(): Promise<Uint8Array | null>;
}

export type UpstreamBody = Uint8Array<ArrayBuffer> | BodySource | null;

export interface UpstreamRequest {
  readonly method: string;
  readonly url: string;
  /** One object for all requests to a host with one set of TLS settings: idle connections are counted by it. */
  readonly route: object;
  readonly provider: Pick<Provider, "verifyTls" | "caPem" | "timeoutConnectSeconds">;
  /** Includes the body's length, where it is known. */
  readonly headers: [string, string][];
  readonly body: UpstreamBody;
  /** Cutting it closes the connection in every phase, also while the body of the response is being read. */
  readonly cancellation: Cancellation;
  /** How long, from now, the head of the response may take. Asked before connecting, when connected and for each piece of a `BodySource`. */
  readonly headLimitMs: () => number;
}

/** A response whose head has come and whose body has not been touched. */
export interface UpstreamHead {
  readonly kind: "head";
  readonly response: Response;
  /** Call it when the body was read to its end: the connection counts as idle from then on. */
  readToEnd(): void;
}

/** A head, or the class of what went wrong. When the caller hung up the class means nothing. */
export type UpstreamAnswer =
  | UpstreamHead
  | { readonly kind: "failed"; readonly error: Exclude<TransportError, "response_too_large"> };

export interface Upstream {
  /**
   * One request, and at most one: nothing is retried or followed, and no byte is decoded. Never throws: what the network
   * says holds URLs, and only its class goes on.
   */
  call(request: UpstreamRequest): Promise<UpstreamAnswer>;
}

/** Limit of a response's header names and values together. The runtime itself lets 600 KB of one header pass. */
export const RESPONSE_HEAD_BYTES_MAX = 64 * 1024;

/**
 * The runtime sends these a second time by itself when a connection that was kept open breaks before the answer (seen;
 * RFC 9110, section 9.2.2, allows it). Each gets a connection of its own, so that nothing is sent twice.
 */
const RESENT_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);

export function createUpstream(clock: Clock): Upstream {
  const warm = createWarmConnections(clock);
  return {
    async call({ method, url, route, provider, headers, body, cancellation, headLimitMs }) {
      const isKept = !RESENT_METHODS.has(method);
      const isWarm = isKept && warm.take(route);
      const connectMs = provider.timeoutConnectSeconds * 1000;
      // Without a body nothing tells when the connection stands: one limit for both.
      if (body === null) cancellation.arm(isWarm ? headLimitMs() : connectMs + headLimitMs());
      else cancellation.arm(isWarm ? headLimitMs() : Math.min(connectMs, headLimitMs()));
      try {
        const response = await fetch(url, {
          method,
          headers,
          keepalive: isKept,
          ...(body === null ? {} : { body: toBody(body) }),
          // By default a compressed body is decoded while its headers stay, and a redirect resends the credential elsewhere.
          decompress: false,
          redirect: "manual",
          // The runtime's own timer is coarse and does not run while connecting.
          timeout: false,
          signal: cancellation.signal,
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
            if (isKept && response.headers.get("connection")?.toLowerCase() !== "close") warm.put(route);
          },
        };
      } catch {
        return { kind: "failed", error: cancellation.cause === "timeout" ? "timeout" : "connection_error" };
      }

      function toBody(bytes: Uint8Array<ArrayBuffer> | BodySource) {
        const onMoved = () => cancellation.arm(headLimitMs());
        if (!(bytes instanceof Uint8Array)) return toStreamedBody(bytes, onMoved);
        return isWarm ? bytes : toConnectedBody(bytes, onMoved);
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

/** A body that is sent piece by piece. `onMoved` is called when its connection stands and for each piece. */
function toStreamedBody(source: BodySource, onMoved: () => void): ReadableStream<Uint8Array> {
  let isTaken = true;
  return new ReadableStream<Uint8Array>({
    type: "direct",
    async pull(controller) {
      onMoved();
      try {
        for (let chunk = await source.next(); chunk !== null; chunk = await source.next()) {
          onMoved();
          // An upstream that answers early takes no more of it. The caller is let finish, so that it comes to read.
          if (!isTaken) continue;
          await controller.write(chunk);
          await controller.flush();
        }
        if (isTaken) controller.close();
      } catch (failure) {
        // Never a clean end: what was sent so far is no whole body.
        if (isTaken) controller.close(failure instanceof Error ? failure : new Error("the body broke off"));
      }
    },
    cancel() {
      isTaken = false;
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
export function tlsOptions({ verifyTls, caPem }: Pick<Provider, "verifyTls" | "caPem">): {
  tls?: { rejectUnauthorized: boolean; ca?: string };
} {
  if (verifyTls && caPem === null) return {};
  return { tls: { rejectUnauthorized: verifyTls, ...(caPem === null ? {} : { ca: caPem }) } };
}
