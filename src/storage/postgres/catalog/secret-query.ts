import { eq, inArray, or } from "drizzle-orm";
import type { SecretName } from "#identity/secret.ts";
import type { FoundSecret } from "#identity/store.ts";
import { toPrincipal } from "#storage/catalog/principal-rows.ts";
import { toFoundSecret } from "#storage/catalog/secret-rows.ts";
import type { SqlWithOrm } from "#storage/postgres/connection/sql.ts";
import { principals } from "./identity-schema.ts";
import type { SecretTable } from "./secret-memory.ts";

/**
 * What a command asks of the database, which remembers no secrets: reading 100,000 of them takes a second, and a command has
 * no use for more than a few.
 */
export async function askSecret(
  { orm }: SqlWithOrm,
  table: SecretTable,
  hash: string,
): Promise<FoundSecret | null> {
  const [row] = await orm
    .select({ secret: table, principal: principals })
    .from(table)
    .innerJoin(principals, eq(principals.id, table.principalId))
    .where(or(eq(table.hash, hash), eq(table.formerHash, hash)));
  if (row === undefined) return null;
  return toFoundSecret({ secret: row.secret, principal: toPrincipal(row.principal) }, hash);
}

/** See `KeyStore.findNames`. */
export async function askNames(
  { orm }: SqlWithOrm,
  table: SecretTable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SecretName>> {
  const { id, label, suffix } = table;
  const rows = await orm
    .select({ id, label, suffix })
    .from(table)
    .where(inArray(id, [...ids]));
  return new Map(rows.map(({ id: of, ...name }) => [of, name]));
}
