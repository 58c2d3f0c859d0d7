import type { PriceRow, VariantRow } from "#catalog/pricing.ts";
import { type CatalogSnapshot, createSnapshot } from "#catalog/snapshot.ts";
import { findFirstToCome, type TellDropped, withDue } from "#catalog/price-schedule.ts";
import type { KeptSchedule } from "#catalog/scheduled-prices.ts";
import { type Clock, formatInstant, type InstantUs } from "#kernel/clock.ts";
import type { Keyring } from "#kernel/crypto.ts";
import type { Log } from "#kernel/log.ts";
import type { LimitSet } from "#limits/store.ts";
import { eachRow, select, selectOne } from "#storage/sql/rows.ts";
import type { Script } from "#storage/sql/script.ts";
import { toModels } from "./catalog-rows.ts";
import type { Change, Memory } from "./change.ts";
import { LimitMemory } from "./limit-rows.ts";
import { PrincipalMemory, SecretMemory } from "./secret-memory.ts";
import { followSecrets, readSecretState } from "./secret-state.ts";
import {
  apiKeys,
  type ChangeKind,
  models,
  type ModelValues,
  prices,
  priceSchedule,
  priceVariants,
  pricingFeed,
  providers,
  relayTokens,
} from "./tables.ts";
import { createUnreadableTelling, isReadable, listReadable, type TellUnreadable } from "./unreadable.ts";

interface MemoryOptions {
  /** Follows rotations; what the catalog was made with was compared with it. */
  readonly secrets: Keyring;
  readonly log: Log;
  readonly clock: Pick<Clock, "nowUs">;
  /** True where all keys and relay tokens are remembered, or those that were asked for. */
  readonly hasAllSecrets: boolean;
}

/** Where requests to a model go, by its row. */
export type RoutedModel = Pick<ModelValues, "id" | "alias" | "providerId" | "upstreamName" | "targetId">;

/** Rows that are not in force, since they or those that they need cannot be read: their names are taken all the same. */
export interface UnseenRows {
  readonly providers: readonly { readonly id: string; readonly name: string }[];
  readonly models: readonly RoutedModel[];
}

interface ReadCatalog {
  /** As it is stored: prices that have come are stored so with the next change. */
  readonly stored: CatalogSnapshot;
  readonly unseen: UnseenRows;
  /** The picture that was in force at some moment. */
  inForce: InForce;
}

interface InForce {
  readonly snapshot: CatalogSnapshot;
  readonly fromUs: InstantUs;
  /** Exclusive. */
  readonly untilUs: InstantUs;
}

/** The ids of a kind that are to be read again; null: all of it. */
type Ids = readonly string[] | null;

/** The memory that a process has of the catalog: providers, models and prices, limits, keys and relay tokens with their owners. */
export class StoreMemory implements Memory {
  readonly secrets: Keyring;
  readonly #log: Log;
  readonly #clock: MemoryOptions["clock"];
  readonly #limits: LimitMemory;
  readonly #tellDropped: TellDropped;
  readonly #principals: PrincipalMemory;
  /** Tells of each row once that cannot be read. */
  readonly tell: TellUnreadable;
  readonly keys: SecretMemory;
  readonly relayTokens: SecretMemory;
  #catalog: ReadCatalog | null = null;

