import type { QueryClient } from "@tanstack/react-query";
import { OWN_SERVER } from "../api/client.ts";
import { ApiFailure } from "../api/failure.ts";

/** Whether the server answered last; learned from the page's own questions, and asked for again while it does not. */
export interface Connection {
  readonly isOnline: () => boolean;
  readonly subscribe: (onChange: () => void) => () => void;
  /** Every failed question comes by here. */
  readonly noteFailure: (failure: unknown) => void;
}

const RETRY_MS = 2_000;

export function createConnection(queryClient: QueryClient): Connection {
  const listeners = new Set<() => void>();
  let online = true;
  const change = (next: boolean) => {
    online = next;
    for (const listener of listeners) listener();
  };
  const ask = async () => {
    const answers = await fetch("/healthz", { ...OWN_SERVER, cache: "no-store" })
      .then((response) => response.ok)
      .catch(() => false);
    if (!answers) {
      setTimeout(() => void ask(), RETRY_MS);
      return;
    }
    change(true);
    await queryClient.invalidateQueries();
  };
  return {
    isOnline: () => online,
    subscribe(onChange) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
    noteFailure(failure) {
      if (!online || !(failure instanceof ApiFailure) || failure.code !== "offline") return;
      change(false);
      setTimeout(() => void ask(), RETRY_MS);
    },
  };
}
