import type { Dialect } from "#storage/sql/dialect.ts";

/** Every kind of which a combination has one value, or none (NULL), in SQL over the columns of `combination`. */
export function toValueOfCombination({ toPair }: Dialect) {
  return {
    principal: toPair("principal_id", "principal_name"),
    key: "key_id",
    provider: "provider_id",
    model: "model",
    client: "client",
  } as const;
}
