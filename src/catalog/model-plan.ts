import { type Actor, type AuditAction, type AuditEntry, toAuditEntry } from "#audit/event.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toHint } from "#kernel/nearest.ts";
import { toQuoted } from "#kernel/printable.ts";
import { ALIAS_LENGTH_MAX } from "#kernel/text.ts";
import {
  type ModelDraft,
  type ModelPatch,
  parseAlias,
  parseOrigin,
  type Model,
  parseCapabilities,
  parseUpstreamName,
  type Route,
} from "./model.ts";
import {
  parsePricing,
  planPriceRemoval,
  planPrices,
  planVariantsRemoval,
  type PriceRemoval,
} from "./price-plan.ts";
import type { CatalogPicture, ResolvedModel } from "./snapshot.ts";
import type { Backdating } from "./held-price.ts";
import { parseEffectiveFrom, type PriceSchedule, refuseTooManySchedules } from "./scheduled-prices.ts";
import type { CatalogPlan, CatalogWrite } from "./store.ts";
import { parsePriceVariants } from "./variant-list.ts";
import { CAPABILITIES_DEFAULT } from "./capability.ts";
import { toProviderNotFound } from "./provider.ts";

interface ModelBirth {
  readonly id: string;
  readonly createdAtUs: InstantUs;
  readonly actor: Actor;
}

/**
 * Throws at once `invalid_name`, `invalid_target`, `invalid_pricing`, `invalid_price_variants` and `invalid_request` for what is wrong in itself;
 * the plan throws `provider_not_found`, `invalid_target` and `alias_exists`.
 */
export function planModelCreate(
  draft: ModelDraft,
  { id, createdAtUs, actor }: ModelBirth,
): CatalogPlan<ResolvedModel> {
  const { alias, toRoute } = parseDraftRoute(draft);
  const origin = parseOrigin(draft.origin ?? "declared");
  const prices = parsePrices(draft);
  return (current) => {
    const model: Model = {
      id,
      alias,
      route: toRoute(current),
      origin,
      hidden: draft.hidden ?? false,
      createdAtUs,
    };
    requireFreeAlias(current, model);
    return {
      writes: [
        { kind: "put_model", model },
        ...planPrices(current, { before: null, after: model, ...prices }),
      ],
      audit: toModelEntry(actor, "model.create", alias),
      result: (after) => getModel(after, id),
    };
  };
}

interface ModelChange {
  readonly actor: Actor;
  readonly nowUs: InstantUs;
}

/** As `planModelCreate`; also throws `invalid_date`, and the plan `model_not_found` and `too_many_schedules`. The audit entry names the alias that was asked for. */
export function planModelUpdate(
  alias: string,
  patch: ModelPatch,
  { actor, nowUs }: ModelChange,
): CatalogPlan<ResolvedModel> {
  const newAlias = patch.alias === undefined ? undefined : parseAlias(patch.alias);
  const toRoute = parsePatchRoute(patch);
  const prices = parsePrices(patch);
  const fromUs = parseMoment(patch);
  const isToCome = fromUs !== null && fromUs > nowUs;
  return (current) => {
    const resolved = requireModel(current, alias);
    const before = resolved.model;
    const model: Model = {
      ...before,
      alias: newAlias ?? before.alias,
      route: toRoute(current, resolved),
      hidden: patch.hidden ?? before.hidden,
    };
    requireFreeAlias(current, model);
    const written = isToCome ? { written: undefined, variants: undefined } : prices;
    const scheduled = isToCome ? [toSchedule(model, prices, fromUs)] : [];
    refuseTooManySchedules(current, scheduled, "effective_from");
    const isBackdated = fromUs !== null && !isToCome;
    return {
      writes: [
        { kind: "put_model", model },
        ...planPrices(current, { before, after: model, ...written }),
        ...scheduled.map((schedule): CatalogWrite => ({ kind: "put_schedule", schedule })),
      ],
      ...(isBackdated && { prices: { backdated: [toBackdating(model, prices, fromUs)] } }),
      audit: toModelEntry(actor, "model.update", alias),
      result: (after) => getModel(after, model.id),
    };
  };
}

/** Throws `invalid_date`, and `invalid_request` where it stands alone. */
function parseMoment({ effectiveFrom, pricing, priceVariants }: ModelPatch): InstantUs | null {
  if (effectiveFrom === undefined) return null;
  if (pricing === undefined && priceVariants === undefined) {
    throw new ProxyError("invalid_request", "effective_from goes with pricing or price_variants.", {
      param: "effective_from",
    });
  }
  return parseEffectiveFrom(effectiveFrom, "effective_from");
}

