import { useLayoutEffect, useRef, useEffect } from "react";
import type { Exchange, Phase } from "./exchange.ts";
import { ExchangeView } from "./exchange-view.tsx";

export interface ConversationProps {
  readonly exchanges: readonly Exchange[];
  readonly onRetry: ((exchange: Exchange) => void) | undefined;
}

const SAID: { readonly [phase in Phase]: string } = {
  waiting: "Waiting for the answer",
  answering: "Receiving the answer",
  done: "The answer is complete",
  cancelled: "The answer was stopped",
  // The error is read by itself.
  failed: "",
};

/** What was asked and answered, the newest at the end. */
export function Conversation({ exchanges, onRetry }: ConversationProps) {
  const last = exchanges.at(-1);
  useFollowing(last);
  return (
    <section aria-label="Conversation" className="min-w-0">
      <p role="status" className="sr-only">
        {last === undefined ? "" : SAID[last.phase]}
      </p>
      <ol className="divide-y divide-line">
        {exchanges.map((exchange) => (
          <ExchangeView
            key={exchange.id}
            exchange={exchange}
            onRetry={exchange === last ? onRetry : undefined}
          />
        ))}
      </ol>
    </section>
  );
}

/** The distance from the end of the page, in pixels, within which the reader still follows the answer. */
const FOLLOWING_PX = 96;

/** Keeps the end in sight while an answer comes, unless one has scrolled away from it to read. */
function useFollowing(last: Exchange | undefined): void {
  const isFollowing = useRef(true);
  useEffect(() => {
    const onScroll = () => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      isFollowing.current = scrollHeight - clientHeight - scrollTop < FOLLOWING_PX;
    };
    document.addEventListener("scroll", onScroll, { passive: true });
    return () => document.removeEventListener("scroll", onScroll);
  }, []);
  const id = last?.id;
  useLayoutEffect(() => {
    if (id !== undefined) isFollowing.current = true;
  }, [id]);
  useLayoutEffect(() => {
    if (last !== undefined && isFollowing.current) {
      document.documentElement.scrollTop = document.documentElement.scrollHeight;
    }
  }, [last]);
}
