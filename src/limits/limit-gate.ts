import type { LimitedRequest } from "./limit.ts";
import type { UsageBeginning, UsageEnding } from "#usage/event.ts";

/** What a request to a model, or one of the relay, passes before it is begun. */
export interface LimitGate {
  /**
   * Null when memory knows every limit as it is now, and what was used of those that hold for the request; else to be waited
   * for before `admit`.
   */
  current(request: LimitedRequest): Promise<void> | null;
  /**
   * Throws `limit_exceeded`. Returns the names of limits that only warn, or null. Asked in the turn in which the request
   * is begun, so that none gets in between.
   */
  admit(request: UsageBeginning, hasPrice: () => boolean): readonly string[] | null;
  /** True when a limit that refuses holds for the caller and has to know the model: one of a model, of cost or of tokens. */
  dependsOnModel(request: LimitedRequest): boolean;
  began(request: UsageBeginning): void;
  /** In the turn in which its end goes to the ledger. `named`: under the model that its answer named, where it began without one. */
  ended(request: UsageBeginning, ending: UsageEnding, named?: UsageBeginning): void;
  /** In the turn in which the settlement of a pending event goes to the ledger. `before`: as the ledger had it. */
  settled(request: UsageBeginning, before: UsageEnding, after: UsageEnding): void;
  /** The ledger has changed in a way that memory has not followed: what was used is read from it again. */
  distrust(): void;
  /** Instead of `ended`, when its end could not go there. */
  lost(request: UsageBeginning): void;
}

/** Where no limits are kept: everything passes. */
export const NO_LIMITS: LimitGate = {
  current: () => null,
  admit: () => null,
  dependsOnModel: () => false,
  began: () => undefined,
  ended: () => undefined,
  settled: () => undefined,
  distrust: () => undefined,
  lost: () => undefined,
};