  constructor({ secrets, log, clock, hasAllSecrets }: MemoryOptions) {
    const tell = createUnreadableTelling(log);
    this.secrets = secrets;
    this.#log = log;
    this.#clock = clock;
    this.tell = tell;
    this.#tellDropped = createDroppedTelling(log);
    this.#limits = new LimitMemory(tell);
    this.#principals = new PrincipalMemory({ hasAll: hasAllSecrets, tell });
    this.keys = new SecretMemory(apiKeys, this.#principals, { hasAll: hasAllSecrets, tell });
    this.relayTokens = new SecretMemory(relayTokens, this.#principals, { hasAll: hasAllSecrets, tell });
  }

  /** The catalog in force: prices whose moment has come are in it, also before they are stored so. Throws before everything was read. */
  catalog(): CatalogSnapshot {
    const catalog = this.#getCatalog();
    return catalog.stored.schedules.length === 0 ? catalog.stored : this.catalogAt(this.#clock.nowUs());
  }

  /** As `catalog`, at another moment. */
  catalogAt(atUs: InstantUs): CatalogSnapshot {
    const catalog = this.#getCatalog();
    const { fromUs, untilUs } = catalog.inForce;
    if (atUs < fromUs || atUs >= untilUs) catalog.inForce = this.#toInForce(catalog.stored, atUs);
    return catalog.inForce.snapshot;
  }

  #toInForce(stored: CatalogSnapshot, atUs: InstantUs): InForce {
    const { schedules } = stored;
    const count = findFirstToCome(schedules, atUs);
    return {
      snapshot: withDue(stored, schedules.slice(0, count), this.#tellDropped),
      fromUs: schedules[count - 1]?.atUs ?? -Infinity,
      untilUs: schedules[count]?.atUs ?? Infinity,
    };
  }

  /** The catalog as it is stored, where prices that have come are still to come. */
  stored(): CatalogSnapshot {
    return this.#getCatalog().stored;
  }

  /** Providers and models that are not in `catalog`. */
  unseen(): UnseenRows {
    return this.#getCatalog().unseen;
  }

  #getCatalog(): ReadCatalog {
    if (this.#catalog === null) throw new Error("the catalog was not read");
    return this.#catalog;
  }

  /** Another state is another object. */
  limits(): LimitSet {
    return this.#limits.set;
  }

  /** Nothing is taken over before everything is read, and then in one turn of the event loop. */
  *read(changes: readonly Change[] | null): Script<() => void> {
    const installs: (() => void)[] = [];
    const wanted = (kind: ChangeKind) => toIds(changes, kind);
    // Secrets before the credentials that they open, owners before what they own.
    if (wanted("secret") !== undefined) {
      const state = yield* readSecretState();
      installs.push(() => followSecrets(state, this.secrets, this.#log));
    }
    if (wanted("catalog") !== undefined || wanted("price") !== undefined) {
      const catalog = yield* this.#readCatalog(changes);
      installs.push(() => {
        this.#catalog = catalog;
      });
    }
    for (const [kind, part] of [
      ["principal", this.#principals],
      ["key", this.keys],
      ["relay_token", this.relayTokens],
      ["limit", this.#limits],
    ] as const) {
      const ids = wanted(kind);
      if (ids !== undefined) installs.push(yield* part.read(ids));
    }
    return () => {
      for (const install of installs) install();
    };
  }

  /** To read and sort the prices is most of the work: they are kept while none has changed. */
  *#readCatalog(changes: readonly Change[] | null): Script<ReadCatalog> {
    const known = toIds(changes, "price") === undefined ? this.#catalog : undefined;
    const feed = yield* selectOne(pricingFeed, "");
    const providerRows = yield* select(providers);
    const modelRows = yield* select(models);
    const schedules = known?.stored.schedules ?? (yield* readSchedules(this.tell));
    const stored = createSnapshot({
      schedules,
      providers: listReadable(providers, providerRows, this.tell),
      models: listReadable(models, modelRows, this.tell).flatMap(toModels),
      ...(known === undefined || known === null
        ? yield* readPrices(this.tell)
        : { prices: known.stored.priceBook }),
      feed: feed === null ? null : { version: feed.version, loadedAtUs: feed.loadedAtUs },
    });
    const unseen = {
      providers: providerRows.filter(({ id }) => stored.findProviderById(id) === null),
      models: modelRows.filter(({ id }) => stored.findModelById(id) === null),
    };
    const untilUs = schedules[0]?.atUs ?? Infinity;
    return { stored, unseen, inForce: { snapshot: stored, fromUs: -Infinity, untilUs } };
  }
}

/** Names that one line of the log tells. */
const NAMES_TOLD_MAX = 20;

/** Tells of each schedule once, however often the catalog is put together. */
function createDroppedTelling(log: Pick<Log, "warn">): TellDropped {
  const told = new Set<number>();
  return ({ id, atUs }, dropped) => {
    if (told.has(id)) return;
    told.add(id);
    log.warn(
      "prices to come were dropped, since the price variants of their model are full: take one out and load them again",
      {
        effective_from: formatInstant(atUs),
        models: [...new Set(dropped.map(({ name }) => name))].slice(0, NAMES_TOLD_MAX).join(", "),
        prices: dropped.length,
      },
    );
  };
}

function* readSchedules(tell: TellUnreadable): Script<readonly KeptSchedule[]> {
  return listReadable(priceSchedule, yield* select(priceSchedule, "ORDER BY at_us, id"), tell);
}

function* readPrices(tell: TellUnreadable) {
  const rows: PriceRow[] = [];
  yield* eachRow(prices, (row) => void rows.push(row));
  const variants: VariantRow[] = [];
  yield* eachRow(priceVariants, (row) => {
    if (isReadable(priceVariants, row, tell)) variants.push(row);
  });
  return { prices: rows, variants };
}

function toIds(changes: readonly Change[] | null, kind: ChangeKind): Ids | undefined {
  if (changes === null) return null;
  const ofKind = changes.filter((change) => change.kind === kind);
  if (ofKind.length === 0) return undefined;
  const ids = ofKind.flatMap(({ id }) => id ?? []);
  return ids.length < ofKind.length ? null : [...new Set(ids)];
}
