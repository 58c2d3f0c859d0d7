import { type Model, type Pricing } from "../../../api/catalog.ts";
import { ApiFailure } from "../../../api/failure.ts";
import type { RepricingDraft } from "../../../api/repricing.ts";
import { toAliases } from "../../../catalog/models-field.tsx";
import { toOwnPrices } from "../../../catalog/price-set.ts";
import { REQUIRED } from "../../../form/terms.ts";
import type { RepricingSearch } from "../../../search/pages.ts";
import { parseInstantMs } from "../../../search/window.ts";

/** What stands in the fields of a plan; moments are text, so that nothing is lost that cannot be read yet. */
export interface PlanForm {
  readonly since: string;
  readonly until: string;
  /** Names that requests asked for. */
  readonly models: readonly string[];
  /** Text of one more model. */
  readonly typedModel: string;
  readonly isUnpricedOnly: boolean;
  readonly at: PriceTime;
}

/** Prices of today, or those that were in force when each request ended. */
export type PriceTime = "today" | "history";

/** What the form begins with, as the address asks for it. */
export function toPlanForm({ since, until, of = [], unpriced, at }: RepricingSearch): PlanForm {
  return {
    since: since ?? "",
    until: until ?? "",
    models: of,
    typedModel: "",
    isUnpricedOnly: unpriced === "1",
    at: at ?? "today",
  };
}

/** What of an address asks for a plan: the form's fields, and the form itself. */
export const NO_PLAN: RepricingSearch = {
  plan: undefined,
  of: [],
  since: undefined,
  until: undefined,
  unpriced: undefined,
  at: undefined,
};

export function toNames({ models, typedModel }: PlanForm): readonly string[] {
  return toAliases(models, typedModel);
}

/** What is wrong with the fields, by their paths in the request. */
export function findPlanFaults(form: PlanForm): { readonly [path: string]: string | undefined } {
  const [sinceMs, untilMs] = [form.since, form.until].map(toBound);
  const isTurned =
    sinceMs !== null && untilMs !== null && sinceMs !== undefined && Number(untilMs) <= sinceMs;
  return {
    since: Number.isNaN(sinceMs) ? NO_DATE : undefined,
    until: Number.isNaN(untilMs) ? NO_DATE : isTurned ? "Enter a moment after the first one" : undefined,
    models: form.at === "today" && toNames(form).length === 0 ? REQUIRED : undefined,
  };
}

const NO_DATE = "Enter a date, or a date and time, in UTC such as 2026-01-31 or 2026-01-31 12:00";

/** Null without a bound; not a number where it is no moment. */
function toBound(text: string): number | null {
  return text.trim() === "" ? null : (parseInstantMs(text) ?? Number.NaN);
}

/** The complete prices of one name. */
type NamePrices = Exclude<RepricingDraft["prices"], "history">[string];

/** Prices as the server has them now. */
export interface TodaysPrices {
  readonly models: readonly Pick<Model, "alias" | "pricing" | "price_variants">[];
  readonly pricing: Pick<Pricing, "entries" | "variants">;
}

/** The prices of today of a name: its model's, or those that are kept for a name that no model has. Null: there are none. */
export function findPrices(name: string, { models, pricing }: TodaysPrices): NamePrices | null {
  const model = models.find(({ alias }) => alias === name);
  const kept = model ?? {
    pricing: toOwnPrices(pricing.entries).get(name) ?? {},
    price_variants: pricing.variants?.filter((variant) => variant.model === name),
  };
  const variants = kept.price_variants ?? [];
  if (Object.keys(kept.pricing).length === 0 && variants.length === 0) return null;
  return {
    pricing: kept.pricing,
    ...(variants.length > 0 && {
      price_variants: variants.map(({ when, pricing: prices }) => ({ when, pricing: prices })),
    }),
  };
}

/** A plan alone. Throws where a name has no price of today: its requests would lose what they have. */
export function toRepricingDraft(form: PlanForm, today: TodaysPrices): RepricingDraft {
  const [since, until] = [form.since.trim(), form.until.trim()];
  return {
    ...(since !== "" && { since }),
    ...(until !== "" && { until }),
    ...toDraftPrices(form, today),
    ...(form.isUnpricedOnly && { unpriced_only: true }),
    dry_run: true,
  };
}

function toDraftPrices(form: PlanForm, today: TodaysPrices): Pick<RepricingDraft, "filters" | "prices"> {
  const names = toNames(form);
  if (form.at === "history")
    return { prices: "history", ...(names.length > 0 && { filters: { model: [...names] } }) };
  const found = names.map((name) => {
    const prices = findPrices(name, today);
    if (prices === null) throw noPrices(name);
    return [name, prices] as const;
  });
  return { prices: Object.fromEntries(found) };
}

/** The failure names no field: the price is set elsewhere, and the same fields are then sent again. */
function noPrices(name: string): ApiFailure {
  return new ApiFailure({
    code: "invalid_pricing",
    status: 0,
    message: `${name} has no price today: set one first, or leave it out.`,
    source: "page",
  });
}