type ParsedPrices = ReturnType<typeof parsePrices>;

function toSchedule({ id }: Model, { written, variants }: ParsedPrices, atUs: InstantUs): PriceSchedule {
  const prices = written === undefined ? null : [...written];
  return { atUs, change: { kind: "model", modelId: id, prices, variants: variants ?? null } };
}

function toBackdating({ id, alias }: Model, prices: ParsedPrices, fromUs: InstantUs): Backdating {
  return {
    name: alias,
    fromUs,
    modelId: id,
    covers: (_, when) => (when === null ? prices.written : prices.variants) !== undefined,
    hasVariants: prices.variants !== undefined,
  };
}

function parsePrices({ pricing, priceVariants }: Pick<ModelPatch, "pricing" | "priceVariants">) {
  return {
    written: pricing === undefined ? undefined : parsePricing(pricing),
    variants: priceVariants === undefined ? undefined : parsePriceVariants(priceVariants),
  };
}

/** A model, and what goes with it. */
export interface ModelRemoval {
  readonly resolved: ResolvedModel;
  /** Prices that were written with it. */
  readonly prices: readonly PriceRemoval[];
}

/** Throws `model_not_found` and `model_in_use`. */
export function findModelRemoval(current: CatalogPicture, alias: string): ModelRemoval {
  const resolved = requireModel(current, alias);
  requireUnused(current, resolved.model);
  const { model } = resolved;
  return { resolved, prices: [...planPriceRemoval(current, model), ...planVariantsRemoval(current, model)] };
}

/** The plan throws what `findModelRemoval` throws. */
export function planModelDelete(alias: string, actor: Actor): CatalogPlan<void> {
  return (current) => {
    const { resolved, prices } = findModelRemoval(current, alias);
    return {
      writes: [...prices, { kind: "delete_model", id: resolved.model.id }],
      audit: toModelEntry(actor, "model.delete", alias),
      result: () => undefined,
    };
  };
}

export function toModelEntry(actor: Actor, action: AuditAction, alias: string): readonly AuditEntry[] {
  const entry = toAuditEntry(actor, { action, targetKind: "model", targetRef: alias });
  return entry === null ? [] : [entry];
}

function requireModel(current: CatalogPicture, alias: string): ResolvedModel {
  const resolved = current.findModel(alias);
  if (resolved === null) {
    const hint = toHint(
      alias,
      current.models.map(({ model }) => model.alias),
    );
    const message = `There is no model ${toQuoted(alias, ALIAS_LENGTH_MAX)}.${hint}`;
    throw new ProxyError("model_not_found", message, { param: "model" });
  }
  return resolved;
}

function requireFreeAlias(current: CatalogPicture, model: Model): void {
  const holder = current.findModel(model.alias)?.model;
  if (holder !== undefined && holder.id !== model.id) {
    throw new ProxyError("alias_exists", "A model of this name exists already.", { param: "alias" });
  }
}

/** A message stays readable, however many names there are. */
const NAMES_LISTED_MAX = 20;

function requireUnused(current: CatalogPicture, model: Model): void {
  const names = current.namesFor(model.id).map(({ alias }) => alias);
  if (names.length === 0) return;
  const listed = names.slice(0, NAMES_LISTED_MAX).join(", ");
  const rest = names.length > NAMES_LISTED_MAX ? ` and ${names.length - NAMES_LISTED_MAX} more` : "";
  throw new ProxyError(
    "model_in_use",
    `Names point at this model: ${listed}${rest}. Delete them or point them elsewhere first.`,
  );
}

function getModel(after: CatalogPicture, id: string): ResolvedModel {
  const resolved = after.findModelById(id);
  if (resolved === null) throw new Error("a model that was just written is not in the catalog");
  return resolved;
}

interface DraftRoute {
  readonly alias: string;
  /** Throws `provider_not_found` and `invalid_target`. */
  readonly toRoute: (current: CatalogPicture) => Route;
}

/**
 * Either a provider's model or a name for another model (specification, section 2.4), never both.
 * Throws `invalid_target`, `invalid_name`, and `invalid_request` for what is missing.
 */
