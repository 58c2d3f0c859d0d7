/** The connection of a request, as far as its idle timeout goes; Bun's server is one. */
export interface Connections {
  /** 0 is never. */
  timeout(request: Request, seconds: number): void;
}

/** Closes a connection on which nothing moves: between requests, in a head, in a body. Above the pauses of client pools. */
export const IDLE_TIMEOUT_SECONDS = 75;

/**
 * Lifts the idle timeout of a request that waits for its upstream, since a model may be silent for longer than any idle
 * connection is kept. Returns what puts it back. `connections` is null where there is no connection.
 */
export function liftIdleTimeout(request: Request, connections: Connections | null): () => void {
  connections?.timeout(request, 0);
  return () => restoreIdleTimeout(request, connections);
}

/** Puts the idle timeout of a refused request back, whether it had been lifted or not. */
export function restoreIdleTimeout(request: Request, connections: Connections | null): void {
  connections?.timeout(request, IDLE_TIMEOUT_SECONDS);
}
