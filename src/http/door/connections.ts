import { type Peer, toPeer } from "#identity/peer.ts";
import type { Caller } from "#kernel/cancellation.ts";
import type { InstantUs } from "#kernel/clock.ts";

/** The connections of requests; Bun's server is one. */
export interface Connections {
  /** The idle timeout of one; 0 is never. */
  timeout(request: Request, seconds: number): void;
  /** Null when the connection has gone, and once the last byte of the response has left for it (measured). */
  requestIP(request: Request): { readonly address: string } | null;
}

/** The way in which a request came. */
export interface Arrival {
  readonly arrivedAtUs: InstantUs;
  /** Null when it is not known. */
  readonly findAddress: () => string | null;
}

/** The address is looked up only when it is asked for. */
export function toFindAddress(connections: Connections | null, request: Request): Arrival["findAddress"] {
  return () => connections?.requestIP(request)?.address ?? null;
}

/** Tells how a request came behind a framework that passes nothing of it on. */
export interface Peers {
  note(request: Request, arrival: Arrival): void;
  find(request: Request): Peer;
  /** Null for a request in process. */
  findArrival(request: Request): Arrival | null;
}

export function createPeers(): Peers {
  const noted = new WeakMap<Request, Arrival>();
  return {
    note: (request, arrival) => void noted.set(request, arrival),
    find: (request) => toPeer(noted.get(request)?.findAddress() ?? null),
    findArrival: (request) => noted.get(request) ?? null,
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

/** A load balancer has asked for the health so often within that time; one that a person asked has not. */
const CHECKS = 3;
const CHECKS_WITHIN_US = 10_000_000;

/** True once the server is being stopped: it answers what still comes, and each connection then ends with its answer. */
export class Drain {
  #hasBegun = false;
  #awaitsCheck = false;
  #checkedAtUs: readonly InstantUs[] = [];

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** True until a load balancer that looks at the health regularly has been told. */
  get awaitsCheck(): boolean {
    return this.#awaitsCheck;
  }

  begin(nowUs: InstantUs): void {
    const [firstUs = Number.NEGATIVE_INFINITY] = this.#checkedAtUs;
    this.#awaitsCheck = this.#checkedAtUs.length === CHECKS && nowUs - firstUs <= CHECKS_WITHIN_US;
    this.#hasBegun = true;
  }

  /** The health was asked for. */
  checked(nowUs: InstantUs): void {
    this.#checkedAtUs = [...this.#checkedAtUs, nowUs].slice(-CHECKS);
    this.#awaitsCheck = false;
  }

  /** Without it a caller would send its next request on a connection that is about to be closed (RFC 9112, section 9.6). */
  close(response: Response): Response {
    if (this.#hasBegun) response.headers.set("connection", "close");
    return response;
  }
}
