import type { AuditEntry } from "#audit/event.ts";
import type { Unit } from "#kernel/units.ts";
import type { ParsedCatalogDraft } from "./catalog-draft.ts";
import type { PriceRow, VariantRow } from "./pricing.ts";
import type { Provider } from "./provider.ts";
import type { ToComeChange } from "./price-schedule.ts";
import type { CatalogPicture, ResolvedModel } from "./snapshot.ts";
import type { CatalogWrite } from "./store.ts";
import type { WorkingCopy } from "./working-copy.ts";

/** The change of one resource; null is one that is not there. */
export type CatalogResourceChange =
  | {
      readonly kind: "provider";
      readonly name: string;
      readonly before: Provider | null;
      readonly after: Provider | null;
    }
  | {
      readonly kind: "model";
      readonly name: string;
      /** With the prices in force. */
      readonly before: ResolvedModel | null;
      readonly after: ResolvedModel | null;
      /** True when prices that stand with the model change. */
      readonly isPriced: boolean;
      /** As `isPriced`, of its list of variants. */
      readonly hasNewVariants: boolean;
    }
  | ToComeChange
  | {
      readonly kind: "feed";
      /** The feed's version. */
      readonly name: string;
      /** Prices that change, as they were; null when nothing was of this version. */
      readonly before: FeedPrices | null;
      /** Prices that change, as they will be; null when nothing is left of this version. */
      readonly after: FeedPrices | null;
    };

/** Prices of a feed: standard ones, and whole lists of those under conditions. */
export interface FeedPrices {
  readonly rows: readonly PriceRow[];
  readonly lists: readonly VariantRow[];
}

interface CatalogDifference {
  /** Providers, bindings, names, what is removed, and feeds; within each in the order of the draft. */
  readonly changes: readonly CatalogResourceChange[];
  /** The steps that lead from one to the other, in an order in which no row points at one that is not there. */
  readonly writes: readonly CatalogWrite[];
}

/** Compares a copy with the catalog that it was made from: steps that took each other back leave nothing. */
export function compareCatalogs(
  current: CatalogPicture,
  copy: WorkingCopy,
  { providers, models, feedVersions }: ParsedCatalogDraft,
): CatalogDifference {
  const prices = findPriceChanges(current, copy);
  const lists = findListChanges(current, copy);
  const priced = toOwnedNames(prices);
  const listed = toOwnedNames(lists);
  const toProvider = (name: string): readonly CatalogResourceChange[] => {
    const [before, after] = [current.findProvider(name), copy.findProvider(name)];
    return Bun.deepEquals(before, after, true) ? [] : [{ kind: "provider", name, before, after }];
  };
  const toModel = (name: string): readonly CatalogResourceChange[] => {
    const [before, after] = [current.findModel(name), copy.findModel(name)];
    const isPriced = priced.has(name);
    const hasNewVariants = listed.has(name);
    const isSame = Bun.deepEquals(before?.model, after?.model, true) && !isPriced && !hasNewVariants;
    return isSame ? [] : [{ kind: "model", name, before, after, isPriced, hasNewVariants }];
  };
  const ofKind = (wanted: "binding" | "name") =>
    models.filter(({ kind }) => kind === wanted).map(({ draft }) => draft.alias);
  const goneModels = current.models.filter(({ model }) => copy.findModelById(model.id) === null);
  const goneProviders = current.providers.filter(({ id }) => copy.findProviderById(id) === null);
  const changes = [
    ...providers.flatMap(({ draft }) => toProvider(draft.name)),
    ...[...ofKind("binding"), ...ofKind("name"), ...goneModels.map(({ model }) => model.alias)].flatMap(
      toModel,
    ),
    ...toFeedChanges(current, copy, { prices, lists, feedVersions }),
    ...goneProviders.flatMap(({ name }) => toProvider(name)),
  ];
  const feedWrites = copy.feed === current.feed ? [] : [{ kind: "put_feed", feed: copy.feed } as const];
  const priceWrites = [...prices.map(toPriceWrite), ...lists.map(toListWrite)];
  return { changes, writes: [...toRowWrites(changes), ...priceWrites, ...feedWrites] };
}

interface PriceChange {
  readonly name: string;
  readonly unit: Unit;
  readonly before: PriceRow | null;
  readonly after: PriceRow | null;
  /** The feed that sets the price, or that loses it; null for the model of this name. */
  readonly owner: string | null;
}

function findPriceChanges(current: CatalogPicture, copy: WorkingCopy): readonly PriceChange[] {
  return copy.listWrittenPrices().flatMap(({ name, unit, row: after }): PriceChange[] => {
    const before = current.findPrice(name, unit);
    if (before?.pricePico === after?.pricePico && before?.feedVersion === after?.feedVersion) return [];
    return [{ name, unit, before, after, owner: (after ?? before)?.feedVersion ?? null }];
  });
}

