import { type Actor, type AuditEntry, toAuditEntry } from "#audit/event.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import { CAPABILITIES_DEFAULT } from "./capability.ts";
import { compareCatalogs, toAuditSubject, type CatalogResourceChange } from "./catalog-changes.ts";
import {
  parseCatalogDraft,
  within,
  type CatalogDraft,
  type CatalogMode,
  type ParsedCatalogDraft,
  type ParsedCatalogModel,
  type ParsedCatalogProvider,
} from "./catalog-draft.ts";
import { planModelCreate, planModelDelete, planModelUpdate } from "./model-plan.ts";
import {
  planProviderChange,
  planProviderCreate,
  planProviderDelete,
  planProviderUpdate,
} from "./provider-plan.ts";
import { compareToCome, putToCome } from "./price-schedule.ts";
import type { CatalogPicture, ResolvedModel } from "./snapshot.ts";
import type { CatalogPlan, CatalogWrite } from "./store.ts";
import { createWorkingCopy, type WorkingCopy } from "./working-copy.ts";
import type { Unit } from "#kernel/units.ts";
import { planFeedLists, planFeedRows, refuseTooManyPrices } from "./feed.ts";
import {
  findOwnPrices,
  findOwnVariants,
  planPriceRemoval,
  planPrices,
  planVariantsRemoval,
  type WrittenPrices,
} from "./price-plan.ts";
import { countPrices } from "./pricing.ts";

interface CatalogBirth {
  /** The id and time of a resource that is made; always the same for the same kind and name, since a plan may be asked twice. */
  readonly toBirth: (kind: "provider" | "model", name: string) => Birth;
  readonly loadedAtUs: InstantUs;
  readonly secrets: SecretBox;
  readonly actor: Actor;
}

interface Birth {
  readonly id: string;
  readonly createdAtUs: InstantUs;
}

export interface CatalogOutcome {
  /** In the order in which a reader understands them; empty when the catalog is as the draft has it. */
  readonly changes: readonly CatalogResourceChange[];
  /** Resources that stay although the draft does not have them. */
  readonly kept: {
    readonly providers: number;
    readonly models: number;
    readonly prices: number;
    readonly pricesToCome: number;
  };
  /** Secrets that the draft speaks of, and that are neither sent nor stored. */
  readonly missing: readonly { readonly provider: string; readonly secret: "api_key" | "ca_pem" }[];
}

/**
 * Brings a catalog to a draft of the whole, by the rules of its single resources and in an order in which none refuses what
 * the end allows. A stored key or trust root always stays. Throws at once what `parseCatalogDraft` throws; the plan throws
 * the codes of those rules, `provider_not_found` and `invalid_target` for what the draft itself does not have, and those of
 * `putToCome`.
 */
export function planCatalog(
  draft: CatalogDraft,
  mode: CatalogMode,
  birth: CatalogBirth,
): CatalogPlan<CatalogOutcome> {
  const parsed = parseCatalogDraft(draft, birth.loadedAtUs);
  if (mode !== "add") requireWhole(parsed);
  return (current) => {
    const copy = createWorkingCopy(current);
    for (const provider of parsed.providers) putProvider(copy, provider, { mode, birth });
    putModels(current, copy, parsed, { mode, birth });
    const fed = putFeeds(copy, parsed, { mode, loadedAtUs: birth.loadedAtUs });
    const settled = parsed.models.filter(
      ({ draft: { alias } }) => mode !== "add" || current.findModel(alias) === null,
    );
    settlePrices(copy, settled, fed);
    settleVariants(copy, settled, parsed);
    if (mode === "prune") {
      const names = new Set(parsed.providers.map((provider) => provider.draft.name));
      for (const { name } of current.providers)
        if (!names.has(name)) copy.write(planProviderDelete(name, null)(copy).writes);
    }
    const compared = compareCatalogs(current, copy, parsed);
    const toCome = compareToCome(current, parsed.pricesToCome, mode);
    const changes = [...compared.changes, ...toCome.changes];
    const kept = { ...countKept(copy, parsed, fed), pricesToCome: toCome.keptCount };
    return {
      writes: [...compared.writes, ...putToCome(copy, toCome)],
      prices: { source: "import" },
      audit: toAuditEntries(changes, birth.actor),
      result: () => ({ changes, kept, missing: findMissing(copy, parsed) }),
    };
  };
}

