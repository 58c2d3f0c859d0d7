import type { Dialect } from "#storage/sql/dialect.ts";

/** What a dimension is a value of. */
export const DIMENSION_KINDS = ["principal", "key", "provider", "model", "client", "tag"] as const;
export type DimensionKind = (typeof DIMENSION_KINDS)[number];

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
