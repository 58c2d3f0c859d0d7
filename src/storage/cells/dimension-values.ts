import { parseStoredTags } from "./stored-tags.ts";

/** Which values get totals of their own. */
export interface DimensionLimits {
  /** Rows of one sealed day from which a value is worth totals of its own: a year with fewer is added up in some 30 ms. */
  readonly dayRowsMin: number;
  /**
   * That bound for kinds of which a report asks for many values at once: clients by prefix, providers by exclusion, and those
   * by which people have a series told apart. What all of the others add up to is read by combination.
   */
  readonly dayRowsMinOfMany: number;
  /** Values of one kind that have totals. A year of them takes some 50 kB each. */
  readonly valuesMax: number;
}

export const DIMENSION_LIMITS: DimensionLimits = { dayRowsMin: 96, dayRowsMinOfMany: 8, valuesMax: 2_000 };

const ASKED_IN_NUMBERS: ReadonlySet<string> = new Set(["client", "provider", "model", "principal"]);

/** A value with what is stored of it. */
export interface DimensionValue {
  readonly kind: string;
  readonly text: string;
  /** Null while it has no totals. */
  id: number | null;
  firstDay: number;
}

/** A row of `dimension`. */
export interface DimensionRow {
  readonly id: number;
  readonly kind: string;
  readonly value: string;
  readonly first_day: number;
}

/** The values of a combination, `principal` as an array of its id and its name. */
export interface CombinationValues {
  readonly id: number;
  readonly principal: string;
  readonly key: string | null;
  readonly provider: string;
  readonly model: string | null;
  readonly client: string | null;
  /** An array of texts. */
  readonly tags: string;
}

const SINGLE_KINDS = ["principal", "key", "provider", "model", "client"] as const;

/**
 * The values that have totals of their own. One gets them with the first sealed day that has many rows of it, and for
 * good; that day is noted, since what is older is in the totals by combination only.
 */
export class DimensionValues {
  readonly #limits: DimensionLimits;
  readonly #values = new Map<string, DimensionValue>();
  readonly #ofCombination = new Map<number, readonly DimensionValue[]>();
  readonly #countOfKind = new Map<string, number>();

  constructor(limits: DimensionLimits = DIMENSION_LIMITS) {
    this.#limits = limits;
  }

  /** Combinations whose values are known. */
  get combinationCount(): number {
    return this.#ofCombination.size;
  }

  /** Whether no value has totals, as far as is known. */
  get isEmpty(): boolean {
    return this.#countOfKind.size === 0;
  }

  clear(): void {
    this.#values.clear();
    this.#ofCombination.clear();
    this.#countOfKind.clear();
  }

  has(combination: number): boolean {
    return this.#ofCombination.has(combination);
  }

  know({ id, kind, value, first_day }: DimensionRow): void {
    this.#values.set(`${kind} ${value}`, { kind, text: value, id, firstDay: first_day });
    this.#countOfKind.set(kind, (this.#countOfKind.get(kind) ?? 0) + 1);
  }

  /** Expects every stored value to be known. */
  learn(row: CombinationValues): void {
    const pairs = new Set(parseStoredTags(row.tags).tags);
    const single = SINGLE_KINDS.flatMap((kind) => this.#toValue(kind, row[kind]));
    const tagged = [...pairs].flatMap((pair) => this.#toValue("tag", pair));
    this.#ofCombination.set(row.id, [...single, ...tagged]);
  }

  /** For a day that is being sealed, the values that get totals from now on: those with many rows in it. The caller stores them and gives each its id and first day. */
  choose(rows: readonly { readonly combination: number }[]): readonly DimensionValue[] {
    const rowsOf = new Map<DimensionValue, number>();
    for (const { combination } of rows) {
      for (const value of this.#ofCombination.get(combination) ?? []) {
        if (value.id === null) rowsOf.set(value, (rowsOf.get(value) ?? 0) + 1);
      }
    }
    const { dayRowsMin, dayRowsMinOfMany, valuesMax } = this.#limits;
    const busy = [...rowsOf]
      .filter(([{ kind }, count]) => count >= (ASKED_IN_NUMBERS.has(kind) ? dayRowsMinOfMany : dayRowsMin))
      .sort(([, a], [, b]) => b - a);
    const chosen: DimensionValue[] = [];
    for (const [value] of busy) {
      const count = this.#countOfKind.get(value.kind) ?? 0;
      if (count >= valuesMax) continue;
      this.#countOfKind.set(value.kind, count + 1);
      chosen.push(value);
    }
    return chosen;
  }

  /** The values with totals that a day of the combination counts in. */
  idsOf(combination: number, day: number): readonly number[] {
    const ids: number[] = [];
    for (const { id, firstDay } of this.#ofCombination.get(combination) ?? []) {
      if (id !== null && day >= firstDay) ids.push(id);
    }
    return ids;
  }

  #toValue(kind: string, text: string | null): readonly DimensionValue[] {
    if (text === null) return [];
    const key = `${kind} ${text}`;
    const known = this.#values.get(key) ?? { kind, text, id: null, firstDay: 0 };
    this.#values.set(key, known);
    return [known];
  }
}
