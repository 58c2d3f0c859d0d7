import type { InstantUs } from "#kernel/clock.ts";
import type { Limit } from "./limit.ts";

/** What the ledger holds for a limit, or for one value of its `each`. */
export interface LimitSum {
  readonly limitId: string;
  /** The value of `each`: the principal's id, the key's id or the tag; empty without one. */
  readonly value: string;
  /** The principal's name, where `value` is its id; else the value. */
  readonly label: string;
  /** Who used it, with `each: tag`: of a value that several use there is a sum for each. Else empty. */
  readonly principalId: string;
  readonly principalName: string;
  readonly parts: readonly LimitSumPart[];
}

/** What was used in a window. */
export interface Used {
  /** Pico for cost. */
  readonly amount: bigint;
  /** Requests with a quantity that had no price. */
  readonly unpriced: number;
  /** Requests that ended without their usage (`isUnmetered`). */
  readonly unknown: number;
}

/** What was used in a window of the calendar, by its start, or in a step of a sliding one. */
export interface LimitSumPart extends Used {
  readonly startUs: InstantUs;
}

/** What is asked of a ledger: the windows that hold `nowUs`, and later ones. */
export interface LimitQuestion {
  readonly limits: readonly Limit[];
  readonly nowUs: InstantUs;
}

/** Adds up usage for limits. */
export interface LimitLedger {
  /**
   * The sums of the windows that hold `nowUs` and of later ones. It counts what has ended before this call, and nothing that
   * ends after it. Limits of `concurrent` have none. May be rejected: where it takes too long, and by a later call, which
   * takes its place.
   */
  sumLimits(limits: readonly Limit[], nowUs: InstantUs): Promise<readonly LimitSum[]>;
}
