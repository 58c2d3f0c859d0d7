import { dialectOf, each, one, type Script } from "#storage/sql/script.ts";

/** The columns of `combination` that tell label sets apart, in the order in which the writer has their values. */
export const LABELS = [
  "principal_id",
  "principal_name",
  "key_id",
  "relay_token_id",
  "provider_id",
  "model",
  "upstream_name",
  "endpoint",
  "client",
  "tags",
  "shape",
  "tier",
  "geo",
] as const;
export type Label = (typeof LABELS)[number];
export type LabelRow = { readonly [label in Label]: string | null };
type StoredLabels = LabelRow & { readonly id: number };

const BLOCK_SIZE = 16_384;
/** Blocks that a reader keeps: 131,072 label sets take some 20 MB. Those behind them are read for each report. */
const BLOCKS_KEPT_MAX = 8;

/** One label of the label sets of a block: few values, each of which many have. */
class LabelColumn {
  readonly values: (string | null)[] = [];
  /** For each label set its place in `values`. */
  readonly placeOf = new Int32Array(BLOCK_SIZE);
  readonly #places = new Map<string | null, number>();

  set(row: number, value: string | null): void {
    let place = this.#places.get(value);
    if (place === undefined) {
      place = this.values.length;
      this.values.push(value);
      this.#places.set(value, place);
    }
    this.placeOf[row] = place;
  }
}

/** Label sets, column by column: what a report asks of a label it asks once for each value. */
export class LabelBlock {
  readonly ids = new Int32Array(BLOCK_SIZE);
  count = 0;
  readonly #columns = new Map(LABELS.map((label) => [label, new LabelColumn()]));

  get isFull(): boolean {
    return this.count === BLOCK_SIZE;
  }

  add(row: StoredLabels): void {
    this.ids[this.count] = row.id;
    for (const [label, column] of this.#columns) column.set(this.count, row[label]);
    this.count += 1;
  }

  column(label: Label): LabelColumn {
    const column = this.#columns.get(label);
    if (column === undefined) throw new Error(`there is no label ${label}`);
    return column;
  }

  find(row: number, label: Label): string | null {
    const { values, placeOf } = this.column(label);
    return values[placeOf[row] ?? 0] ?? null;
  }
}

const READ_SQL = `SELECT id, ${LABELS.join(", ")} FROM combination WHERE id > ? ORDER BY id`;

export interface FoundLabelSets {
  readonly last: number;
  readonly blocks: (onBlock: (block: LabelBlock) => void) => Script<void>;
}

/** The label sets of a ledger, the first of which stay in memory: their rows never change. */
export class LabelSets {
  #blocks: LabelBlock[] = [];
  #count = 0;
  #lastId = 0;
  #identity: string | null = null;

  /** The highest id that a label set has, 0 without any, and what hands over every label set, in blocks. */
  *find(): Script<FoundLabelSets> {
    const last = yield* this.#findLast();
    return { last, blocks: (onBlock) => this.#read(last, onBlock) };
  }

  *#read(last: number, onBlock: (block: LabelBlock) => void): Script<void> {
    let behind = new LabelBlock();
    if (last > this.#lastId) {
      yield* each<StoredLabels>(READ_SQL, [this.#lastId], (row) => {
        if (this.#keep(row)) return;
        behind.add(row);
        if (!behind.isFull) return;
        onBlock(behind);
        behind = new LabelBlock();
      });
    }
    for (const block of this.#blocks) onBlock(block);
    if (behind.count > 0) onBlock(behind);
  }

  /** Writers beside one another commit their ids in any order: one that is missing among those that are kept came later. */
  *#findLast(): Script<number> {
    const { hasLocks, toIdentity } = yield* dialectOf();
    const count = hasLocks ? "(SELECT count(*) FROM combination WHERE id <= ?)" : "CAST(NULL AS INTEGER)";
    const found = yield* one<{ last: number | null; count: number | null; identity: string }>(
      `SELECT (SELECT max(id) FROM combination) AS last, ${count} AS count, ${toIdentity("combination")} AS identity`,
      hasLocks ? [this.#lastId] : [],
    );
    const { identity = null } = found ?? {};
    if (identity !== this.#identity || (found?.count ?? this.#count) !== this.#count) {
      this.#blocks = [];
      this.#count = 0;
      this.#lastId = 0;
      this.#identity = identity;
    }
    return found?.last ?? 0;
  }

  #keep(row: StoredLabels): boolean {
    if (this.#blocks.at(-1)?.isFull !== false) {
      if (this.#blocks.length === BLOCKS_KEPT_MAX) return false;
      this.#blocks.push(new LabelBlock());
    }
    this.#blocks.at(-1)?.add(row);
    this.#count += 1;
    this.#lastId = row.id;
    return true;
  }
}
