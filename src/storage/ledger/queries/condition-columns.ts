import { dialectOf, one, type Reading } from "./reading.ts";

/** The tier of `combination AS c` and the failure of `result AS r`: nulls in a ledger that no server has opened since there are any. */
export function* findConditionColumns(): Reading<{ readonly tier: string; readonly failure: string }> {
  const { conditions } = yield* dialectOf();
  const has = conditions === null || (yield* one(conditions)) !== null;
  return has ? { tier: "c.tier", failure: "r.failure" } : { tier: "NULL", failure: "NULL" };
}
