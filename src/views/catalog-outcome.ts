import type { CatalogResourceChange, FeedPrices } from "#catalog/catalog-changes.ts";
import type { CatalogOutcome } from "#catalog/catalog-plan.ts";
import type { Provider } from "#catalog/provider.ts";
import type { ResolvedModel } from "#catalog/snapshot.ts";
import { toModelView, toSingleProviderView } from "./catalog.ts";
import { toPricingView, toVariantFields, toVariantsView } from "#catalog/price-fields.ts";
import type { DraftedPricesToCome } from "#catalog/scheduled-prices.ts";
import { formatInstant } from "#kernel/clock.ts";
import { toListFields, toPriceMap } from "./catalog-file.ts";

/** The answer of `POST /admin/v1/catalog`; no secret is in it, only that one is set. */
export function toCatalogOutcomeView({ changes, kept, missing }: CatalogOutcome, applied: boolean) {
  const { pricesToCome, ...counts } = kept;
  return {
    applied,
    changes: changes.map(toChangeView),
    kept: { ...counts, ...(pricesToCome > 0 && { prices_to_come: pricesToCome }) },
    missing: [...missing],
  };
}

function toChangeView(change: CatalogResourceChange) {
  const { kind, name, before, after } = change;
  const action = before === null ? "create" : after === null ? "delete" : "update";
  return { action, kind, name, ...toDifference(change) } as const;
}

type FieldsView = { readonly [field: string]: unknown };

/** All of what is made or removed; of what changes the fields that do. */
function toDifference(change: CatalogResourceChange) {
  switch (change.kind) {
    case "provider": {
      const [before, after] = [toProviderFacts(change.before), toProviderFacts(change.after)];
      return { ...pickChanged(before, after), credential: toCredential(change) };
    }
    case "model":
      return pickChanged(toModelFacts(change.before), toModelFacts(change.after), [
        ...(change.isPriced ? ["pricing"] : []),
        ...(change.hasNewVariants ? ["price_variants"] : []),
      ]);
    case "prices_to_come":
      return { before: toComeFacts(change.before), after: toComeFacts(change.after) };
    default:
      return {
        before: change.before === null ? null : toFeedFacts(change.before),
        after: change.after === null ? null : toFeedFacts(change.after),
      };
  }
}

/** A change has all of them, so that it says when they begin. */
function toComeFacts(toCome: DraftedPricesToCome | null) {
  if (toCome === null) return null;
  const { atUs, version, prices, variants } = toCome;
  return {
    effective_from: formatInstant(atUs),
    ...(version !== null && { feed: version }),
    ...(prices !== null && { pricing: toPricingView(prices) }),
    ...(variants !== null && { price_variants: toVariantsView(variants) }),
  };
}

function toFeedFacts({ rows, lists }: FeedPrices) {
  return { prices: toPriceMap(rows), ...toListFields(lists) };
}

/** `written`: fields that are told in any case. */
function pickChanged(before: FieldsView | null, after: FieldsView | null, written: readonly string[] = []) {
  if (before === null || after === null) return { before, after };
  const isChanged = (field: string) =>
    written.includes(field) || !Bun.deepEquals(before[field], after[field], true);
  const pick = (fields: FieldsView) =>
    Object.fromEntries(Object.entries(fields).filter(([field]) => isChanged(field)));
  return { before: pick(before), after: pick(after) };
}

function toProviderFacts(provider: Provider | null) {
  if (provider === null) return null;
  const {
    name: _,
    created_at: __,
    wire_format: ___,
    has_credential: ____,
    credential_set_at: _____,
    former_credential_until: ______,
    ...facts
  } = toSingleProviderView(provider);
  return facts;
}

/** A model has the fields of the file, but the prices are those in force, and a route is one value. */
function toModelFacts(resolved: ResolvedModel | null) {
  if (resolved === null) return null;
  const { provider, upstream_name, capabilities, target, pricing, hidden, origin } = toModelView(resolved);
  const rest = { pricing, ...toVariantFields(resolved.variants), hidden, origin };
  return target === null
    ? { route: { provider, upstream_name }, capabilities, ...rest }
    : { route: { target }, ...rest };
}

/** `kept` goes with a changed base URL to the new address. */
function toCredential({
  before,
  after,
}: Extract<CatalogResourceChange, { readonly kind: "provider" }>): "set" | "kept" | "removed" | null {
  const [had, has] = [before, after].map((provider) => (provider?.sealedCredential ?? null) !== null);
  if (had !== true) return has === true ? "set" : null;
  return has === true ? "kept" : "removed";
}