export function parseDraftRoute(draft: ModelDraft): DraftRoute {
  const { target = "", provider, upstreamName } = draft;
  if (target !== "") {
    if (provider !== undefined || upstreamName !== undefined) {
      throw refuseTarget(
        "A model is either a name for a target or has provider and upstream_name, not both.",
      );
    }
    if (draft.alias === undefined || draft.alias === "") {
      throw new ProxyError("invalid_request", "A name for a target needs an alias.", { param: "alias" });
    }
    const alias = parseAlias(draft.alias);
    // Capabilities beside a target are ignored: they are the target's.
    return { alias, toRoute: (current) => toNameRoute(current, { target, alias, ownId: null }) };
  }
  if (provider === undefined) throw refuseMissing("provider");
  if (upstreamName === undefined) throw refuseMissing("upstream_name");
  const parsedName = parseUpstreamName(upstreamName);
  const capabilities =
    draft.capabilities === undefined ? CAPABILITIES_DEFAULT : parseCapabilities(draft.capabilities);
  return {
    alias: parseAlias(draft.alias === undefined || draft.alias === "" ? parsedName : draft.alias),
    toRoute: (current) => ({
      kind: "binding",
      providerId: getProviderId(current, provider),
      upstreamName: parsedName,
      capabilities,
    }),
  };
}

/**
 * The transitions of section 3: a binding stays one or becomes a name, a name is pointed elsewhere or becomes a binding.
 * Throws `invalid_name` and `invalid_request` at once; what it returns throws `invalid_target` and `provider_not_found`.
 */
function parsePatchRoute(patch: ModelPatch): (current: CatalogPicture, before: ResolvedModel) => Route {
  const { target, provider } = patch;
  const upstreamName = patch.upstreamName === undefined ? undefined : parseUpstreamName(patch.upstreamName);
  const capabilities = patch.capabilities === undefined ? undefined : parseCapabilities(patch.capabilities);
  const sendsBinding = provider !== undefined || upstreamName !== undefined || capabilities !== undefined;

  return (current, { model, bound, capabilities: capabilitiesInForce }) => {
    const staysName = model.route.kind === "name" && target === undefined;
    if (sendsBinding && (staysName || (target !== undefined && target !== ""))) {
      throw refuseTarget(
        "provider, upstream_name and capabilities of a name are its target's and cannot be sent with it.",
      );
    }
    if (target === undefined && model.route.kind === "name") return model.route;
    if (target !== undefined && target !== "") {
      if (current.namesFor(model.id).length > 0) {
        throw refuseTarget("Names point at this model, so that it cannot become a name itself.");
      }
      return toNameRoute(current, { target, alias: patch.alias ?? model.alias, ownId: model.id });
    }
    if (target === "" && (provider === undefined || upstreamName === undefined)) {
      throw refuseTarget(
        "An empty target makes a model route by itself, which needs provider and upstream_name with it.",
      );
    }
    if (bound.route.kind !== "binding") throw new Error("a resolved model is bound to a provider");
    return {
      kind: "binding",
      providerId: provider === undefined ? bound.route.providerId : getProviderId(current, provider),
      upstreamName: upstreamName ?? bound.route.upstreamName,
      // A name that becomes a binding keeps what it could do until now.
      capabilities: capabilities ?? capabilitiesInForce,
    };
  };
}

interface NameRoute {
  readonly target: string;
  /** The alias of the model itself, as it will be. */
  readonly alias: string;
  /** Null while the model is being made. */
  readonly ownId: string | null;
}

/** One hop: a target routes to a provider itself, and is another model. */
function toNameRoute(current: CatalogPicture, { target, alias, ownId }: NameRoute): Route {
  const found = current.findModel(target)?.model;
  if (target === alias || (found !== undefined && found.id === ownId)) {
    throw refuseTarget("A model cannot be a name for itself.");
  }
  if (found === undefined) {
    const hint = toHint(
      target,
      current.models.map(({ model }) => model.alias),
    );
    throw refuseTarget(`The target is no model of this catalog.${hint}`);
  }
  if (found.route.kind === "name") {
    throw refuseTarget("The target is itself a name. Point at the model that routes to a provider.");
  }
  return { kind: "name", targetId: found.id };
}

function getProviderId(current: CatalogPicture, name: string): string {
  const provider = current.findProvider(name);
  if (provider === null) throw toProviderNotFound(current, name, "provider");
  return provider.id;
}

function refuseTarget(message: string): ProxyError {
  return new ProxyError("invalid_target", message, { param: "target" });
}

function refuseMissing(param: "provider" | "upstream_name"): ProxyError {
  return new ProxyError(
    "invalid_request",
    `${param} is missing: a model needs provider and upstream_name, or a target with an alias.`,
    { param },
  );
}