interface ListChange {
  readonly name: string;
  readonly before: VariantRow | null;
  readonly after: VariantRow | null;
  /** As of a `PriceChange`. */
  readonly owner: string | null;
}

function findListChanges(current: CatalogPicture, copy: WorkingCopy): readonly ListChange[] {
  return copy.listWrittenVariants().flatMap(({ name, row: after }): ListChange[] => {
    const before = current.findVariants(name);
    if (Bun.deepEquals(before, after, true)) return [];
    return [{ name, before, after, owner: (after ?? before)?.feedVersion ?? null }];
  });
}

function toOwnedNames(changes: readonly Pick<PriceChange, "name" | "owner">[]): ReadonlySet<string> {
  return new Set(changes.flatMap(({ name, owner }) => (owner === null ? [name] : [])));
}

interface FeedParts {
  readonly prices: readonly PriceChange[];
  readonly lists: readonly ListChange[];
  readonly feedVersions: readonly string[];
}

function toFeedChanges(
  current: CatalogPicture,
  copy: WorkingCopy,
  { prices, lists, feedVersions }: FeedParts,
): readonly CatalogResourceChange[] {
  const byVersion = Map.groupBy(prices, ({ owner }) => owner);
  const listsByVersion = Map.groupBy(lists, ({ owner }) => owner);
  const listVersions = (picture: CatalogPicture) =>
    new Set([
      picture.feed?.version ?? null,
      ...[...picture.prices, ...picture.variantRows].map(({ feedVersion }) => feedVersion),
    ]);
  const [known, left] = [listVersions(current), listVersions(copy)];
  return [...new Set([...feedVersions, ...known, ...left])].flatMap((name): CatalogResourceChange[] => {
    const changed = byVersion.get(name) ?? [];
    const changedLists = listsByVersion.get(name) ?? [];
    const isGone = name !== null && known.has(name) && !left.has(name);
    const isNew = name !== null && left.has(name) && !known.has(name);
    const isNewest = copy.feed !== current.feed && (copy.feed ?? current.feed)?.version === name;
    const isChanged = changed.length > 0 || changedLists.length > 0 || isNewest;
    if (name === null || !isChanged) return [];
    const pick = (side: "before" | "after"): FeedPrices => ({
      rows: changed.flatMap((change) => change[side] ?? []),
      lists: changedLists.flatMap((change) => change[side] ?? []),
    });
    return [
      {
        kind: "feed",
        name,
        before: isNew ? null : pick("before"),
        after: isGone ? null : pick("after"),
      },
    ];
  });
}

function toRowWrites(changes: readonly CatalogResourceChange[]): readonly CatalogWrite[] {
  const puts = (kind: "binding" | "name") =>
    changes.flatMap((change): CatalogWrite[] =>
      change.kind === "model" && change.after?.model.route.kind === kind
        ? [{ kind: "put_model", model: change.after.model }]
        : [],
    );
  const deletions = (kind: "binding" | "name") =>
    changes.flatMap((change): CatalogWrite[] =>
      change.kind === "model" && change.after === null && change.before?.model.route.kind === kind
        ? [{ kind: "delete_model", id: change.before.model.id }]
        : [],
    );
  const toProviderWrite = (change: CatalogResourceChange, isThere: boolean): CatalogWrite[] => {
    if (change.kind !== "provider" || (change.after !== null) !== isThere) return [];
    if (change.after !== null) return [{ kind: "put_provider", provider: change.after }];
    return change.before === null ? [] : [{ kind: "delete_provider", id: change.before.id }];
  };
  return [
    ...changes.flatMap((change) => toProviderWrite(change, true)),
    ...puts("binding"),
    ...puts("name"),
    ...deletions("name"),
    ...deletions("binding"),
    ...changes.flatMap((change) => toProviderWrite(change, false)),
  ];
}

function toPriceWrite({ name, unit, after }: PriceChange): CatalogWrite {
  return after === null ? { kind: "delete_price", name, unit } : { kind: "put_price", price: after };
}

function toListWrite({ name, after }: ListChange): CatalogWrite {
  return after === null ? { kind: "delete_variants", name } : { kind: "put_variants", list: after };
}

/** The audit entry of a change, but for who asked for it. */
export function toAuditSubject(change: CatalogResourceChange): Omit<AuditEntry, "actorPrincipalId"> {
  const { kind, name, before, after } = change;
  if (kind === "prices_to_come") {
    const version = (change.after ?? change.before)?.version ?? null;
    const target =
      version === null
        ? ({ targetKind: "model", targetRef: name } as const)
        : ({ targetKind: "pricing_feed", targetRef: version } as const);
    if (after === null) return { action: "pricing.unschedule", ...target };
    return { action: version === null ? "model.update" : "pricing.load", ...target };
  }
  if (kind === "feed") return { action: "pricing.load", targetKind: "pricing_feed", targetRef: name };
  const verb = before === null ? "create" : after === null ? "delete" : "update";
  return { action: `${kind}.${verb}`, targetKind: kind, targetRef: name };
}
