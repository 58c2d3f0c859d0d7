import type { ServedEndpoint } from "#catalog/capability.ts";
import { type PriceSet, type ReportUnit, findUnitPrice } from "#kernel/units.ts";

const IN_AND_OUT: readonly ReportUnit[] = ["input_tokens", "output_tokens"];

/** What every answer of an endpoint tells. Other units, such as cached input, come with some upstreams only. */
const METERED: { readonly [endpoint in ServedEndpoint]: readonly ReportUnit[] } = {
  chat: IN_AND_OUT,
  completions: IN_AND_OUT,
  embeddings: ["input_tokens"],
};

/** Whether all that an answer of this endpoint will tell has a price. */
export function hasPrices(prices: PriceSet, endpoint: ServedEndpoint): boolean {
  return METERED[endpoint].every((unit) => findUnitPrice(prices, unit) !== null);
}

/** Whether all that an answer of the messages API will tell has a price. */
export function hasMessagePrices(prices: PriceSet): boolean {
  return IN_AND_OUT.every((unit) => findUnitPrice(prices, unit) !== null);
}
