import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { UNITS } from "#kernel/units.ts";
import { listPricesQuery, type ListPrices, type Model } from "../api/catalog.ts";
import { buttonClass } from "../components/button.tsx";
import { formatCount } from "../text/format.ts";
import { canBePriced } from "./price-set.ts";

/** What the address of the prices has open while list prices are reviewed. */
export const LIST_PRICES = "list-prices";

/**
 * Where models have no price that public list prices know: leads to the difference that loading them would make. Nothing
 * applies unasked.
 */
export function ListOffer({ models }: { readonly models: readonly Model[] }) {
  const { data: list } = useQuery(listPricesQuery());
  const count = list === undefined ? 0 : countOffered(models, list);
  if (list === undefined || count === 0) return null;
  return (
    <Link
      to="/models/prices"
      search={{ open: LIST_PRICES }}
      className={buttonClass()}
      title={`Public list prices as of ${list.as_of}, from ${list.source}`}
    >
      List prices for {formatCount(count)} unpriced {count === 1 ? "model" : "models"}
    </Link>
  );
}

/** Models that lack a price which the list has, under their alias or their upstream name. A name for a target is priced with it. */
function countOffered(models: readonly Model[], { entries }: ListPrices): number {
  const listed = new Set(entries.map(({ model, unit }) => `${unit} ${model}`));
  return models.filter(
    (model) =>
      model.target === null &&
      UNITS.some(
        (unit) =>
          model.pricing[unit] === undefined &&
          canBePriced(model, unit) &&
          (listed.has(`${unit} ${model.alias}`) || listed.has(`${unit} ${model.upstream_name}`)),
      ),
  ).length;
}
