import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { isListVersion } from "#catalog/list-prices-label.ts";
import { UNITS } from "#kernel/units.ts";
import { listPricesQuery, type ListPrices, type Model, type Pricing } from "../api/catalog.ts";
import { buttonClass } from "../components/button.tsx";
import { formatCount } from "../text/format.ts";
import { canBePriced } from "./price-set.ts";

/** What the address of the prices has open while list prices are reviewed. */
export const LIST_PRICES = "list-prices";

export interface ListOfferProps {
  readonly models: readonly Model[];
  readonly kept: readonly Pricing["entries"][number][];
}

/**
 * Where public list prices know models without a price, or are newer than those that were loaded: leads to the difference
 * that loading them would make. Nothing applies unasked.
 */
export function ListOffer({ models, kept }: ListOfferProps) {
  const { data: list } = useQuery(listPricesQuery());
  const words = list === undefined ? null : toOfferWords(models, kept, list);
  if (list === undefined || words === null) return null;
  return (
    <Link
      to="/models/prices"
      search={{ open: LIST_PRICES }}
      className={buttonClass()}
      title={`Public list prices as of ${list.as_of}, from ${list.source}`}
    >
      {words}
    </Link>
  );
}

/** Null: list prices would add nothing, and bring nothing up to date. */
export function toOfferWords(
  models: readonly Pick<Model, "target" | "upstream_name" | "pricing" | "capabilities">[],
  kept: readonly Pricing["entries"][number][],
  list: Pick<ListPrices, "version" | "entries">,
): string | null {
  const unpriced = countUnpriced(models, list);
  if (unpriced > 0) return `List prices for ${formatCount(unpriced)} unpriced ${toModels(unpriced)}`;
  const earlier = new Set(
    kept.flatMap(({ model, version }) => (isListVersion(version) && version !== list.version ? [model] : [])),
  ).size;
  return earlier === 0 ? null : `Newer list prices for ${formatCount(earlier)} ${toModels(earlier)}`;
}

/** By what the provider calls them: an alias may be bound to another model. A name for a target is priced with it. */
function countUnpriced(
  models: Parameters<typeof toOfferWords>[0],
  { entries }: Pick<ListPrices, "entries">,
): number {
  const listed = new Set(entries.map(({ model, unit }) => `${unit} ${model}`));
  return models.filter(
    (model) =>
      model.target === null &&
      UNITS.some(
        (unit) =>
          model.pricing[unit] === undefined &&
          canBePriced(model, unit) &&
          listed.has(`${unit} ${model.upstream_name}`),
      ),
  ).length;
}

function toModels(count: number): string {
  return count === 1 ? "model" : "models";
}
