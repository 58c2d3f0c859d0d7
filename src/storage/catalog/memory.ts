import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { LimitSet } from "#limits/store.ts";
import type { Script } from "#storage/sql/script.ts";
import type { Change } from "./change.ts";
import type { Memory } from "./follower.ts";
import { LimitMemory } from "./limit-memory.ts";
import type { ChangeKind } from "./tables.ts";
import type { TellUnreadable } from "./unreadable.ts";

/** What a process remembers of the catalog. */
export class StoreMemory implements Memory {
  readonly #limits: LimitMemory;

  constructor(tell: TellUnreadable) {
    this.#limits = new LimitMemory(tell);
  }

  catalog(): CatalogSnapshot {
    throw new Error("the catalog is not remembered here yet");
  }

  catalogAfter(): Script<CatalogSnapshot> {
    throw new Error("the catalog is not remembered here yet");
  }

  limits(): LimitSet {
    return this.#limits.set;
  }

  /** Nothing is taken over before everything is read, and then in one turn of the event loop. */
  *read(changes: readonly Change[] | null): Script<() => void> {
    const ids = toIds(changes, "limit");
    return ids === undefined ? () => undefined : yield* this.#limits.read(ids);
  }
}

/** The ids of a kind that are to be read again; null: all of it. */
function toIds(changes: readonly Change[] | null, kind: ChangeKind): readonly string[] | null | undefined {
  if (changes === null) return null;
  const ofKind = changes.filter((change) => change.kind === kind);
  if (ofKind.length === 0) return undefined;
  const ids = ofKind.flatMap(({ id }) => id ?? []);
  return ids.length < ofKind.length ? null : [...new Set(ids)];
}
