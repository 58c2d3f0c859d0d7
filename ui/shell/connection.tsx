import type { QueryClient } from "@tanstack/react-query";
import { createContext, use, useSyncExternalStore } from "react";
import { OWN_SERVER } from "../api/client.ts";
import { ApiFailure } from "../api/failure.ts";
import { Icon } from "../components/icon.tsx";

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

export const ConnectionContext = createContext<Connection | null>(null);

/** Says that the server does not answer, for as long as it does not. */
export function ConnectionBar() {
  const connection = use(ConnectionContext);
  const online = useSyncExternalStore(connection?.subscribe ?? subscribeToNothing, () =>
    connection === null ? true : connection.isOnline(),
  );
  return (
    <div role="status" aria-live="polite">
      {!online && (
        <p className="flex items-center gap-2 border-b border-line bg-warn-soft px-4 py-2 text-sm text-ink">
          <Icon name="warning" />
          The server does not respond. The data shown may be out of date. The page retries automatically.
        </p>
      )}
    </div>
  );
}

function subscribeToNothing() {
  return () => undefined;
}