/** One of each target: a model's tells of its prices to come as well. */
function toAuditEntries(changes: readonly CatalogResourceChange[], actor: Actor): readonly AuditEntry[] {
  const subjects = Map.groupBy(
    changes.map(toAuditSubject),
    ({ targetKind, targetRef }) => `${targetKind} ${targetRef}`,
  );
  return [...subjects.values()].flatMap(([first]) => (first && toAuditEntry(actor, first)) ?? []);
}

interface Context {
  readonly mode: CatalogMode;
  readonly birth: CatalogBirth;
}

function putProvider(
  copy: WorkingCopy,
  { place, draft, fields, apiKey }: ParsedCatalogProvider,
  { mode, birth: { toBirth, secrets, loadedAtUs: nowUs } }: Context,
): void {
  const { name } = draft;
  const run = (plan: () => CatalogPlan<unknown>) => copy.write(within(place, () => plan()(copy).writes));
  const before = copy.findProvider(name);
  if (before === null) {
    run(() => planProviderCreate(draft, { ...toBirth("provider", name), secrets, actor: null }));
    if (draft.enabled === false)
      run(() => planProviderUpdate(name, { enabled: false }, { secrets, actor: null, nowUs }));
    return;
  }
  // A key goes to the address that it was given for.
  if (mode === "add" && before.baseUrl !== fields.baseUrl) {
    throw new ProxyError("provider_exists", "A provider of this name exists already, at another base_url.", {
      param: place,
    });
  }
  const { wireFormat: _, caPem, ...settings } = fields;
  const filled = before.sealedCredential === null && apiKey !== null ? apiKey : undefined;
  const trusted = before.caPem === null && caPem !== null ? { caPem } : {};
  const changed = mode === "add" ? {} : { ...settings, enabled: draft.enabled ?? true, ...trusted };
  run(() => planProviderChange(name, { fields: changed, apiKey: filled }, { secrets, actor: null, nowUs }));
}

/**
 * Bindings first, so that every target is there; a binding becomes a name only when no name points at it any more, and goes
 * only then.
 */
function putModels(
  current: CatalogPicture,
  copy: WorkingCopy,
  { models }: ParsedCatalogDraft,
  context: Context,
): void {
  const aliases = new Set(models.map(({ draft }) => draft.alias));
  const kindBefore = (alias: string) => current.findModel(alias)?.model.route.kind;
  const prune = (kind: "binding" | "name") => {
    if (context.mode !== "prune") return;
    for (const { model } of current.models)
      if (model.route.kind === kind && !aliases.has(model.alias))
        copy.write(planModelDelete(model.alias, null)(copy).writes);
  };
  const put = (isNow: (model: ParsedCatalogModel) => boolean) => {
    for (const model of models) if (isNow(model)) putModel(copy, model, context);
  };
  prune("name");
  put(({ kind }) => kind === "binding");
  put(({ kind, draft: { alias } }) => kind === "name" && kindBefore(alias) !== "binding");
  put(({ kind, draft: { alias } }) => kind === "name" && kindBefore(alias) === "binding");
  prune("binding");
}

function putModel(
  copy: WorkingCopy,
  { place, kind, draft }: ParsedCatalogModel,
  { mode, birth: { toBirth, loadedAtUs } }: Context,
): void {
  const { alias, provider, upstreamName, target, hidden = false } = draft;
  const run = (plan: () => CatalogPlan<unknown>) => copy.write(within(place, () => plan()(copy).writes));
  const before = copy.findModel(alias);
  if (before === null) {
    const unpriced = { ...draft, pricing: undefined, priceVariants: undefined };
    run(() => planModelCreate(unpriced, { ...toBirth("model", alias), actor: null }));
    return;
  }
  if (mode === "add") {
    if (isSameRoute(before, draft)) return;
    throw new ProxyError("alias_exists", "A model of this name exists already, and leads elsewhere.", {
      param: place,
    });
  }
  const { capabilities = CAPABILITIES_DEFAULT } = draft;
  const isSameSet = new Set(capabilities).symmetricDifference(new Set(before.capabilities)).size === 0;
  const patch =
    kind === "name"
      ? { target }
      : {
          target: before.model.route.kind === "name" ? "" : undefined,
          provider,
          upstreamName,
          capabilities: isSameSet ? undefined : capabilities,
        };
  run(() => planModelUpdate(alias, { ...patch, hidden }, { actor: null, nowUs: loadedAtUs }));
}

