import type { Clock, InstantUs } from "#kernel/clock.ts";
import type { KeyUseStore } from "./store.ts";

/** `last_used_at` is coarse (specification, sections 2.7 and 8): refreshed at most once a minute. */
export const KEY_USE_REFRESH_US = 60_000_000;
/** Beyond this many keys and relay tokens the oldest entries are forgotten, and their next use is written again. */
const KEY_USE_REMEMBERED_KEYS_MAX = 100_000;

/** The last use of keys and relay tokens, whose ids never coincide. */
export interface KeyUse {
  /** On the hot path: one look-up, and at most once a minute per id a hand-over to the store. */
  touch(keyId: string): void;
  /** Last use by id, this process's own included before it has reached the disk; an unused one is absent. */
  lastUsed(keyIds: readonly string[]): Promise<ReadonlyMap<string, InstantUs>>;
}

export function createKeyUse(store: KeyUseStore, clock: Clock): KeyUse {
  const savedAtUs = new Map<string, InstantUs>();
  return {
    touch(keyId) {
      const nowUs = clock.nowUs();
      const lastUs = savedAtUs.get(keyId);
      // The distance, not the difference: a wall clock set back must not silence a key until it has caught up.
      if (lastUs !== undefined && Math.abs(nowUs - lastUs) < KEY_USE_REFRESH_US) return;
      savedAtUs.delete(keyId);
      if (savedAtUs.size >= KEY_USE_REMEMBERED_KEYS_MAX) forgetOldest(savedAtUs);
      savedAtUs.set(keyId, nowUs);
      store.saveLastUsed(keyId, nowUs);
    },
    async lastUsed(keyIds) {
      const merged = new Map(await store.loadLastUsed(keyIds));
      for (const keyId of keyIds) {
        const freshUs = savedAtUs.get(keyId);
        if (freshUs !== undefined && freshUs > (merged.get(keyId) ?? -Infinity)) merged.set(keyId, freshUs);
      }
      return merged;
    },
  };
}

/** A Map keeps insertion order, and `touch` re-inserts: the first key is the one written longest ago. */
function forgetOldest(savedAtUs: Map<string, InstantUs>): void {
  const oldest = savedAtUs.keys().next();
  if (oldest.done !== true) savedAtUs.delete(oldest.value);
}
