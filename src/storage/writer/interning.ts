import { toStoredTags } from "#storage/cells/stored-tags.ts";
import { toUnpricedBits } from "#storage/reports/event-measures.ts";
import { LABELS } from "#storage/reports/label-sets.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { all, dialectOf, insert, one, run, type Script } from "#storage/sql/script.ts";
import type { UsageDimensions } from "#usage/event.ts";
import type { UsageManner } from "#usage/journal-line.ts";
import type { EndedEvent } from "./ended-event.ts";

/** Entries of one map; beyond it the map is emptied and the database is asked. */
const ENTRIES_MAX = 50_000;
/** 128 bits of SHA-256: the text itself would be kept twice. */
const FINGERPRINT_BYTES = 16;

/** The parts of an event that it keeps by number: filled in by `Interning`. */
export type Interned = Pick<
  EndedEvent,
  "dimensions" | "manner" | "streamed" | "combination" | "result" | "eventClass"
>;

/** The ids of how requests ended: of the result, and of the event class by whether the request was streamed. */
interface EndingIds {
  readonly result: number;
  readonly classes: Map<boolean, number>;
}

/**
 * Numbers what repeats from event to event, as small integers: label sets (the table `combination`), results, price sets, and event
 * classes (the table `manner`). Rows are added before all that a transaction writes to totals, and in the order of their key: no two writers wait for each other in a circle. After one that failed, `clear` forgets its ids.
 */
export class Interning {
  readonly #labelSets = new Map<string, number>();
  readonly #results = new InternedRows("result", ["outcome", "error_kind", "status_code", "failure"]);
  readonly #priceSets = new InternedRows("price_set", ["prices"]);
  readonly #classes = new InternedRows("manner", ["result", "streamed", "price_set", "unpriced"]);
  /** By the objects that many lines share: a look-up builds no key. Label sets of the same dimensions by `toVariant`. */
  #byDimensions = new WeakMap<UsageDimensions, Map<string | null, number>>();
  #byManner = new WeakMap<UsageManner, EndingIds>();
  #labelSetCount = 0;
  readonly #entriesMax: number;

  constructor(entriesMax = ENTRIES_MAX) {
    this.#entriesMax = entriesMax;
  }

  /** Label sets ever interned, as far as this writer has heard. */
  get labelSetCount(): number {
    return this.#labelSetCount;
  }

  /** Forgets ids: a transaction was rolled back, or the database was put back and gives them to something else. */
  clear(): void {
    this.#makeRoom(0);
    this.#byDimensions = new WeakMap();
    this.#byManner = new WeakMap();
  }

  *countLabelSets(): Script<void> {
    // Ids are given in order, and no label set is ever removed.
    const last = yield* one<{ id: number | null }>("SELECT max(id) AS id FROM combination");
    this.#labelSetCount = last?.id ?? 0;
  }

  hasUnknown(events: readonly Interned[]): boolean {
    return events.some((event) => !this.#find(event));
  }

  /** Fills in the ids of all of them, and adds the rows that are missing. */
  *intern(events: readonly Interned[]): Script<void> {
    const unknown = events.filter((event) => !this.#find(event));
    if (unknown.length === 0) return;
    // Before any is looked up: what this batch names is known until its end.
    this.#makeRoom(this.#entriesMax);
    yield* this.#internLabelSets(unknown);
    yield* this.#internEndings(unknown);
    for (const event of unknown) if (!this.#find(event)) throw new Error("an interned row is missing");
  }

  /** Fills in the ids; false when one is not known yet. */
  #find(event: Interned): boolean {
    const { dimensions, manner } = event;
    const labelSet = this.#byDimensions.get(dimensions)?.get(toVariant(manner));
    const ending = this.#byManner.get(manner);
    const eventClass = ending?.classes.get(event.streamed);
    if (labelSet === undefined || ending === undefined || eventClass === undefined) return false;
    event.combination = labelSet;
    event.result = ending.result;
    event.eventClass = eventClass;
    return true;
  }

  #makeRoom(entriesMax: number): void {
    const tables = [this.#results, this.#priceSets, this.#classes];
    for (const ids of [this.#labelSets, ...tables.map((rows) => rows.ids)])
      if (ids.size >= entriesMax) ids.clear();
  }

  *#internLabelSets(events: readonly Interned[]): Script<void> {
    const dialect = yield* dialectOf();
    const named = events.map((event) => ({ event, labelSet: toLabelSet(event, dialect) }));
    const wanted = new Map(
      named.flatMap(({ labelSet }) =>
        this.#labelSets.has(labelSet.text) ? [] : [[toFingerprint(labelSet.text), labelSet] as const],
      ),
    );
    if (wanted.size > 0) {
      const known = yield* findLabelSets([...wanted.keys()]);
      const missing = [...wanted].filter(([fingerprint]) => !known.has(fingerprint));
      const found = missing.length === 0 ? known : new Map([...known, ...(yield* addLabelSets(missing))]);
      for (const [fingerprint, { text }] of wanted) {
        const id = found.get(fingerprint);
        if (id === undefined) continue;
        this.#labelSets.set(text, id);
        this.#labelSetCount = Math.max(this.#labelSetCount, id);
      }
    }
    for (const { event, labelSet } of named) {
      const id = this.#labelSets.get(labelSet.text);
      const byVariant = this.#byDimensions.get(event.dimensions) ?? new Map<string | null, number>();
      if (id !== undefined) byVariant.set(toVariant(event.manner), id);
      this.#byDimensions.set(event.dimensions, byVariant);
    }
  }

  *#internEndings(events: readonly Interned[]): Script<void> {
    const { toStored } = yield* dialectOf();
    const results = yield* this.#results.intern(
      // An empty kind says as much as none; the unique index takes them for one.
      events.map(({ manner: { outcome, errorKind, statusCode, failure } }) => [
        outcome,
        toStored(errorKind ?? ""),
        statusCode,
        failure ?? "",
      ]),
    );
    const priceSets = yield* this.#priceSets.intern(
      events.map(({ manner }) => [JSON.stringify(manner.prices)]),
    );
    const classes = yield* this.#classes.intern(
      events.map(({ streamed, manner: { prices } }, index) => [
        results[index] ?? 0,
        streamed ? 1 : 0,
        priceSets[index] ?? 0,
        toUnpricedBits(prices),
      ]),
    );
    for (const [index, { manner, streamed }] of events.entries()) {
      const [result = 0, eventClass = 0] = [results[index], classes[index]];
      const ending = this.#byManner.get(manner) ?? { result, classes: new Map<boolean, number>() };
      ending.classes.set(streamed, eventClass);
      this.#byManner.set(manner, ending);
    }
  }
}