function isSameRoute(
  { model, bound, provider, upstreamName }: ResolvedModel,
  draft: ParsedCatalogModel["draft"],
) {
  return model.route.kind === "name"
    ? bound.alias === draft.target
    : provider.name === draft.provider && upstreamName === draft.upstreamName;
}

/** A catalog stands on its own: what it names is in it, so that nothing of it goes with what `prune` removes. */
function requireWhole({ providers, models, pricesToCome }: ParsedCatalogDraft): void {
  const providerNames = new Set(providers.map(({ draft }) => draft.name));
  const aliases = new Set(models.map(({ draft }) => draft.alias));
  for (const { place, kind, draft } of models) {
    if (kind === "binding" && !providerNames.has(draft.provider ?? "")) {
      const param = `${place}.provider`;
      throw new ProxyError("provider_not_found", "The catalog in the body has no provider of this name.", {
        param,
      });
    }
    if (kind === "name" && !aliases.has(draft.target ?? "")) {
      const param = `${place}.target`;
      throw new ProxyError("invalid_target", "The catalog in the body has no model of this name.", { param });
    }
  }
  const at = pricesToCome.findIndex(({ name, version }) => version === null && !aliases.has(name));
  if (at !== -1) {
    const param = `prices_to_come[${at}].model`;
    throw new ProxyError("model_not_found", "The catalog in the body has no model of this name.", { param });
  }
}

function countKept(
  copy: CatalogPicture,
  { providers, models, feedLists }: ParsedCatalogDraft,
  isFed: IsFed,
): Omit<CatalogOutcome["kept"], "pricesToCome"> {
  const providerNames = new Set(providers.map(({ draft }) => draft.name));
  const aliases = new Set(models.map(({ draft }) => draft.alias));
  const listed = new Set(feedLists.map(({ name }) => name));
  const keptRows = copy.prices.filter(
    ({ name, unit, feedVersion }) => feedVersion !== null && !isFed(name, unit),
  );
  const keptLists = copy.variantRows.filter(
    ({ name, feedVersion }) => feedVersion !== null && !listed.has(name),
  );
  return {
    providers: copy.providers.filter(({ name }) => !providerNames.has(name)).length,
    models: copy.models.filter(({ model }) => !aliases.has(model.alias)).length,
    prices: keptLists.reduce((sum, list) => sum + countPrices(list), keptRows.length),
  };
}

function findMissing(copy: CatalogPicture, { providers }: ParsedCatalogDraft): CatalogOutcome["missing"] {
  return providers.flatMap(({ draft: { name, needsCredential, needsCa } }) => {
    const stored = copy.findProvider(name);
    return [
      ...(needsCredential === true && stored?.sealedCredential === null
        ? [{ provider: name, secret: "api_key" as const }]
        : []),
      ...(needsCa === true && stored?.caPem === null ? [{ provider: name, secret: "ca_pem" as const }] : []),
    ];
  });
}

/** True when the draft's feeds price this unit of this name. */
type IsFed = (name: string, unit: Unit) => boolean;

