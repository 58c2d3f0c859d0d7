import type { LoadedFeed, PriceRow } from "#catalog/pricing.ts";
import { type CatalogSnapshot, createSnapshot } from "#catalog/snapshot.ts";
import { toModel, toProvider } from "#storage/catalog/catalog-rows.ts";
import { readRows, type TellUnreadable } from "#storage/catalog/unreadable.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { toSelection } from "./rows.ts";
import { models, prices, providers } from "./schema.ts";

/** A snapshot and the states that it is of. Each change to the catalog gives it another state, one to prices gives these another. */
export interface CatalogPicture {
  readonly state: string | null;
  readonly priceState: string | null;
  readonly snapshot: CatalogSnapshot;
}

const STATE_KEY = "catalog_state";
const PRICE_STATE_KEY = "price_state";

const READ_STATES = `SELECT
  (SELECT value FROM meta WHERE key = '${STATE_KEY}') AS state,
  (SELECT value FROM meta WHERE key = '${PRICE_STATE_KEY}') AS "priceState"`;
const READ_PROVIDERS = `SELECT ${toSelection(providers)} FROM providers`;
const READ_MODELS = `SELECT ${toSelection(models)} FROM models`;
const READ_PRICES = `SELECT ${toSelection(prices)} FROM prices`;
const READ_FEED = `SELECT version, loaded_at_us AS "loadedAtUs" FROM pricing_feed`;

/** Each part has the limit of a call for itself, however many prices there are. */
const ROWS_PER_FETCH = 5_000;

type States = Pick<CatalogPicture, "state" | "priceState">;

/**
 * Reads the catalog as `tx` shows it: one of `known` when it is still of that state, and with its prices when only these
 * are, which are most of the work.
 */
export async function readCatalog(
  tx: Transaction,
  known: readonly (CatalogPicture | null)[],
  tell: TellUnreadable,
): Promise<CatalogPicture> {
  const [states = NO_STATES] = await tx.all<States>(READ_STATES);
  const same = known.find((picture) => picture !== null && isKnown(states.state, picture.state));
  if (same !== null && same !== undefined) return same;
  const samePrices = known.find(
    (picture) => picture !== null && isKnown(states.priceState, picture.priceState),
  );
  const providerRows = await tx.all<typeof providers.$inferSelect>(READ_PROVIDERS);
  const modelRows = await tx.all<typeof models.$inferSelect>(READ_MODELS);
  const [feed = null] = await tx.all<LoadedFeed>(READ_FEED);
  return {
    ...states,
    snapshot: createSnapshot({
      providers: readRows(providerRows, toProvider, tell),
      models: readRows(modelRows, toModel, tell),
      prices: samePrices?.snapshot.priceBook ?? (await readPrices(tx)),
      feed,
    }),
  };
}

async function readPrices(tx: Transaction): Promise<readonly PriceRow[]> {
  const read: PriceRow[] = [];
  for await (const rows of tx.parts<PriceRow>({ text: READ_PRICES, rowsPerFetch: ROWS_PER_FETCH }))
    read.push(...rows);
  return read;
}

/** Gives the catalog another state. Within the transaction that changes it. */
export async function renewStates(sql: Sql, isOfPrices: boolean): Promise<void> {
  const keys = isOfPrices ? [STATE_KEY, PRICE_STATE_KEY] : [STATE_KEY];
  await sql.run(
    `INSERT INTO meta (key, value) SELECT key, gen_random_uuid()::text FROM unnest($1::text[]) AS key
    ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    [keys],
  );
}

const NO_STATES: States = { state: null, priceState: null };

/** A catalog that was copied from elsewhere has no state until its first change. */
function isKnown(now: string | null, then: string | null): boolean {
  return now !== null && now === then;
}
