import { type Peer, toPeer } from "#identity/peer.ts";
import type { Caller } from "#kernel/cancellation.ts";

/** The connections of requests; Bun's server is one. */
export interface Connections {
  /** The idle timeout of one; 0 is never. */
  timeout(request: Request, seconds: number): void;
  /** Null when the connection has gone, and once the last byte of the response has left for it (measured). */
  requestIP(request: Request): { readonly address: string } | null;
}

/** Finds the peer of a request behind a framework that passes no connection on. */
export interface Peers {
  /** `findAddress` is asked only when the peer is. */
  note(request: Request, findAddress: () => string | null): void;
  find(request: Request): Peer;
}

export function createPeers(): Peers {
  const noted = new WeakMap<Request, () => string | null>();
  return {
    note: (request, findAddress) => void noted.set(request, findAddress),
    find: (request) => toPeer(noted.get(request)?.() ?? null),
  };
}

/** Closes a connection on which nothing moves: between requests, in a head, in a body. Above the pauses of client pools. */
export const IDLE_TIMEOUT_SECONDS = 75;

/** The caller of a request that goes upstream, and its connection: null where there is none. */
export class ConnectedCaller implements Caller {
  readonly #request: Request;
  readonly #connections: Connections | null;

  constructor(request: Request, connections: Connections | null) {
    this.#request = request;
    this.#connections = connections;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  /** A model may be silent for longer than any idle connection is kept. */
  keepOpen(): void {
    this.#connections?.timeout(this.#request, 0);
  }

  /** Before the response ends: a connection without a timeout would never be closed. */
  letIdle(): void {
    this.#connections?.timeout(this.#request, IDLE_TIMEOUT_SECONDS);
  }

  hasLeft(): boolean {
    return (this.#connections?.requestIP(this.#request) ?? null) === null;
  }
}
