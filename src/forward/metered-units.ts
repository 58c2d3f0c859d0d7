import { type EndpointName, toRow } from "#catalog/endpoint.ts";
import { isPricedByRequestAlone } from "#usage/cost.ts";
import { type PriceSet, findUnitPrice } from "#kernel/units.ts";

/** Whether all that an answer of this endpoint will tell has a price. Other units, such as cached input, come with some only. */
export function hasPrices(prices: PriceSet, endpoint: EndpointName): boolean {
  return (
    isPricedByRequestAlone(prices) ||
    toRow(endpoint).tells.some((units) => units.every((unit) => findUnitPrice(prices, unit) !== null))
  );
}
