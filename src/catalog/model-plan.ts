import { type Actor, type AuditAction, type AuditEntry, toAuditEntry } from "#audit/event.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toHint } from "#kernel/nearest.ts";
import { toQuoted } from "#kernel/printable.ts";
import { ALIAS_LENGTH_MAX } from "#kernel/text.ts";
import { type ModelDraft, type ModelPatch, parseAlias, parseOrigin } from "./model-draft.ts";
import { parseDraftRoute, parsePatchRoute } from "./model-route.ts";
import type { Model } from "./model.ts";
import { parsePricing, planPriceRemoval, planPrices, type PriceRemoval } from "./price-plan.ts";
import type { CatalogPicture, ResolvedModel } from "./snapshot.ts";
import type { CatalogPlan } from "./store.ts";

export interface ModelBirth {
  readonly id: string;
  readonly createdAtUs: InstantUs;
  readonly actor: Actor;
}

/**
 * Throws at once `invalid_name`, `invalid_target`, `invalid_pricing` and `invalid_request` for what is wrong in itself;
 * the plan throws `provider_not_found`, `invalid_target` and `alias_exists`.
 */
export function planModelCreate(
  draft: ModelDraft,
  { id, createdAtUs, actor }: ModelBirth,
): CatalogPlan<ResolvedModel> {
  const { alias, toRoute } = parseDraftRoute(draft);
  const origin = parseOrigin(draft.origin ?? "declared");
  const written = draft.pricing === undefined ? undefined : parsePricing(draft.pricing);
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
      writes: [{ kind: "put_model", model }, ...planPrices(current, { before: null, after: model, written })],
      audit: toModelEntry(actor, "model.create", alias),
      result: (after) => getModel(after, id),
    };
  };
}

/** As `planModelCreate`; the plan also throws `model_not_found`. The audit entry names the alias that was asked for. */
export function planModelUpdate(alias: string, patch: ModelPatch, actor: Actor): CatalogPlan<ResolvedModel> {
  const newAlias = patch.alias === undefined ? undefined : parseAlias(patch.alias);
  const toRoute = parsePatchRoute(patch);
  const written = patch.pricing === undefined ? undefined : parsePricing(patch.pricing);
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
    return {
      writes: [{ kind: "put_model", model }, ...planPrices(current, { before, after: model, written })],
      audit: toModelEntry(actor, "model.update", alias),
      result: (after) => getModel(after, model.id),
    };
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
  return { resolved, prices: planPriceRemoval(current, resolved.model) };
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
