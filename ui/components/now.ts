import { useSyncExternalStore } from "react";

/** As long as `formatRelative` says "just now", so that nothing that has just been lies in the future. */
const STEP_MS = 10_000;

/** The time in milliseconds, in steps of ten seconds; everything drawn from it shares one timer. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, readNow);
}

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

function subscribe(onStep: () => void): () => void {
  listeners.add(onStep);
  timer ??= setInterval(() => listeners.forEach((listener) => listener()), STEP_MS);
  return () => {
    listeners.delete(onStep);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

function readNow(): number {
  return Math.floor(Date.now() / STEP_MS) * STEP_MS;
}
