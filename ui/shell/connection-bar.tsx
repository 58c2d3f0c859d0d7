import { createContext, use, useSyncExternalStore } from "react";
import { Icon } from "../components/icon.tsx";
import type { Connection } from "./connection.ts";

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
