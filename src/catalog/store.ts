import type { AuditEntry } from "#audit/event.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { Unit } from "#kernel/units.ts";
import type { Model } from "./model.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { Backdating, HeldPrice, PriceSpan, PriceStamp, RepricedSpan } from "./held-price.ts";
import type { LoadedFeed, PriceRow, VariantRow } from "./pricing.ts";
import type { Provider } from "./provider.ts";
import type { PriceSchedule } from "./scheduled-prices.ts";
import type { CatalogPicture, CatalogSnapshot } from "./snapshot.ts";

interface RemovedBy {
  /** The feed that says so; absent: whatever feed the price is of. */
  readonly feedVersion?: string;
}

/** One step of a change to the catalog, as data: rules decide it, a store carries it out. */
export type CatalogWrite =
  | { readonly kind: "put_provider"; readonly provider: Provider }
  /** Its models, and the names that point at them, are removed by steps of their own that come first. */
  | { readonly kind: "delete_provider"; readonly id: string }
  | { readonly kind: "put_model"; readonly model: Model }
  | { readonly kind: "delete_model"; readonly id: string }
  | { readonly kind: "put_price"; readonly price: PriceRow }
  | ({ readonly kind: "delete_price"; readonly name: string; readonly unit: Unit } & RemovedBy)
  | { readonly kind: "put_variants"; readonly list: VariantRow }
  | ({ readonly kind: "delete_variants"; readonly name: string } & RemovedBy)
  /** Prices that take force by themselves once their moment has come. */
  | { readonly kind: "put_schedule"; readonly schedule: PriceSchedule }
  | { readonly kind: "delete_schedule"; readonly id: number }
  /** The newest load, whose prices are steps of their own; null when no price of a feed is left. */
  | { readonly kind: "put_feed"; readonly feed: LoadedFeed | null };

export interface CatalogChange<Result> {
  readonly writes: readonly CatalogWrite[];
  /** The entries that are recorded with them. */
  readonly audit: readonly AuditEntry[];
  /** Absent: prices are those of a write of models, from now on. */
  readonly prices?: PriceStamp;
  /** Makes the result of `change`, given the catalog as it stands after the commit. */
  readonly result: (after: CatalogPicture) => Result;
}

/** Decides a change on the catalog as it is; what it throws refuses the change. Pure. */
export type CatalogPlan<Result> = (current: CatalogPicture) => CatalogChange<Result>;

export interface CatalogStore {
  /** The catalog as of now, including what another process committed just before. Cheap when nothing changed. */
  snapshot(): Promise<CatalogSnapshot>;
  /** Returns the snapshot that was read last while nothing has changed since, else null: then ask `snapshot`. Every request asks. */
  peek(): CatalogSnapshot | null;
  /**
   * One transaction: reads the catalog under the write lock, asks `plan` what to do, carries it out and commits it with
   * its audit entries. `plan` is pure and may be called more than once; what it throws is thrown, and nothing is written.
   */
  change<Result>(plan: CatalogPlan<Result>): Promise<Result>;
  /**
   * The prices that held, of one name or of all, those that began last first; with `hasSuperseded` also those that counted as such
   * until prices were dated back.
   */
  listHeldPrices(
    name: string | null,
    page: Page,
    options?: { readonly hasSuperseded?: boolean },
  ): Promise<Paged<HeldPrice>>;
  /** The times until a moment in which prices that are dated back were those of a name. */
  listRepriced(backdated: readonly Backdating[], untilUs: InstantUs): Promise<readonly RepricedSpan[]>;
  /** The prices of some names, or of all, over time; a name that never had one is not there. */
  readPriceSpans(names: readonly string[] | null): Promise<ReadonlyMap<string, readonly PriceSpan[]>>;
}
