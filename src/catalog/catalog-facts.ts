import { type AuditChange, type Facts, SecretFact, toAuditChange, toBounded } from "#audit/change.ts";
import { type AuditEntry, SCHEDULE_ACTOR, toAuditEntry } from "#audit/event.ts";
import { formatInstant } from "#kernel/clock.ts";
import type { PriceSet } from "#kernel/units.ts";
import { toPricingView, toVariantsView } from "./price-fields.ts";
import { type DroppedPrices, listPricesToCome } from "./price-schedule.ts";
import { PROVIDER_SETTINGS } from "./provider-fields.ts";
import type { Provider } from "./provider.ts";
import type { PricesToCome } from "./scheduled-prices.ts";
import type { CatalogPicture, ResolvedModel } from "./snapshot.ts";
import type { CatalogChange, CatalogWrite } from "./store.ts";

/** The fields of providers, models and feeds that the audit log tells, in the words of requests. */

interface CarriedOut extends Pick<CatalogChange<unknown>, "writes" | "prices"> {
  readonly before: CatalogPicture;
  readonly after: CatalogPicture;
}

/** The change of one entry's target by a plan; the entry names the target as it was. */
export function toCatalogChange(
  { targetKind, targetRef }: AuditEntry,
  { before, after, writes, prices }: CarriedOut,
): AuditChange | null {
  switch (targetKind) {
    case "provider": {
      const [was, is] = [before.findProvider(targetRef), after.findProvider(targetRef)];
      return toAuditChange(null, was && toProviderFacts(was), is && toProviderFacts(is));
    }
    case "model": {
      const was = before.findModel(targetRef);
      const is = was === null ? after.findModel(targetRef) : after.findModelById(was.model.id);
      const since = prices?.backdated?.find(({ name }) => name === is?.model.alias)?.fromUs;
      const dated = is && {
        ...toModelFacts(after, is),
        ...(since && { effective_from: formatInstant(since) }),
      };
      return toAuditChange(null, was && toModelFacts(before, was), dated);
    }
    case "pricing_feed":
      return toBounded(null, compareFeed(targetRef, before, writes));
    default:
      return null;
  }
}

/** Neither its credential nor its certificates: that they have changed. */
function toProviderFacts(provider: Provider): Facts {
  const settings = Object.entries(PROVIDER_SETTINGS).map(([key, { kind, wire }]) => {
    const value: unknown = Reflect.get(provider, key);
    return [wire, kind === "pem" ? new SecretFact(value) : value] as const;
  });
  return {
    base_url: provider.baseUrl,
    // Its bytes change with the address that it is sealed for; one that is older than the moment counts as of before all.
    api_key: new SecretFact(provider.sealedCredential && (provider.credentialSetAtUs ?? 0)),
    ...Object.fromEntries(settings),
    endpoints: provider.endpoints,
    enabled: provider.enabled,
  };
}

/** Prices are those in force, as the page shows them: a name's route and capabilities are its target's. */
function toModelFacts(catalog: CatalogPicture, resolved: ResolvedModel): Facts {
  const { model, bound, provider, upstreamName, capabilities, prices, variants } = resolved;
  const toCome = listPricesToCome(catalog).filter(
    ({ name, version }) => version === null && name === model.alias,
  );
  return {
    alias: model.alias,
    ...(model.route.kind === "name"
      ? { target: bound.alias }
      : { provider: provider.name, upstream_name: upstreamName, capabilities }),
    hidden: model.hidden,
    pricing: toPricingView(prices),
    price_variants: toVariantsView(variants),
    pricing_inherited: resolved.pricesInherited,
    prices_to_come: toCome.map(toComingFacts),
    origin: model.origin,
  };
}

function toComingFacts({ atUs, prices, variants }: Omit<PricesToCome, "id" | "version" | "name">): Facts {
  return {
    effective_from: formatInstant(atUs),
    ...(prices !== null && { pricing: toPricingView(prices) }),
    ...(variants !== null && { price_variants: toVariantsView(variants) }),
  };
}