type Row = readonly (string | number)[];

/** The ids of a table of few rows, which differ in these columns; NULL stands for an empty text. */
export class InternedRows {
  /** By the JSON of a row; to be cleared when a transaction fails. */
  readonly ids = new Map<string, number>();
  readonly #findSql: string;
  readonly #addSql: string;

  constructor(table: "result" | "price_set" | "manner", columns: readonly string[]) {
    const isNullable = (column: string) => column === "error_kind" || column === "failure";
    const compared = columns.map((column) =>
      isNullable(column) ? `coalesce(${column}, '') = ?` : `${column} = ?`,
    );
    const added = columns.map((column) => (isNullable(column) ? "nullif(?, '')" : "?"));
    this.#findSql = `SELECT id FROM ${table} WHERE ${compared.join(" AND ")}`;
    this.#addSql = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${added.join(", ")}) ON CONFLICT DO NOTHING`;
  }

  /** The ids of the rows, which are added where they are absent. */
  *intern(rows: readonly Row[]): Script<readonly number[]> {
    const keys = rows.map((row) => JSON.stringify(row));
    const unknown = new Map(keys.map((key, index) => [key, rows[index] ?? []]));
    for (const key of [...unknown.keys()].toSorted()) {
      if (!this.ids.has(key)) this.ids.set(key, yield* this.#findOrAdd(unknown.get(key) ?? []));
    }
    return keys.map((key) => this.ids.get(key) ?? 0);
  }

  /** A row that another writer adds at the same moment is found by the second look. */
  *#findOrAdd(row: Row): Script<number> {
    const known = yield* one<{ id: number }>(this.#findSql, row);
    if (known !== null) return known.id;
    yield* run(this.#addSql, row);
    const added = yield* one<{ id: number }>(this.#findSql, row);
    if (added === null) throw new Error("an interned row is missing");
    return added.id;
  }
}

const LABEL_SETS = {
  table: "combination",
  columns: [["fingerprint", "bytea"], ...LABELS.map((column) => [column, "text"] as const)],
  ending: "ON CONFLICT DO NOTHING",
} as const;
/** The labels that a request has in common with others, as it is stored once, and the JSON of it. */
interface LabelSet {
  readonly row: readonly (string | null)[];
  readonly text: string;
}

/** A row ends before what most requests lack: its fingerprint is what it was before there were tiers and regions. */
function toLabelSet(
  { dimensions, manner: { shape, tier, geo } }: Pick<Interned, "dimensions" | "manner">,
  { toStored }: Dialect,
): LabelSet {
  const row = [
    dimensions.principalId,
    dimensions.principalName,
    dimensions.keyId,
    dimensions.relayTokenId,
    dimensions.providerId,
    dimensions.model,
    dimensions.upstreamName,
    dimensions.endpoint,
    dimensions.client,
    toStoredTags(dimensions),
    shape,
    ...(geo !== undefined ? [tier ?? null, geo] : tier !== undefined ? [tier] : []),
  ].map((text) => (text === null ? null : toStored(text)));
  return { row, text: JSON.stringify(row) };
}

/** Tells label sets of the same dimensions apart. */
function toVariant({ shape, tier, geo }: Pick<UsageManner, "shape" | "tier" | "geo">): string | null {
  return (tier ?? geo) === undefined ? shape : `${shape} ${tier ?? ""} ${geo ?? ""}`;
}

/** Finds a label set by its text; hexadecimal. */
function toFingerprint(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest().subarray(0, FINGERPRINT_BYTES).toHex();
}

function* findLabelSets(fingerprints: readonly string[]): Script<ReadonlyMap<string, number>> {
  const { isAnyOfBytes } = yield* dialectOf();
  const rows = yield* all<{ id: number; fingerprint: Uint8Array }>(
    `SELECT id, fingerprint FROM combination WHERE ${isAnyOfBytes("fingerprint")}`,
    [fingerprints],
  );
  return new Map(rows.map(({ id, fingerprint }) => [fingerprint.toHex(), id]));
}

/** Returns the ids. */
function* addLabelSets(
  missing: readonly (readonly [fingerprint: string, labelSet: LabelSet])[],
): Script<ReadonlyMap<string, number>> {
  const { hasLocks } = yield* dialectOf();
  // Where one writer is alone, ids are in the order of arrival: made-up values are counted by it.
  const sorted = hasLocks ? missing.toSorted(([left], [right]) => (left < right ? -1 : 1)) : missing;
  yield* insert(
    LABEL_SETS,
    sorted.map(([fingerprint, { row }]) => [
      Uint8Array.fromHex(fingerprint),
      ...LABELS.map((_, index) => row[index] ?? null),
    ]),
  );
  return yield* findLabelSets(sorted.map(([fingerprint]) => fingerprint));
}
