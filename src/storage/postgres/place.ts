import type { DataPlace } from "#storage/place.ts";
import type { PostgresTarget } from "./connection/target.ts";

/** Where the database of an installation is, and for how long memory is believed without it. */
export function toTarget({ database }: Pick<DataPlace, "database">): {
  readonly target: PostgresTarget;
  readonly graceMs: number;
} {
  if (database.kind !== "postgres") throw new TypeError(`PostgreSQL was asked for ${database.kind}`);
  const { url, schema, graceMs } = database;
  return { target: { url, schema }, graceMs };
}