type PriceWrite = Extract<CatalogWrite, { readonly kind: "put_price" | "delete_price" }>;

/** The prices that a load sets, name by name, which are compared no further than there is room to tell them. */
function* compareFeed(
  version: string,
  before: CatalogPicture,
  writes: readonly CatalogWrite[],
): Iterable<readonly [string, unknown, unknown]> {
  const isOwn = (feedVersion: string | null | undefined) => feedVersion === version;
  const priced = writes.filter(
    (write): write is PriceWrite =>
      (write.kind === "put_price" && isOwn(write.price.feedVersion)) ||
      (write.kind === "delete_price" &&
        isOwn(write.feedVersion ?? before.findPrice(write.name, write.unit)?.feedVersion)),
  );
  for (const [name, ofName] of Map.groupBy(priced, toName)) {
    const was: PriceSet = Object.fromEntries(
      ofName.map((write) => {
        const { unit } = write.kind === "put_price" ? write.price : write;
        return [unit, before.findPrice(name, unit)?.pricePico];
      }),
    );
    const is: PriceSet = Object.fromEntries(
      ofName.flatMap((write) =>
        write.kind === "put_price" ? [[write.price.unit, write.price.pricePico]] : [],
      ),
    );
    yield [`pricing.${name}`, toPricingView(was), toPricingView(is)];
  }
  for (const write of writes) {
    if (write.kind === "put_variants" && isOwn(write.list.feedVersion)) {
      const { name, variants } = write.list;
      const was = before.findVariants(name)?.variants ?? [];
      yield [`price_variants.${name}`, toVariantsView(was), toVariantsView(variants)];
    }
    if (write.kind === "delete_variants") {
      const was = before.findVariants(write.name);
      if (was !== null && isOwn(write.feedVersion ?? was.feedVersion))
        yield [`price_variants.${write.name}`, toVariantsView(was.variants), null];
    }
  }
  yield* compareToCome(version, before, writes);
}

function* compareToCome(
  version: string,
  before: CatalogPicture,
  writes: readonly CatalogWrite[],
): Iterable<readonly [string, unknown, unknown]> {
  const added = writes.flatMap((write) =>
    write.kind === "put_schedule" && write.schedule.change.kind === "feed" ? [write.schedule] : [],
  );
  const gone = new Set(writes.flatMap((write) => (write.kind === "delete_schedule" ? [write.id] : [])));
  const left = before.schedules.filter(({ id }) => gone.has(id));
  const list = (schedules: readonly Omit<CatalogPicture["schedules"][number], "id">[]) =>
    listPricesToCome({ ...before, schedules: schedules.map((schedule) => ({ ...schedule, id: 0 })) }).filter(
      (toCome) => toCome.version === version,
    );
  for (const toCome of list(left)) yield [`prices_to_come.${toCome.name}`, toComingFacts(toCome), null];
  for (const toCome of list(added)) yield [`prices_to_come.${toCome.name}`, null, toComingFacts(toCome)];
}

/** The entries of prices to come that were left out at their moment. */
export function toDropEntries(
  current: CatalogPicture,
  dropped: readonly DroppedPrices[],
): readonly AuditEntry[] {
  return dropped.flatMap(([schedule, entries]) => {
    if (schedule.change.kind !== "feed") return [];
    const change = { ...schedule.change, entries };
    const toCome = listPricesToCome({ ...current, schedules: [{ ...schedule, change }] });
    const sides = toCome.map(
      (prices) => [`prices_to_come.${prices.name}`, toComingFacts(prices), null] as const,
    );
    const subject = { targetKind: "pricing_feed", targetRef: change.version } as const;
    const told = { action: "pricing.drop", ...subject, change: toBounded(null, sides) } as const;
    return toAuditEntry(SCHEDULE_ACTOR, told) ?? [];
  });
}

function toName(write: PriceWrite): string {
  return write.kind === "put_price" ? write.price.name : write.name;
}
