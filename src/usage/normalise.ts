import type { Quantities } from "#kernel/units.ts";
import type { ReportedUsage } from "./event.ts";

/** Quantities as reports and prices count them: `input_tokens` at the full input rate, cache reads on top of it. */
export function normaliseUsage(usage: ReportedUsage): Quantities {
  const input = toFullRateInput(usage);
  return input === null ? usage.quantities : { ...usage.quantities, input_tokens: input };
}

/**
 * Input processed at the full input rate (decisions, "Reports"). Inclusive: the prompt without its cached part, or as it is
 * when the cached part exceeds it. Exclusive: the input and what was written to a cache. Null when none was reported; never
 * negative.
 */
export function toFullRateInput({ shape, quantities, cacheCreationTokens }: ReportedUsage): number | null {
  const { input_tokens: input, cached_input_tokens: cached = 0 } = quantities;
  if (shape === "exclusive") {
    if (input === undefined && cacheCreationTokens === null) return null;
    return (input ?? 0) + (cacheCreationTokens ?? 0);
  }
  if (input === undefined) return null;
  return cached > input ? input : input - cached;
}
