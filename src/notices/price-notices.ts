import { DAY_US } from "#kernel/clock.ts";
import { truncateCodePoints } from "#kernel/text.ts";
import { findUnitPrice, UNITS } from "#kernel/units.ts";
import type { UsageBeginning, UsageEnding } from "#usage/event.ts";
import { toDisjointQuantities, toUnpricedReason } from "#usage/cost.ts";
import { toQuotedName } from "./notice.ts";
import type { Tell } from "./outbox.ts";

/** Models that are told of in one day: callers of the relay name what they like. */
export const UNPRICED_MODELS_MAX = 1_000;
/** Models that are told of in one day and that one principal has used first. */
export const UNPRICED_MODELS_OF_PRINCIPAL_MAX = 100;
/** As long as an alias may be. */
const MODEL_LENGTH_MAX = 200;

/** Tells of the first use of a model without a price, and at a tier without prices, on each UTC day. */
export class PriceNotices {
  readonly #tell: Tell;
  #day = 0;
  #gaps = new Set<string>();
  #byPrincipal = new Map<string, number>();

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  ended(
    { model: name, arrivedAtUs, principalId }: UsageBeginning,
    providerName: string,
    ending: UsageEnding,
  ): void {
    const { unpriced, usage, prices, durationUs, tier } = ending;
    if (!unpriced || usage === null || name === null) return;
    const day = Math.floor((arrivedAtUs + durationUs) / DAY_US);
    if (day !== this.#day) {
      this.#day = day;
      this.#gaps = new Set();
      this.#byPrincipal = new Map();
    }
    const model = truncateCodePoints(name, MODEL_LENGTH_MAX).toWellFormed();
    // A tier without prices is another gap than a model without them.
    const gap = tier === undefined ? model : `${model} (${toUnpricedReason(tier)})`;
    if (this.#gaps.has(gap) || this.#gaps.size >= UNPRICED_MODELS_MAX) return;
    const own = (this.#byPrincipal.get(principalId) ?? 0) + 1;
    if (own > UNPRICED_MODELS_OF_PRINCIPAL_MAX) return;
    this.#byPrincipal.set(principalId, own);
    this.#gaps.add(gap);
    const quantities = toDisjointQuantities(usage);
    const units = UNITS.filter((unit) => (quantities[unit] ?? 0) > 0 && findUnitPrice(prices, unit) === null);
    this.#tell(
      {
        type: "price.missing",
        text:
          tier === undefined
            ? `The model ${toQuotedName(model)} was used and has no price for ${units.join(", ")}: what that costs is counted nowhere.`
            : `The model ${toQuotedName(model)} was answered at the service tier ${toQuotedName(tier)}, for which there are no prices: what that costs is counted nowhere.`,
        facts: {
          model,
          provider: providerName,
          units,
          ...(tier !== undefined && { reason: toUnpricedReason(tier) }),
        },
      },
      { mark: { name: `price.missing ${day} ${gap}`, untilUs: (day + 2) * DAY_US } },
    );
  }
}
