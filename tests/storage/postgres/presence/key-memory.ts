import type { Memory } from "#storage/catalog/follower.ts";
import { CatalogFollower } from "#storage/postgres/catalog/follower.ts";
import { all, dialectOf } from "#storage/sql/script.ts";

/** Keys of the table `test_key`. */
export interface KeyMemory {
  readonly follower: CatalogFollower;
  has(key: string): boolean;
  /** How often everything was read. */
  readonly loads: number;
}

export function createKeyMemory(): KeyMemory {
  let keys = new Set<string>();
  let loads = 0;
  const memory: Memory = {
    *read(changes) {
      const { isAnyOf } = yield* dialectOf();
      const ids = changes?.flatMap(({ id }) => id ?? []) ?? null;
      const rows = yield* all<{ id: string }>(
        `SELECT id FROM test_key ${ids === null ? "" : `WHERE ${isAnyOf("id", "text")}`}`,
        ids === null ? [] : [ids],
      );
      return () => {
        if (ids === null) {
          keys = new Set();
          loads += 1;
        }
        for (const id of ids ?? []) keys.delete(id);
        for (const { id } of rows) keys.add(id);
      };
    },
  };
  return {
    follower: new CatalogFollower(memory),
    get loads() {
      return loads;
    },
    has: (key) => keys.has(key),
  };
}
