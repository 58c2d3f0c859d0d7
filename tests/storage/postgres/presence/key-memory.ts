import type { Memory } from "#storage/replicas/follower.ts";

/** Keys of the table `test_key`. */
export interface KeyMemory extends Memory {
  has(key: string): boolean;
  /** How often everything was read. */
  readonly loads: number;
}

export function createKeyMemory(): KeyMemory {
  let keys = new Set<string>();
  let loads = 0;
  return {
    get loads() {
      return loads;
    },
    has: (key) => keys.has(key),
    async load(tx) {
      const rows = await tx.all<{ id: string }>("SELECT id FROM test_key");
      keys = new Set(rows.map(({ id }) => id));
      loads += 1;
    },
    async apply(tx, changes) {
      const ids = changes.flatMap(({ id }) => (id === null ? [] : [id]));
      const rows = await tx.all<{ id: string }>("SELECT id FROM test_key WHERE id = ANY($1::text[])", [ids]);
      for (const id of ids) keys.delete(id);
      for (const { id } of rows) keys.add(id);
    },
  };
}
