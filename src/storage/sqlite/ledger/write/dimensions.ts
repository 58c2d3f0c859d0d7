import type { Database, Statement } from "bun:sqlite";
import type { DimensionKind } from "#storage/sqlite/ledger/file/dimension-kinds.ts";
import { VALUE_OF_COMBINATION } from "#storage/sqlite/ledger/file/dimension-kinds.ts";

export interface DimensionLimits {
  /** Rows of one sealed day from which a value is worth totals of its own: a year with fewer is added up in some 30 ms. */
  readonly dayRowsMin: number;
  /** That bound for kinds of which a filter may ask for many values at once: clients by prefix, providers by exclusion. */
  readonly dayRowsMinOfMany: number;
  /** Values of one kind that have totals. A year of them takes some 50 kB each. */
  readonly valuesMax: number;
}

export const DIMENSION_LIMITS: DimensionLimits = { dayRowsMin: 96, dayRowsMinOfMany: 32, valuesMax: 2_000 };

const ASKED_IN_NUMBERS: ReadonlySet<DimensionKind> = new Set(["client", "provider"]);

/** Combinations whose values are kept in memory; beyond it the map is emptied. */
const COMBINATIONS_MAX = 50_000;

/**
 * The values that have totals of their own. One gets them with the first sealed day that has many rows of it, and for
 * good; that day is noted, since what is older is in the totals by combination only. Within the writer's transaction.
 */
export class Dimensions {
  readonly #limits: DimensionLimits;
  readonly #readCombinations: Statement<CombinationRow, [string]>;
  readonly #readDimensions: Statement<DimensionRow, []>;
  readonly #add: Statement<{ readonly id: number }, [string, string, number]>;
  readonly #values = new Map<string, Value>();
  readonly #ofCombination = new Map<number, readonly Value[]>();
  readonly #countOfKind = new Map<DimensionKind, number>();

  constructor(database: Database, limits: DimensionLimits = DIMENSION_LIMITS) {
    this.#limits = limits;
    const values = Object.entries(VALUE_OF_COMBINATION).map(([kind, sql]) => `${sql} AS ${kind}`);
    this.#readCombinations = database.prepare(
      `SELECT id, ${values.join(", ")}, tags FROM combination WHERE id IN (SELECT value FROM json_each(?))`,
    );
    this.#readDimensions = database.prepare("SELECT id, kind, value, first_day FROM dimension");
    this.#add = database.prepare(
      "INSERT INTO dimension (kind, value, first_day) VALUES (?, ?, ?) RETURNING id",
    );
  }

  /** Forgets what a rolled back transaction may have added. */
  clear(): void {
    this.#values.clear();
    this.#ofCombination.clear();
    this.#countOfKind.clear();
  }

  /** Chooses, for a day that is being sealed, the values that get totals from now on: those with many rows in it. */
  choose(day: number, rows: readonly { readonly combination: number }[]): void {
    this.load(rows.map(({ combination }) => combination));
    const rowsOf = new Map<Value, number>();
    for (const { combination } of rows) {
      for (const value of this.#ofCombination.get(combination) ?? []) {
        if (value.id === null) rowsOf.set(value, (rowsOf.get(value) ?? 0) + 1);
      }
    }
    const { dayRowsMin, dayRowsMinOfMany, valuesMax } = this.#limits;
    const busy = [...rowsOf]
      .filter(([{ kind }, count]) => count >= (ASKED_IN_NUMBERS.has(kind) ? dayRowsMinOfMany : dayRowsMin))
      .sort(([, a], [, b]) => b - a);
    for (const [value] of busy) {
      const count = this.#countOfKind.get(value.kind) ?? 0;
      if (count >= valuesMax) continue;
      const row = this.#add.get(value.kind, value.text, day);
      if (row === null) throw new Error("a dimension was not added");
      value.id = row.id;
      value.firstDay = day;
      this.#countOfKind.set(value.kind, count + 1);
    }
  }

  /** Those that a day of the combination counts in. Expects `load` or `choose` with it before. */
  idsOf(combination: number, day: number): readonly number[] {
    const ids: number[] = [];
    for (const { id, firstDay } of this.#ofCombination.get(combination) ?? []) {
      if (id !== null && day >= firstDay) ids.push(id);
    }
    return ids;
  }

  load(combinations: readonly number[]): void {
    if (this.#ofCombination.size > COMBINATIONS_MAX) this.clear();
    if (this.#countOfKind.size === 0) {
      for (const row of this.#readDimensions.all()) this.#know(row);
    }
    const missing = new Set(combinations.filter((id) => !this.#ofCombination.has(id)));
    if (missing.size === 0) return;
    for (const row of this.#readCombinations.all(JSON.stringify([...missing]))) {
      this.#ofCombination.set(row.id, this.#toValues(row));
    }
  }

  /** Lets go of its statements. */
  finalize(): void {
    this.#readCombinations.finalize();
    this.#readDimensions.finalize();
    this.#add.finalize();
  }

  #know({ id, kind, value, first_day }: DimensionRow): void {
    this.#values.set(`${kind} ${value}`, { kind, text: value, id, firstDay: first_day });
    this.#countOfKind.set(kind, (this.#countOfKind.get(kind) ?? 0) + 1);
  }

  #toValues(row: CombinationRow): readonly Value[] {
    const tags: unknown = JSON.parse(row.tags);
    const pairs = new Set(Array.isArray(tags) ? tags.filter((pair) => typeof pair === "string") : []);
    const kinds = ["principal", "key", "provider", "model", "client"] as const;
    const single = kinds.flatMap((kind) => this.#toValue(kind, row[kind]));
    return [...single, ...[...pairs].flatMap((pair) => this.#toValue("tag", pair))];
  }

  #toValue(kind: DimensionKind, text: string | null): readonly Value[] {
    if (text === null) return [];
    const key = `${kind} ${text}`;
    const known = this.#values.get(key) ?? { kind, text, id: null, firstDay: 0 };
    this.#values.set(key, known);
    return [known];
  }
}

interface Value {
  readonly kind: DimensionKind;
  readonly text: string;
  /** Null while it has no totals. */
  id: number | null;
  firstDay: number;
}

interface DimensionRow {
  readonly id: number;
  readonly kind: DimensionKind;
  readonly value: string;
  readonly first_day: number;
}

interface CombinationRow {
  readonly id: number;
  readonly principal: string;
  readonly key: string | null;
  readonly provider: string;
  readonly model: string | null;
  readonly client: string | null;
  readonly tags: string;
}
