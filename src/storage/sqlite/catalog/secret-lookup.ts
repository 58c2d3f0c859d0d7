import { eq, sql } from "drizzle-orm";
import type { Principal } from "#identity/principal.ts";
import type { Connection } from "./connection.ts";
import { apiKeys, principals, relayTokens } from "./schema.ts";

/** Secrets of a table remembered at once; the oldest is forgotten first. Only those that exist are, so guessing cannot fill it. */
export const REMEMBERED_SECRETS_MAX = 10_000;

/** API keys and relay tokens have the same columns, and are two tables so that neither is ever found as the other. */
export type SecretTable = typeof apiKeys | typeof relayTokens;

/** A secret as the domain sees it: its hash is looked for, never handed out. */
export function toPublicColumns({ id, principalId, suffix, label, createdAtUs }: SecretTable) {
  return { id, principalId, suffix, label, createdAtUs };
}

type Secret = Omit<SecretTable["$inferSelect"], "hash">;

export interface SecretLookup<Found> {
  find(hash: string): Promise<Found | null>;
  /** To be called after each write of this process; those of others are noticed. */
  forget(): void;
}

/** The look-up that every request makes: 6 µs for the statement, 2 µs when the secret is remembered. */
export function createSecretLookup<Found>(
  connection: Connection,
  table: SecretTable,
  toFound: (secret: Secret, principal: Principal) => Found,
): SecretLookup<Found> {
  const statement = connection.orm
    .select({ secret: toPublicColumns(table), principal: principals })
    .from(table)
    .innerJoin(principals, eq(principals.id, table.principalId))
    .where(eq(table.hash, sql.placeholder("hash")))
    .prepare();
  const remembered = new Map<string, Found>();
  let rememberedAtVersion = -1;

  return {
    find: (hash) =>
      connection.query(() => {
        // Asked before the rows are: a commit in between is then noticed by the next look-up.
        const version = connection.dataVersion();
        if (version !== rememberedAtVersion) {
          remembered.clear();
          rememberedAtVersion = version;
        }
        const known = remembered.get(hash);
        if (known !== undefined) return known;
        const row = statement.get({ hash });
        if (row === undefined) return null;
        if (remembered.size >= REMEMBERED_SECRETS_MAX) forgetOldest(remembered);
        const found = toFound(row.secret, row.principal);
        remembered.set(hash, found);
        return found;
      }),
    forget: () => remembered.clear(),
  };
}

function forgetOldest(remembered: Map<string, unknown>): void {
  for (const hash of remembered.keys()) {
    remembered.delete(hash);
    return;
  }
}
