import { toConditionWords } from "#kernel/price-variants.ts";

/** Conditions of prices, as the server tells them. */
export interface ToldConditions {
  readonly tier?: string | undefined;
  readonly input_over?: number | undefined;
  readonly geo?: string | undefined;
  readonly hours?: string | undefined;
}

export function toWhenWords({ input_over: inputOver, ...when }: ToldConditions): string {
  // A variant that is being written.
  return toConditionWords({ ...when, inputOver }) || "no condition yet";
}
