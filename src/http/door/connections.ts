import type { Caller } from "#kernel/cancellation.ts";

/** The connection of a request, as far as its idle timeout goes; Bun's server is one. */
export interface Connections {
  /** 0 is never. */
  timeout(request: Request, seconds: number): void;
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
}
