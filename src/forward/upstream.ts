import type { Provider } from "#catalog/provider.ts";
import type { Cancellation } from "#kernel/cancellation.ts";
import type { Clock } from "#kernel/clock.ts";
import { toConnectionFailure } from "#kernel/connection-failure.ts";
import { systemCode } from "#kernel/system-code.ts";
import type { Breach } from "./outcome.ts";
import { type BodySource, toConnectedBody, toStreamedBody } from "./upload.ts";
import { UpstreamHead, WarmConnections } from "./upstream-head.ts";

export type UpstreamBody = Uint8Array<ArrayBuffer> | BodySource | null;

type TlsSettings = Pick<Provider, "verifyTls" | "caPem">;

/** A URL that is called, the TLS settings of the calls, and the count of idle connections to its host. */
export interface UpstreamTarget {
  readonly url: string;
  readonly connectMs: number;
  readonly tls: ReturnType<typeof tlsOptions>;
  readonly warm: WarmConnections;
}

export interface UpstreamRequest {
  readonly method: string;
  readonly target: UpstreamTarget;
  /** The address, where it is not the target's own. */
  readonly url?: string;
  /** Includes the body's length, where it is known. */
  readonly headers: [string, string][];
  readonly body: UpstreamBody;
  /** Cutting it closes the connection in every phase, also while the body of the response is being read. */
  readonly cancellation: Cancellation;
  /** How long the head of the response may take from when the connection stands, and from each piece of a `BodySource`. */
  readonly headMs: number;
  /** The moment, of the monotonic clock, that bounds all of it; null: none. */
  readonly untilMs: number | null;
}

/** A head, or what went wrong. When the caller hung up that means nothing. */
export type UpstreamAnswer = UpstreamHead | FailedCall;

export interface FailedCall extends Breach {
  readonly kind: "failed";
  /** False when it is known that no byte of the request has left: no connection came to stand. */
  readonly isSent: boolean;
}

/**
 * The runtime sends these a second time by itself when a connection that was kept open breaks before the answer (seen;
 * RFC 9110, section 9.2.2, allows it). Each gets a connection of its own, so that nothing is sent twice.
 */
const RESENT_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);

export class Upstream {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  openTarget(url: string, provider: TlsSettings & Pick<Provider, "timeoutConnectSeconds">): UpstreamTarget {
    return {
      url,
      connectMs: provider.timeoutConnectSeconds * 1000,
      tls: tlsOptions(provider),
      warm: new WarmConnections(this.#clock),
    };
  }

  /**
   * One request, and at most one: nothing is retried or followed, and no byte is decoded. Never throws: what the network
   * says holds URLs, and only its class goes on.
   */
  async call(request: UpstreamRequest): Promise<UpstreamAnswer> {
    const { method, target, url = target.url, headers, body, cancellation } = request;
    const isKept = !RESENT_METHODS.has(method);
    const isWarm = isKept && target.warm.take();
    const headMs = this.#toHeadMs(request);
    // Without a body nothing tells when the connection stands: one limit for both.
    const coldMs = body === null ? target.connectMs + headMs : Math.min(target.connectMs, headMs);
    cancellation.arm(isWarm ? headMs : coldMs);
    const passage: Passage = { isConnected: isWarm };
    try {
      const response = await fetch(url, {
        method,
        headers,
        keepalive: isKept,
        body: body === null ? null : this.#toBody(body, request, passage),
        // By default a compressed body is decoded while its headers stay, and a redirect resends the credential elsewhere.
        decompress: false,
        redirect: "manual",
        // The runtime's own timer is coarse and does not run while connecting.
        timeout: false,
        signal: cancellation.signal,
        ...target.tls,
      });
      const head = new UpstreamHead(response, isKept ? target.warm : null);
      if (head.isRelayable) return head;
      response.body?.cancel().catch(() => undefined);
      return { kind: "failed", error: "connection_error", failure: "malformed", isSent: true };
    } catch (cause) {
      // Without a body nothing tells whether the connection stood.
      const isSent = passage.isConnected || body === null;
      if (cancellation.cause !== "timeout")
        return {
          kind: "failed",
          error: "connection_error",
          failure: toConnectionFailure(systemCode(cause)),
          isSent,
        };
      const failure = passage.isConnected ? "read_timeout" : body === null ? undefined : "connect_timeout";
      return { kind: "failed", error: "timeout", failure, isSent };
    }
  }

  #toHeadMs({ headMs, untilMs }: UpstreamRequest): number {
    return untilMs === null ? headMs : untilMs - this.#clock.monotonicMs();
  }

  #toBody(body: Exclude<UpstreamBody, null>, request: UpstreamRequest, passage: Passage) {
    const isWhole = body instanceof Uint8Array;
    if (isWhole && passage.isConnected) return body;
    const onMoved = () => {
      passage.isConnected = true;
      request.cancellation.arm(this.#toHeadMs(request));
    };
    return isWhole ? toConnectedBody(body, onMoved) : toStreamedBody(body, onMoved);
  }
}

/** How far one call has come. */
interface Passage {
  isConnected: boolean;
}

/** Connections with different settings never share a pool (measured: docs/decisions.md). */
export function tlsOptions({ verifyTls, caPem }: TlsSettings): {
  tls?: { rejectUnauthorized: boolean; ca?: string };
} {
  if (verifyTls && caPem === null) return {};
  return { tls: { rejectUnauthorized: verifyTls, ...(caPem === null ? {} : { ca: caPem }) } };
}
