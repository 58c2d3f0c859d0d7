import type { Database, Statement } from "bun:sqlite";
import {
  type CombinationValues,
  type DimensionLimits,
  type DimensionRow,
  DimensionValues,
} from "#storage/cells/dimension-values.ts";
import { SQLITE } from "#storage/sql/dialect.ts";
import { toValueOfCombination } from "#storage/reports/dimension-kinds.ts";

/** Combinations whose values are kept in memory; beyond it the map is emptied. */
const COMBINATIONS_MAX = 50_000;

/** The values that have totals of their own, as the file has them. Within the writer's transaction. */
export class Dimensions {
  readonly #readCombinations: Statement<CombinationValues, [string]>;
  readonly #readDimensions: Statement<DimensionRow, []>;
  readonly #add: Statement<{ readonly id: number }, [string, string, number]>;
  readonly #values: DimensionValues;

  constructor(database: Database, limits?: DimensionLimits) {
    this.#values = new DimensionValues(limits);
    const values = Object.entries(toValueOfCombination(SQLITE)).map(([kind, sql]) => `${sql} AS ${kind}`);
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
  }

  /** Chooses, for a day that is being sealed, the values that get totals from now on. */
  choose(day: number, rows: readonly { readonly combination: number }[]): void {
    this.load(rows.map(({ combination }) => combination));
    for (const value of this.#values.choose(rows)) {
      const row = this.#add.get(value.kind, value.text, day);
      if (row === null) throw new Error("a dimension was not added");
      value.id = row.id;
      value.firstDay = day;
    }
  }

  /** Those that a day of the combination counts in. Expects `load` or `choose` with it before. */
  idsOf(combination: number, day: number): readonly number[] {
    return this.#values.idsOf(combination, day);
  }

  load(combinations: readonly number[]): void {
    if (this.#values.combinationCount > COMBINATIONS_MAX) this.clear();
    if (this.#values.isEmpty) {
      for (const row of this.#readDimensions.all()) this.#values.know(row);
    }
    const missing = new Set(combinations.filter((id) => !this.#values.has(id)));
    if (missing.size === 0) return;
    for (const row of this.#readCombinations.all(JSON.stringify([...missing]))) this.#values.learn(row);
  }

  /** Lets go of its statements. */
  finalize(): void {
    this.#readCombinations.finalize();
    this.#readDimensions.finalize();
    this.#add.finalize();
  }
}
