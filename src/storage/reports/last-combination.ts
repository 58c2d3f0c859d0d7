import { one, type Script } from "#storage/sql/script.ts";

/** The highest id that a combination has; 0 without any. Ids are dense, so that arrays may go by them. */
export function* findLastCombination(): Script<number> {
  const row = yield* one<{ last: number | null }>("SELECT max(id) AS last FROM combination");
  return row?.last ?? 0;
}
