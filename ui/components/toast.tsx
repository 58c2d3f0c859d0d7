import { createContext, type ReactNode, use, useEffect, useMemo, useState } from "react";
import { importPart } from "../stale.ts";
import { ErrorBoundary } from "./error-boundary.tsx";
import { addMessage, lastSerial, type NumberedMessage, type ToastMessage } from "./toast-messages.ts";

type DrawRegion = (messages: readonly NumberedMessage[]) => ReactNode;

export interface Toaster {
  /** Shows a message for some seconds and reads it politely. Never the only place of an error. */
  readonly notify: (message: ToastMessage) => void;
}

const ToastContext = createContext<Toaster>({ notify: () => undefined });

/** Around the whole page, once; `useToast` works below it. */
export function ToastProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [messages, setMessages] = useState<readonly NumberedMessage[]>([]);
  const toaster = useMemo(
    () => ({ notify: (message: ToastMessage) => setMessages((earlier) => addMessage(earlier, message)) }),
    [],
  );
  const newest = lastSerial(messages);
  const drawRegion = useToastRegion(newest);
  return (
    <ToastContext value={toaster}>
      {children}
      {drawRegion !== null && (
        // Around everything there is no other: the page would go with a region that breaks.
        <ErrorBoundary isQuiet resetKey={String(newest)}>
          {drawRegion(messages)}
        </ErrorBoundary>
      )}
    </ToastContext>
  );
}

/**
 * Comes with the first message: a page that has nothing to say does not load it. Each message asks for it until it is
 * there. Not a `lazyPart`: a message that comes while that one's failure waits to be drawn would be lost with it.
 */
function useToastRegion(newest: number): DrawRegion | null {
  const [draw, setDraw] = useState<DrawRegion | null>(null);
  useEffect(() => {
    if (newest === 0 || draw !== null) return;
    importPart(() => import("./toast-region.tsx")).then(
      ({ ToastRegion }) => setDraw((): DrawRegion => (messages) => <ToastRegion messages={messages} />),
      reportError,
    );
  }, [newest, draw]);
  return draw;
}

export function useToast(): Toaster {
  return use(ToastContext);
}
