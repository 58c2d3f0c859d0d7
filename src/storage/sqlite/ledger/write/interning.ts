import type { Database, Statement } from "bun:sqlite";
import type { PriceSet } from "#kernel/units.ts";
import type { UsageDimensions } from "#usage/event.ts";
import type { UsageManner } from "#usage/journal-line.ts";
import {
  COMBINATION_COLUMNS,
  type LabelledEnding,
  toCombinationRow,
  toFingerprint,
  toVariant,
} from "#storage/writer/combination.ts";
import { InternedIds, type MannerIds } from "#storage/writer/interned-ids.ts";

type Id = { readonly id: number };
type ResultRow = [outcome: string, errorKind: string | null, statusCode: number, failure: string | null];

/** What repeats from event to event, as small integers. Only within the writer's transaction. */
export class Interning {
  readonly #ids = new InternedIds();
  readonly #findCombination: Statement<Id, [Uint8Array]>;
  readonly #addCombination: Statement<Id, (string | Uint8Array | null)[]>;
  readonly #addTag: Statement<unknown, [string]>;
  readonly #linkTag: Statement<unknown, [number, string]>;
  readonly #lastCombination: Statement<Id, []>;
  readonly #findResult: Statement<Id, ResultRow>;
  readonly #addResult: Statement<Id, ResultRow>;
  readonly #findPriceSet: Statement<Id, [string]>;
  readonly #addPriceSet: Statement<Id, [string]>;
  readonly #findManner: Statement<Id, number[]>;
  readonly #addManner: Statement<Id, number[]>;

  constructor(database: Database) {
    this.#findCombination = database.prepare("SELECT id FROM combination WHERE fingerprint = ?");
    this.#addCombination = database.prepare(
      `INSERT INTO combination (fingerprint, ${COMBINATION_COLUMNS.join(", ")})
       VALUES (?, ${COMBINATION_COLUMNS.map(() => "?").join(", ")}) RETURNING id`,
    );
    this.#addTag = database.prepare("INSERT INTO tag (pair) VALUES (?) ON CONFLICT DO NOTHING");
    this.#linkTag = database.prepare(
      `INSERT INTO combination_tag (combination, tag) SELECT ?, id FROM tag WHERE pair = ? ON CONFLICT DO NOTHING`,
    );
    // Ids are given in order and no combination is ever removed, so that the last one is their number.
    this.#lastCombination = database.prepare("SELECT id FROM combination ORDER BY id DESC LIMIT 1");
    this.#findResult = database.prepare(
      `SELECT id FROM result WHERE outcome = ? AND ifnull(error_kind, '') = ifnull(?, '') AND status_code = ?
       AND ifnull(failure, '') = ifnull(?, '')`,
    );
    this.#addResult = database.prepare(
      "INSERT INTO result (outcome, error_kind, status_code, failure) VALUES (?, ?, ?, ?) RETURNING id",
    );
    this.#findPriceSet = database.prepare("SELECT id FROM price_set WHERE prices = ?");
    this.#addPriceSet = database.prepare("INSERT INTO price_set (prices) VALUES (?) RETURNING id");
    this.#findManner = database.prepare(
      "SELECT id FROM manner WHERE result = ? AND streamed = ? AND price_set = ?",
    );
    this.#addManner = database.prepare(
      "INSERT INTO manner (result, streamed, price_set) VALUES (?, ?, ?) RETURNING id",
    );
  }

  /** Forgets what a rolled back transaction may have added. */
  clear(): void {
    this.#ids.clear();
  }

  combinationCount(): number {
    return this.#lastCombination.get()?.id ?? 0;
  }

  combination(dimensions: UsageDimensions, ending: LabelledEnding): number {
    const variant = toVariant(ending);
    const byVariant = this.#ids.byDimensions.get(dimensions) ?? new Map<string | null, number>();
    const known = byVariant.get(variant);
    if (known !== undefined) return known;
    const id = this.#internCombination(dimensions, ending);
    this.#ids.byDimensions.set(dimensions, byVariant.set(variant, id));
    return id;
  }

  result(manner: UsageManner): number {
    return this.#idsOf(manner).result;
  }

  /** What a row of `event` keeps of its result, of streaming and of the prices that held. */
  manner(manner: UsageManner, streamed: boolean): number {
    const ids = this.#idsOf(manner);
    const known = ids.manner.get(streamed);
    if (known !== undefined) return known;
    const priceSet = this.#internPrices(manner.prices);
    const id = this.#ids.intern(this.#ids.manners, `${ids.result} ${streamed} ${priceSet}`, () => {
      const row = [ids.result, streamed ? 1 : 0, priceSet];
      return getId(this.#findManner.get(...row) ?? this.#addManner.get(...row));
    });
    ids.manner.set(streamed, id);
    return id;
  }

  #idsOf(manner: UsageManner): MannerIds {
    const known = this.#ids.byManner.get(manner);
    if (known !== undefined) return known;
    const ids = { result: this.#internResult(manner), manner: new Map<boolean, number>() };
    this.#ids.byManner.set(manner, ids);
    return ids;
  }

  #internResult({ outcome, errorKind, statusCode, failure }: UsageManner): number {
    const key = `${outcome} ${statusCode} ${failure ?? ""} ${errorKind ?? ""}`;
    return this.#ids.intern(this.#ids.results, key, () => {
      // An empty kind says as much as none; the unique index takes them for one.
      const row: ResultRow = [outcome, errorKind || null, statusCode, failure ?? null];
      return getId(this.#findResult.get(...row) ?? this.#addResult.get(...row));
    });
  }

  #internCombination(dimensions: UsageDimensions, ending: LabelledEnding): number {
    const row = toCombinationRow(dimensions, ending);
    const text = JSON.stringify(row);
    return this.#ids.intern(this.#ids.combinations, text, () => {
      const fingerprint = toFingerprint(text);
      const found = this.#findCombination.get(fingerprint);
      if (found !== null) return found.id;
      const stored = COMBINATION_COLUMNS.map((_, index) => row[index] ?? null);
      const id = getId(this.#addCombination.get(fingerprint, ...stored));
      for (const pair of dimensions.tags) {
        this.#addTag.run(pair);
        this.#linkTag.run(id, pair);
      }
      return id;
    });
  }

  #internPrices(prices: PriceSet): number {
    const text = JSON.stringify(prices);
    return this.#ids.intern(this.#ids.priceSets, text, () =>
      getId(this.#findPriceSet.get(text) ?? this.#addPriceSet.get(text)),
    );
  }
}

function getId(row: Id | null): number {
  if (row === null) throw new Error("an interned row is missing");
  return row.id;
}
