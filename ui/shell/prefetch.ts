import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import type { NavigationItem } from "./navigation.ts";

/** The first page, its figures and whatever is pressed at once go before. */
const AFTER_MS = 5_000;

/**
 * Loads the other pages' files, one after the other, once the browser has nothing else to do, so that a page opens at once. Not
 * for a reader who asks for little data.
 */
export function usePrefetchedPages(pages: readonly NavigationItem[]): void {
  const router = useRouter();
  useEffect(() => {
    if (hasLittleData()) return undefined;
    let isOver = false;
    const prefetch = async () => {
      for (const { to } of pages) {
        await untilIdle();
        if (isOver) return;
        // Only in advance: what cannot be had now is asked for again when it is opened.
        await router.preloadRoute({ to }).catch(() => null);
      }
    };
    const timer = setTimeout(() => void prefetch(), AFTER_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [router, pages]);
}

/** WebKit has no idle callback: a task of its own is as near as it comes. */
async function untilIdle(): Promise<void> {
  await new Promise<void>((resolve) => {
    if ("requestIdleCallback" in globalThis) requestIdleCallback(() => resolve());
    else setTimeout(resolve, 200);
  });
}

function hasLittleData(): boolean {
  const connection: unknown = Reflect.get(navigator, "connection");
  return connection instanceof Object && Reflect.get(connection, "saveData") === true;
}
