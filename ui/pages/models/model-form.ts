import { CAPABILITIES_DEFAULT, type Capability } from "#catalog/capability.ts";
import type { Model, ModelDraft, ModelPatch } from "../../api/catalog.ts";
import {
  isSamePrices,
  NO_PRICES,
  type PriceFields,
  type Prices,
  type PriceVariants,
  toPriceFields,
  toPricing,
} from "../../catalog/price-set.ts";
import { type EffectiveFrom, findDateFault, toEffectiveFrom } from "../../catalog/effective-from.tsx";
import { REQUIRED } from "../../form/terms.ts";
import {
  findVariantFault,
  isSameVariants,
  toPriceVariants,
  toVariantForms,
  type VariantForm,
} from "./variants.tsx";

/** What is kept under a model's own name. */
export interface OwnPrices {
  readonly prices: Prices;
  readonly variants: PriceVariants;
}

/** What stands in the fields of a model. */
export interface ModelForm {
  readonly alias: string;
  /** It routes to a provider itself, or is a name for a model that does. */
  readonly kind: "binding" | "name";
  readonly provider: string;
  readonly upstreamName: string;
  readonly target: string;
  readonly capabilities: readonly Capability[];
  readonly prices: PriceFields;
  readonly variants: readonly VariantForm[];
  /** The moment from which changed prices hold. */
  readonly effectiveFrom: EffectiveFrom;
  readonly hidden: boolean;
  /** Renamed, the name of before becomes a name for it. */
  readonly keepsName: boolean;
}

export const NEW_MODEL: ModelForm = {
  alias: "",
  kind: "binding",
  provider: "",
  upstreamName: "",
  target: "",
  capabilities: CAPABILITIES_DEFAULT,
  prices: NO_PRICES,
  variants: [],
  effectiveFrom: null,
  hidden: false,
  keepsName: false,
};

export function toModelForm(model: Model, own: OwnPrices): ModelForm {
  return {
    alias: model.alias,
    kind: model.target === null ? "binding" : "name",
    provider: model.provider,
    upstreamName: model.upstream_name,
    target: model.target ?? "",
    capabilities: model.capabilities,
    ...toKindPrices(model.target === null ? "binding" : "name", model, own),
    effectiveFrom: null,
    hidden: model.hidden,
    keepsName: false,
  };
}

/** The prices that are shown for a model when it is, or is to become, of this kind. */
export function toKindPrices(
  kind: ModelForm["kind"],
  model: Model,
  own: OwnPrices,
): Pick<ModelForm, "prices" | "variants"> {
  const inForce = model.price_variants ?? [];
  return {
    prices: toPriceFields({ pricing: model.pricing, target: kind === "name" ? "any" : null }, own.prices),
    variants: toVariantForms(kind === "name" ? own.variants : inForce),
  };
}

/** What to send to make it. */
export function toModelDraft(form: ModelForm): ModelDraft {
  const pricing = toPricing(form.prices);
  const shared = {
    alias: form.alias.trim(),
    hidden: form.hidden,
    ...(Object.keys(pricing).length > 0 && { pricing }),
    ...(form.variants.length > 0 && { price_variants: toPriceVariants(form.variants) }),
  };
  return form.kind === "name"
    ? { ...shared, target: form.target.trim() }
    : {
        ...shared,
        provider: form.provider,
        upstream_name: form.upstreamName.trim(),
        capabilities: [...form.capabilities],
        origin: "declared",
      };
}

/** Only what differs from the model as it is. What is its target's is never sent for a name. */
export function toModelPatch(form: ModelForm, model: Model, own: OwnPrices): NonNullable<ModelPatch> {
  const was = toModelForm(model, own);
  const shown = toKindPrices(form.kind, model, own);
  const becomesBinding = was.kind === "name" && form.kind === "binding";
  // What it inherited from its target does not come along by itself.
  const sendsPrices = becomesBinding || !isSamePrices(form.prices, shown.prices);
  const sendsVariants =
    (becomesBinding && form.variants.length > 0) || !isSameVariants(form.variants, shown.variants);
  return {
    ...(form.alias.trim() !== was.alias && { alias: form.alias.trim() }),
    ...(form.hidden !== was.hidden && { hidden: form.hidden }),
    ...(form.kind === "name" ? toNamePatch(form, was) : toBindingPatch(form, was, becomesBinding)),
    ...(sendsPrices && { pricing: toPricing(form.prices) }),
    ...(sendsVariants && { price_variants: toPriceVariants(form.variants) }),
    ...((sendsPrices || sendsVariants) && toEffectiveFrom(form.effectiveFrom)),
  };
}

function toNamePatch(form: ModelForm, was: ModelForm): NonNullable<ModelPatch> {
  return form.target.trim() === was.target ? {} : { target: form.target.trim() };
}

function toBindingPatch(form: ModelForm, was: ModelForm, becomesBinding: boolean): NonNullable<ModelPatch> {
  const upstreamName = form.upstreamName.trim();
  return {
    ...(becomesBinding && { target: "" }),
    ...((becomesBinding || form.provider !== was.provider) && { provider: form.provider }),
    ...((becomesBinding || upstreamName !== was.upstreamName) && { upstream_name: upstreamName }),
    ...(!isSameSet(form.capabilities, was.capabilities) && { capabilities: [...form.capabilities] }),
  };
}

function isSameSet(left: readonly Capability[], right: readonly Capability[]): boolean {
  return left.length === right.length && left.every((capability) => right.includes(capability));
}

/** What has to be filled in, which hangs on the kind, and what is wrong with variants. */
export function findMissing(isNew: boolean) {
  return ({ kind, alias, provider, upstreamName, target, variants, effectiveFrom }: ModelForm) => {
    const isMissing = (text: string) => (text.trim() === "" ? REQUIRED : undefined);
    const named = {
      ...findVariantFault(toPriceVariants(variants)),
      effective_from: findDateFault(effectiveFrom),
      ...((kind === "name" || !isNew) && { alias: isMissing(alias) }),
    };
    return kind === "name"
      ? { ...named, target: isMissing(target) }
      : { ...named, provider: isMissing(provider), upstream_name: isMissing(upstreamName) };
  };
}

/** The patch that takes another one back. */
export function toUndo(
  patch: NonNullable<ModelPatch>,
  model: Model,
  own: OwnPrices,
): NonNullable<ModelPatch> {
  const was = toModelForm(model, own);
  const { alias, hidden, target, provider, upstream_name, capabilities } = model;
  const changesRoute = ["target", "provider", "upstream_name", "capabilities"].some((part) => part in patch);
  const route =
    target === null
      ? { ...("target" in patch && { target: "" }), provider, upstream_name, capabilities: [...capabilities] }
      : { target };
  return {
    ...(patch.alias !== undefined && { alias }),
    ...(patch.hidden !== undefined && { hidden }),
    ...(changesRoute && route),
    ...(("pricing" in patch || "target" in patch) && { pricing: toPricing(was.prices) }),
    ...("price_variants" in patch && { price_variants: toPriceVariants(was.variants) }),
  };
}
