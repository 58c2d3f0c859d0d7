import { useSyncExternalStore } from "react";

const MINUTE_MS = 60_000;

/** Milliseconds since 1970, moving once a minute: windows that follow the clock are asked for again then, and not before. */
export function useMinute(): number {
  return useSyncExternalStore(subscribe, readMinute);
}

function subscribe(onChange: () => void): () => void {
  let timer = setTimeout(tick, msToNextMinute());
  function tick() {
    onChange();
    timer = setTimeout(tick, msToNextMinute());
  }
  return () => clearTimeout(timer);
}

function readMinute(): number {
  return Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
}

function msToNextMinute(): number {
  return MINUTE_MS - (Date.now() % MINUTE_MS) + 1;
}
