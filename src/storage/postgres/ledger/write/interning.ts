import type { PriceSet } from "#kernel/units.ts";
import type { UsageDimensions } from "#usage/event.ts";
import type { UsageManner } from "#usage/journal-line.ts";
import {
  COMBINATION_COLUMNS,
  toCombinationRow,
  toFingerprint,
  toVariant,
} from "#storage/writer/combination.ts";
import { InternedIds } from "#storage/writer/interned-ids.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { toStored } from "#storage/postgres/connection/values.ts";

/** What an event keeps of itself by number: filled in by `Interning.find`. */
export interface Interned {
  readonly dimensions: UsageDimensions;
  readonly manner: UsageManner;
  readonly streamed: boolean;
  combinationId: number;
  resultId: number;
  mannerId: number;
}

/**
 * What repeats from event to event, as small integers. They are committed before the batch that names them, so that two
 * writers that meet something new never hold a batch up for each other, and a batch that fails leaves rows that the next
 * one finds.
 */
export class Interning {
  readonly #postgres: Postgres;
  readonly #ids: InternedIds;
  #combinationCount = 0;

  constructor(postgres: Postgres, ids = new InternedIds()) {
    this.#postgres = postgres;
    this.#ids = ids;
  }

  /** Forgets ids: a database that was put back to an older state gives them to something else. */
  clear(): void {
    this.#ids.clear();
    this.#combinationCount = 0;
  }

  /** Combinations ever interned, as far as this writer has heard. */
  get combinationCount(): number {
    return this.#combinationCount;
  }

  /** Fills in the ids; false when one is not known yet. */
  find(event: Interned): boolean {
    const { dimensions, manner } = event;
    const combination = this.#ids.byDimensions.get(dimensions)?.get(toVariant(manner));
    const ids = this.#ids.byManner.get(manner);
    const mannerId = ids?.manner.get(event.streamed);
    if (combination === undefined || ids === undefined || mannerId === undefined) return false;
    event.combinationId = combination;
    event.resultId = ids.result;
    event.mannerId = mannerId;
    return true;
  }

  /** Makes all of them known, in commits of their own. */
  async intern(events: readonly Interned[]): Promise<void> {
    await this.#internCombinations(events);
    await this.#internManners(events);
    for (const event of events) if (!this.find(event)) throw new Error("an interned row is missing");
  }

  async #internCombinations(events: readonly Interned[]): Promise<void> {
    const named = events.map((event) => {
      const row = toCombinationRow(event.dimensions, event.manner).map(toStoredOrNull);
      return { event, row, text: JSON.stringify(row) };
    });
    // Before any is looked up: what this batch names is known until its end.
    this.#ids.makeRoom(this.#ids.combinations);
    const rows = new Map<string, CombinationInput>();
    for (const { row, text } of named)
      if (!this.#ids.combinations.has(text)) rows.set(text, toInput(row, text));
    const wanted = [...rows.values()];
    if (wanted.length > 0) {
      let found = await findCombinations(this.#postgres, wanted);
      const missing = wanted.filter(({ fingerprint }) => !found.has(fingerprint));
      if (missing.length > 0) {
        await this.#postgres.transaction((tx) => addCombinations(tx, missing));
        found = await findCombinations(this.#postgres, wanted);
      }
      for (const [text, { fingerprint }] of rows) {
        const id = found.get(fingerprint);
        if (id !== undefined) this.#ids.combinations.set(text, id);
        this.#combinationCount = Math.max(this.#combinationCount, id ?? 0);
      }
    }
    for (const { event, text } of named) {
      const byVariant = this.#ids.byDimensions.get(event.dimensions) ?? new Map<string | null, number>();
      const id = this.#ids.combinations.get(text);
      if (id === undefined) throw new Error("an interned combination is missing");
      byVariant.set(toVariant(event.manner), id);
      this.#ids.byDimensions.set(event.dimensions, byVariant);
    }
  }

  async #internManners(events: readonly Interned[]): Promise<void> {
    for (const event of events) {
      const { manner, streamed } = event;
      let ids = this.#ids.byManner.get(manner);
      if (ids === undefined) {
        ids = { result: await this.#internResult(manner), manner: new Map<boolean, number>() };
        this.#ids.byManner.set(manner, ids);
      }
      if (ids.manner.has(streamed)) continue;
      const priceSet = await this.#internPrices(manner.prices);
      const row = [ids.result, streamed ? 1 : 0, priceSet];
      const id = await this.#intern(this.#ids.manners, row.join(" "), () =>
        findOrAdd(
          this.#postgres,
          "SELECT id FROM manner WHERE result = $1 AND streamed = $2 AND price_set = $3",
          "INSERT INTO manner (result, streamed, price_set) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
          row,
        ),
      );
      ids.manner.set(streamed, id);
    }
  }

  async #intern(ids: Map<string, number>, key: string, find: () => Promise<number>): Promise<number> {
    return ids.get(key) ?? this.#ids.remember(ids, key, await find());
  }