/** Brings the feed prices of a catalog to a draft's. */
function putFeeds(
  copy: WorkingCopy,
  { feedVersions, feedPrices, feedLists }: ParsedCatalogDraft,
  { mode, loadedAtUs }: { readonly mode: CatalogMode; readonly loadedAtUs: InstantUs },
): IsFed {
  const fed = new Map<string, Set<Unit>>();
  for (const { name, unit } of feedPrices) fed.set(name, (fed.get(name) ?? new Set()).add(unit));
  const isFed: IsFed = (name, unit) => fed.get(name)?.has(unit) === true;
  if (mode === "prune") {
    const stale = copy.prices.filter(
      ({ name, unit, feedVersion }) => feedVersion !== null && !isFed(name, unit),
    );
    copy.write(stale.map(({ name, unit }): CatalogWrite => ({ kind: "delete_price", name, unit })));
    const listed = new Set(feedLists.map(({ name }) => name));
    const staleLists = copy.variantRows.filter(
      ({ name, feedVersion }) => feedVersion !== null && !listed.has(name),
    );
    copy.write(staleLists.map(({ name }): CatalogWrite => ({ kind: "delete_variants", name })));
  }
  const rows = feedPrices.filter(({ name, unit }) => mode !== "add" || copy.findPrice(name, unit) === null);
  const lists = feedLists.filter(({ name }) => mode !== "add" || copy.findVariants(name) === null);
  const writes = [...planFeedRows(copy, rows), ...planFeedLists(copy, lists)];
  refuseTooManyPrices(copy, writes, "feeds");
  copy.write(writes);
  const newest = feedVersions.at(-1);
  const isLoaded =
    newest !== undefined &&
    (newest !== copy.feed?.version ||
      writes.some(
        (write) =>
          (write.kind === "put_price" && write.price.feedVersion === newest) ||
          (write.kind === "put_variants" && write.list.feedVersion === newest),
      ));
  if (isLoaded) copy.write([{ kind: "put_feed", feed: { version: newest, loadedAtUs } }]);
  else if (newest === undefined && mode === "prune") copy.write([{ kind: "put_feed", feed: null }]);
  return isFed;
}

/**
 * Writes the prices that stand with a model where they are others than the draft's, or takes them away where it has none.
 * A model may be priced by the alias of another one, so that this goes on until nothing is left to write: once a model at most.
 */
function settlePrices(copy: WorkingCopy, models: readonly ParsedCatalogModel[], isFed: IsFed): void {
  for (let isDone = false; !isDone;) {
    isDone = true;
    for (const { draft, pricing } of models) {
      const resolved = copy.findModel(draft.alias);
      if (resolved === null) continue;
      const writes = planOwnPrices(copy, resolved, { pricing, isFed });
      if (writes.length > 0) isDone = false;
      copy.write(writes);
    }
  }
}

function planOwnPrices(
  copy: WorkingCopy,
  resolved: ResolvedModel,
  { pricing, isFed }: { readonly pricing: WrittenPrices | null; readonly isFed: IsFed },
): readonly CatalogWrite[] {
  const { model } = resolved;
  const isFedHere = (unit: Unit) => isFed(model.alias, unit);
  const own = findOwnPrices(copy, resolved, isFedHere);
  if (pricing === null) return own === null ? [] : planPriceRemoval(copy, model);
  const wanted = new Map([...pricing].filter(([unit]) => !isFedHere(unit)));
  if (own !== null && isSamePrices(own, wanted)) return [];
  const change = { before: model, after: model, written: pricing, variants: undefined };
  // A feed goes before what is written with a model, as if it were loaded afterwards.
  return planPrices(copy, change).filter((write) => {
    if (write.kind === "put_price") return !isFedHere(write.price.unit);
    return write.kind !== "delete_price" || !isFedHere(write.unit);
  });
}

/** As `settlePrices`, of lists of variants: each is a model's own alone. */
function settleVariants(
  copy: WorkingCopy,
  models: readonly ParsedCatalogModel[],
  { feedLists }: ParsedCatalogDraft,
): void {
  const listed = new Set(feedLists.map(({ name }) => name));
  for (const { draft, variants } of models) {
    const model = copy.findModel(draft.alias)?.model;
    if (model === undefined || listed.has(model.alias)) continue;
    if (variants === null) copy.write(planVariantsRemoval(copy, model));
    else if (!Bun.deepEquals(findOwnVariants(copy, model), variants, true))
      copy.write(planPrices(copy, { before: model, after: model, written: undefined, variants }));
  }
}

function isSamePrices(left: WrittenPrices, right: WrittenPrices): boolean {
  return left.size === right.size && [...left].every(([unit, price]) => right.get(unit) === price);
}
