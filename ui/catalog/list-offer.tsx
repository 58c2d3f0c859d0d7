import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { isListVersion } from "#catalog/feed.ts";
import { UNIT_TABLE, UNITS, type Unit } from "#kernel/units.ts";
import { type ListPrices, listPricesQuery, type Model, type Pricing } from "../api/catalog.ts";
import { buttonClass } from "../components/button.tsx";
import { formatCount } from "../text/format.ts";
import { isUnitUsed } from "#catalog/missed-prices.ts";

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
  const missing = findMissing(models, list);
  if (missing.length > 0) {
    const count = `${formatCount(missing.length)} ${toModels(missing.length)}`;
    if (missing.every(({ isUnpriced }) => isUnpriced)) return `List prices for ${count} without any price`;
    const units = UNITS.filter((unit) => missing.some((one) => one.units.includes(unit)));
    // A model that has some prices is not unpriced: the unit is what lacks one.
    return `List prices for ${count} without a price for ${toWords(units)}`;
  }
  const earlier = new Set(
    kept.flatMap(({ model, version }) => (isListVersion(version) && version !== list.version ? [model] : [])),
  ).size;
  return earlier === 0 ? null : `Newer list prices for ${formatCount(earlier)} ${toModels(earlier)}`;
}

/** Units of a model that have a list price and no price here. */
interface MissingPrices {
  readonly units: readonly Unit[];
  /** It has no price at all. */
  readonly isUnpriced: boolean;
}

/** By what the provider calls them: an alias may be bound to another model. A name for a target is priced with it. */
function findMissing(
  models: Parameters<typeof toOfferWords>[0],
  { entries }: Pick<ListPrices, "entries">,
): readonly MissingPrices[] {
  const standard = entries.filter(({ when }) => when === undefined);
  const listed = new Set(standard.map(({ model, unit }) => `${unit} ${model}`));
  return models.flatMap((model) => {
    if (model.target !== null) return [];
    const units = UNITS.filter(
      (unit) =>
        model.pricing[unit] === undefined &&
        isUnitUsed(model, unit) &&
        listed.has(`${unit} ${model.upstream_name}`),
    );
    return units.length === 0 ? [] : [{ units, isUnpriced: Object.keys(model.pricing).length === 0 }];
  });
}

const UNITS_NAMED_MAX = 2;

function toWords(units: readonly Unit[]): string {
  if (units.length > UNITS_NAMED_MAX) return `${units.length} units`;
  return units.map((unit) => UNIT_TABLE[unit].label.toLowerCase()).join(" and ");
}

function toModels(count: number): string {
  return count === 1 ? "model" : "models";
}