  #internResult({ outcome, errorKind, statusCode, failure }: UsageManner): Promise<number> {
    // An empty kind says as much as none; the unique index takes them for one.
    const row = [outcome, toStoredOrNull(errorKind || null), statusCode, failure ?? null];
    return this.#intern(this.#ids.results, JSON.stringify(row), () =>
      findOrAdd(
        this.#postgres,
        `SELECT id FROM result WHERE outcome = $1 AND coalesce(error_kind, '') = coalesce($2::text, '') AND status_code = $3
           AND coalesce(failure, '') = coalesce($4::text, '')`,
        "INSERT INTO result (outcome, error_kind, status_code, failure) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        row,
      ),
    );
  }

  #internPrices(prices: PriceSet): Promise<number> {
    const text = JSON.stringify(prices);
    return this.#intern(this.#ids.priceSets, text, () =>
      findOrAdd(
        this.#postgres,
        "SELECT id FROM price_set WHERE prices = $1",
        "INSERT INTO price_set (prices) VALUES ($1) ON CONFLICT DO NOTHING",
        [text],
      ),
    );
  }
}

/** A row of `combination` with its fingerprint in hexadecimal. */
type CombinationInput = Readonly<Record<string, string | null>> & { readonly fingerprint: string };

function toInput(row: readonly (string | null)[], text: string): CombinationInput {
  const columns = COMBINATION_COLUMNS.map((column, index) => [column, row[index] ?? null] as const);
  return { ...Object.fromEntries(columns), fingerprint: toFingerprint(text).toHex() };
}

/** A caller may send what PostgreSQL's texts cannot hold: the batch would be refused for good, or its row never be found. */
function toStoredOrNull(text: string | null): string | null {
  return text === null ? null : toStored(text);
}

async function findCombinations(
  sql: Sql,
  rows: readonly CombinationInput[],
): Promise<ReadonlyMap<string, number>> {
  const found = await sql.all<{ id: number; fingerprint: string }>(
    `SELECT id, encode(fingerprint, 'hex') AS fingerprint FROM combination
     WHERE fingerprint IN (SELECT decode(hex, 'hex') FROM unnest($1::text[]) AS given(hex))`,
    [rows.map(({ fingerprint }) => fingerprint)],
  );
  return new Map(found.map(({ id, fingerprint }) => [fingerprint, id]));
}

const GIVEN = `json_to_recordset($1::text::json) AS given(fingerprint text, ${COMBINATION_COLUMNS.map((column) => `${column} text`).join(", ")})`;
/** Behind the pairs stands the list of those that are fixed. */
const GIVEN_TAGS = `${GIVEN} CROSS JOIN LATERAL (SELECT told #>> '{}' AS pair
  FROM json_array_elements(given.tags::json) AS list(told) WHERE json_typeof(told) = 'string') AS pairs`;

/** In the order of unique values, and their tags with them: who finds a combination finds its tags. */
async function addCombinations(tx: Sql, rows: readonly CombinationInput[]): Promise<void> {
  const given = JSON.stringify(rows);
  await tx.run(
    `INSERT INTO combination (fingerprint, ${COMBINATION_COLUMNS.join(", ")})
     SELECT decode(fingerprint, 'hex'), ${COMBINATION_COLUMNS.join(", ")} FROM ${GIVEN}
     ORDER BY fingerprint ON CONFLICT DO NOTHING`,
    [given],
  );
  if (rows.every(({ tags }) => tags === "[]")) return;
  await tx.run(
    `INSERT INTO tag (pair) SELECT DISTINCT pair FROM ${GIVEN_TAGS} ORDER BY pair ON CONFLICT DO NOTHING`,
    [given],
  );
  await tx.run(
    `INSERT INTO combination_tag (tag, combination)
     SELECT DISTINCT tag.id, combination.id FROM ${GIVEN_TAGS}
     JOIN tag ON tag.pair = pairs.pair JOIN combination ON combination.fingerprint = decode(given.fingerprint, 'hex')
     ORDER BY 1, 2 ON CONFLICT DO NOTHING`,
    [given],
  );
}

/** A row that another writer adds at the same moment is found by the second look. */
async function findOrAdd(
  sql: Sql,
  find: string,
  add: string,
  row: readonly (string | number | null)[],
): Promise<number> {
  const [known] = await sql.all<{ id: number }>(find, row);
  if (known !== undefined) return known.id;
  await sql.run(add, row);
  const [added] = await sql.all<{ id: number }>(find, row);
  if (added === undefined) throw new Error("an interned row is missing");
  return added.id;
}
