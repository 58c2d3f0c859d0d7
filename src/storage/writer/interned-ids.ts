import type { UsageDimensions } from "#usage/event.ts";
import type { UsageManner } from "#usage/journal-line.ts";

/** Entries of one map; beyond it the map is emptied and the database is asked. */
const ENTRIES_MAX = 50_000;

/** Ids of what endings have in common; `manner` is looked up by whether the request was streamed. */
export interface MannerIds {
  readonly result: number;
  readonly manner: Map<boolean, number>;
}

/** Ids of interned rows, as far as a writer knows them. */
export class InternedIds {
  readonly combinations = new Map<string, number>();
  readonly results = new Map<string, number>();
  readonly priceSets = new Map<string, number>();
  readonly manners = new Map<string, number>();
  /** By the objects that many lines share: a look-up builds no key. Label sets of the same dimensions by `toVariant`. */
  byDimensions = new WeakMap<UsageDimensions, Map<string | null, number>>();
  byManner = new WeakMap<UsageManner, MannerIds>();
  readonly #entriesMax: number;

  constructor(entriesMax = ENTRIES_MAX) {
    this.#entriesMax = entriesMax;
  }

  clear(): void {
    for (const ids of [this.combinations, this.results, this.priceSets, this.manners]) ids.clear();
    this.byDimensions = new WeakMap();
    this.byManner = new WeakMap();
  }

  /** Empties a map that is full. */
  makeRoom(ids: Map<string, number>): void {
    if (ids.size >= this.#entriesMax) ids.clear();
  }

  /** The id of a key, if need be as `find` finds it. */
  intern(ids: Map<string, number>, key: string, find: () => number): number {
    return ids.get(key) ?? this.remember(ids, key, find());
  }

  /** Returns the id. */
  remember(ids: Map<string, number>, key: string, id: number): number {
    this.makeRoom(ids);
    ids.set(key, id);
    return id;
  }
}
