import { CAPABILITIES } from "#catalog/capability.ts";
import { CATALOG_FORMAT } from "#catalog/catalog-draft.ts";
import type { CatalogOutcome } from "#catalog/catalog-plan.ts";
import type { CatalogResourceChange } from "#catalog/catalog-changes.ts";
import { findOwnPrices } from "#catalog/price-plan.ts";
import type { PriceRow } from "#catalog/pricing.ts";
import {
  TIMEOUT_CONNECT_SECONDS_DEFAULT,
  TIMEOUT_READ_SECONDS_DEFAULT,
  type Provider,
} from "#catalog/provider.ts";
import type { CatalogPicture, ResolvedModel } from "#catalog/snapshot.ts";
import { isDeepStrictEqual } from "node:util";
import { compareCodeUnits } from "#kernel/text.ts";
import { toPricePerMillion, type Unit } from "#kernel/units.ts";
import { toModelView, toSingleProviderView } from "./catalog.ts";

type PricesView = { [unit in Unit]?: number };

/**
 * The whole catalog as the file that `lockport export` writes: what has its default is left out, and of a secret there is
 * only where it is to be found. Applied to an empty installation it makes the same catalog, but for the secrets.
 */
export function toCatalogFileView(catalog: CatalogPicture) {
  const toVariable = createNamer();
  return {
    lockport_catalog: CATALOG_FORMAT,
    providers: Object.fromEntries(
      catalog.providers.map((provider) => [provider.name, toProviderFields(provider, toVariable)]),
    ),
    models: Object.fromEntries(
      catalog.models.map((resolved) => [resolved.model.alias, toModelFields(catalog, resolved)]),
    ),
    feeds: toFeedFields(catalog),
  };
}

function toProviderFields(provider: Provider, toVariable: (name: string) => string) {
  const { name, baseUrl, verifyTls, timeoutConnectSeconds, timeoutReadSeconds, maxConcurrency } = provider;
  const overrides = Object.entries(provider.endpoints).toSorted(([left], [right]) =>
    compareCodeUnits(left, right),
  );
  return {
    base_url: baseUrl,
    ...(provider.sealedCredential !== null && { api_key_env: toVariable(name) }),
    ...(provider.caPem !== null && { ca_pem_file: `${name}-ca.pem` }),
    ...(!verifyTls && { verify_tls: false }),
    ...(timeoutConnectSeconds !== TIMEOUT_CONNECT_SECONDS_DEFAULT && {
      timeout_connect: timeoutConnectSeconds,
    }),
    ...(timeoutReadSeconds !== TIMEOUT_READ_SECONDS_DEFAULT && { timeout_read: timeoutReadSeconds }),
    ...(maxConcurrency !== null && { max_concurrency: maxConcurrency }),
    ...(overrides.length > 0 && { endpoints: Object.fromEntries(overrides) }),
    ...(!provider.enabled && { enabled: false }),
  };
}

function toModelFields(catalog: CatalogPicture, resolved: ResolvedModel) {
  const { model, bound, provider, upstreamName, capabilities } = resolved;
  const isFed = (unit: Unit) => (catalog.findPrice(model.alias, unit)?.feedVersion ?? null) !== null;
  const prices = findOwnPrices(catalog, resolved, isFed);
  return {
    ...(model.route.kind === "name"
      ? { target: bound.alias }
      : {
          provider: provider.name,
          upstream_name: upstreamName,
          // In one order, so that the same set is the same text.
          capabilities: CAPABILITIES.filter((capability) => capabilities.includes(capability)),
        }),
    ...(prices !== null && {
      prices: Object.fromEntries([...prices].map(([unit, price]) => [unit, toPricePerMillion(price)])),
    }),
    ...(model.hidden && { hidden: true }),
    ...(model.origin !== "declared" && { origin: model.origin }),
  };
}

/** The newest load last. */
function toFeedFields({ feed, prices }: CatalogPicture) {
  const byVersion = Map.groupBy(prices, ({ feedVersion }) => feedVersion);
  const isNewest = (version: string) => Number(version === feed?.version);
  return [...new Set([...byVersion.keys(), feed?.version ?? null])]
    .flatMap((version) => version ?? [])
    .toSorted((left, right) => isNewest(left) - isNewest(right) || compareCodeUnits(left, right))
    .map((version) => ({ version, prices: toPriceMap(byVersion.get(version) ?? []) }));
}

/** By name, then by unit; the marks "no price" are none. */
function toPriceMap(rows: readonly PriceRow[]): { [name: string]: PricesView } {
  const prices = new Map<string, PricesView>();
  for (const { name, unit, pricePico } of rows) {
    if (pricePico === null) continue;
    const ofName = prices.get(name) ?? {};
    prices.set(name, ofName);
    ofName[unit] = toPricePerMillion(pricePico);
  }
  // `fromEntries`, since a name may be `__proto__`.
  return Object.fromEntries(prices);
}

/** `OPENAI_API_KEY` for `openai`, each name once; never a variable of Lockport's own. */
function createNamer(): (provider: string) => string {
  const used = new Set<string>();
  return (provider) => {
    const word = provider.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_");
    const stem = /^(?:\d|PROXY(?:_|$))/.test(word) ? `UPSTREAM_${word}` : word;
    for (let number = 1; ; number += 1) {
      const name = `${stem}${number === 1 ? "" : `_${number}`}_API_KEY`;
      if (used.has(name)) continue;
      used.add(name);
      return name;
    }
  };
}

/** What `POST /admin/v1/catalog` answers; no secret is in it, only that one is set. */
export function toCatalogOutcomeView({ changes, kept, missing }: CatalogOutcome, applied: boolean) {
  return { applied, changes: changes.map(toChangeView), kept, missing };
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
      return pickChanged(toModelFacts(change.before), toModelFacts(change.after), change.isPriced);
    default:
      return {
        before: change.before === null ? null : { prices: toPriceMap(change.before) },
        after: change.after === null ? null : { prices: toPriceMap(change.after) },
      };
  }
}

function pickChanged(before: FieldsView | null, after: FieldsView | null, isPriced = false) {
  if (before === null || after === null) return { before, after };
  const changed = Object.keys(after).filter(
    (field) => (isPriced && field === "pricing") || !isDeepStrictEqual(before[field], after[field]),
  );
  const pick = (fields: FieldsView) => Object.fromEntries(changed.map((field) => [field, fields[field]]));
  return { before: pick(before), after: pick(after) };
}

function toProviderFacts(provider: Provider | null) {
  if (provider === null) return null;
  const {
    name: _,
    created_at: __,
    wire_format: ___,
    has_credential: ____,
    ...facts
  } = toSingleProviderView(provider);
  return facts;
}

function toModelFacts(resolved: ResolvedModel | null) {
  if (resolved === null) return null;
  const { alias: _, created_at: __, pricing_inherited: ___, ...facts } = toModelView(resolved);
  return facts;
}

/** `kept` goes with a changed base URL to the new address. */
function toCredential({ before, after }: Extract<CatalogResourceChange, { readonly kind: "provider" }>) {
  const [had, has] = [before, after].map((provider) => (provider?.sealedCredential ?? null) !== null);
  if (had !== true) return has === true ? "set" : null;
  return has === true ? "kept" : "removed";
}
