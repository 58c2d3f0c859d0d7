import { and, eq } from "drizzle-orm";
import type { PriceBook, PriceRow } from "#catalog/pricing.ts";
import { type CatalogSnapshot, createSnapshot } from "#catalog/snapshot.ts";
import type { CatalogStore, CatalogWrite } from "#catalog/store.ts";
import type { RecordAudit } from "./audit.ts";
import {
  FEED_ROW_ID,
  isOfPrice,
  requireFound,
  toModel,
  toModelRow,
  toProvider,
  toProviderRow,
} from "#storage/catalog/catalog-rows.ts";
import { readRows, type TellUnreadable } from "#storage/catalog/unreadable.ts";
import {
  type ClaimedRow,
  requireAllSeen,
  toClaimedRowsSql,
  toClaimValues,
} from "#storage/catalog/unseen-rows.ts";
import { createPriceWriter } from "./catalog-prices.ts";
import type { Connection, Orm } from "./connection.ts";
import { followModel } from "./limit-models.ts";
import { models, prices, pricingFeed, providers } from "./schema.ts";

const CLAIMED_ROWS = toClaimedRowsSql((place) => `SELECT value FROM json_each(?${place})`);

/** The catalog in catalog.db. A write that breaks a rule of the schema is a bug of its plan, and nothing is written. */
export function createCatalogStore(
  connection: Connection,
  recordAudit: RecordAudit,
  tell: TellUnreadable,
): CatalogStore {
  const { orm } = connection;
  const putPrices = createPriceWriter(orm);
  const claimed = orm.$client.prepare<ClaimedRow, string[]>(CLAIMED_ROWS);
  let latest: Picture | null = null;

  const isCurrent = (picture: Picture | null): picture is Picture =>
    picture?.version === connection.dataVersion();
  /** To be called inside a transaction: the version and the rows are then of one moment. */
  const takePicture = (kept: PriceBook | null = null): Picture => ({
    version: connection.dataVersion(),
    snapshot: readSnapshot(orm, kept, tell),
  });
  const currentPicture = (): Picture => {
    if (!isCurrent(latest)) latest = takePicture();
    return latest;
  };

  /** In order, runs of price rows together. */
  const applyAll = (writes: readonly CatalogWrite[]): void => {
    const rows: PriceRow[] = [];
    for (const write of writes) {
      if (write.kind === "put_price") {
        rows.push(write.price);
        continue;
      }
      putPrices(rows.splice(0));
      apply(orm, write);
    }
    putPrices(rows);
  };

  const recall = () => (isCurrent(latest) ? latest.snapshot : null);

  return {
    peek: () => connection.tryQuery(recall),
    async snapshot() {
      const remembered = await connection.query(recall);
      return remembered ?? (await connection.read(currentPicture)).snapshot;
    },

    async change(plan) {
      const committed = await connection.write(
        () => {
          const before = currentPicture();
          const change = plan(before.snapshot);
          const claims = toClaimValues(change.writes, before.snapshot);
          if (claims !== null) requireAllSeen(claimed.all(...claims), before.snapshot);
          applyAll(change.writes);
          for (const entry of change.audit) recordAudit(entry);
          if (change.writes.length === 0) return { change, after: before };
          // The write lock keeps every other process from changing a price since `before`.
          const kept = change.writes.some(isOfPrice) ? null : before.snapshot.priceBook;
          return { change, after: takePicture(kept) };
        },
        // In the same turn as the COMMIT: the next plan must not start from the picture before this one.
        (written) => {
          latest = written.after;
        },
      );
      return committed.change.result(committed.after.snapshot);
    },
  };
}

/** A snapshot and the `data_version` of the file at that moment. */
interface Picture {
  readonly version: number;
  readonly snapshot: CatalogSnapshot;
}

/** `kept` are the prices as they stand, when that is known: to read and sort them is most of the work. */
function readSnapshot(orm: Orm, kept: PriceBook | null, tell: TellUnreadable): CatalogSnapshot {
  return createSnapshot({
    providers: readRows(orm.select().from(providers).all(), toProvider, tell),
    models: readRows(orm.select().from(models).all(), toModel, tell),
    prices: kept ?? orm.select().from(prices).all(),
    feed: orm.select(FEED_COLUMNS).from(pricingFeed).get() ?? null,
  });
}

const FEED_COLUMNS = { version: pricingFeed.version, loadedAtUs: pricingFeed.loadedAtUs };

function apply(orm: Orm, write: Exclude<CatalogWrite, { readonly kind: "put_price" }>): void {
  switch (write.kind) {
    case "put_provider": {
      const row = toProviderRow(write.provider);
      orm.insert(providers).values(row).onConflictDoUpdate({ target: providers.id, set: row }).run();
      return;
    }
    case "delete_provider":
      requireFound(
        write,
        orm.delete(providers).where(eq(providers.id, write.id)).returning({ id: providers.id }).all().length >
          0,
      );
      return;
    case "put_model": {
      const row = toModelRow(write.model);
      followModel(orm, row);
      orm.insert(models).values(row).onConflictDoUpdate({ target: models.id, set: row }).run();
      return;
    }
    case "delete_model":
      requireFound(
        write,
        orm.delete(models).where(eq(models.id, write.id)).returning({ id: models.id }).all().length > 0,
      );
      return;
    case "put_feed": {
      if (write.feed === null) {
        orm.delete(pricingFeed).run();
        return;
      }
      const row = { ...write.feed, id: FEED_ROW_ID };
      orm.insert(pricingFeed).values(row).onConflictDoUpdate({ target: pricingFeed.id, set: row }).run();
      return;
    }
    case "delete_price": {
      const named = and(eq(prices.name, write.name), eq(prices.unit, write.unit));
      requireFound(write, orm.delete(prices).where(named).returning({ name: prices.name }).all().length > 0);
    }
  }
}
