import { useSyncExternalStore } from "react";

/** A choice that this browser remembers as a text, in all of its tabs; null where none was made. */
export interface StoredChoice {
  /** Draws again what uses it, whenever it changes. */
  readonly use: () => string | null;
  readonly write: (text: string | null) => void;
}

/** Where storage is forbidden, a choice lasts as long as the page. */
export function storedChoice(key: string): StoredChoice {
  const listeners = new Set<() => void>();
  let chosen: string | null | undefined;
  const read = () => (chosen === undefined ? (chosen = readStored(key)) : chosen);
  const announce = () => {
    for (const listener of listeners) listener();
  };
  // Another tab has written it.
  const onStorage = () => {
    chosen = undefined;
    announce();
  };
  const subscribe = (listener: () => void) => {
    if (listeners.size === 0) globalThis.addEventListener("storage", onStorage);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) globalThis.removeEventListener("storage", onStorage);
    };
  };
  return {
    use: () => useSyncExternalStore(subscribe, read),
    write(text) {
      chosen = text;
      try {
        if (text === null) localStorage.removeItem(key);
        else localStorage.setItem(key, text);
      } catch {
        // Forbidden, or full.
      }
      announce();
    },
  };
}

function readStored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
