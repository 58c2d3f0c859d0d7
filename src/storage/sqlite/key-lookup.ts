import { eq, getTableColumns, sql } from "drizzle-orm";
import type { ApiKey } from "#identity/key.ts";
import type { Principal } from "#identity/principal.ts";
import type { Connection } from "./connection.ts";
import { apiKeys, principals } from "./schema.ts";

/** Keys remembered at once; the oldest is forgotten first. Only keys that exist are, so guessing cannot fill it. */
export const REMEMBERED_KEYS_MAX = 10_000;

/** A key as the domain sees it: its hash is looked for, never handed out. */
const { hash: _, ...columnsWithoutHash } = getTableColumns(apiKeys);
export const API_KEY_COLUMNS = columnsWithoutHash;

export interface FoundKey {
  readonly key: ApiKey;
  readonly principal: Principal;
}

export interface KeyLookup {
  find(hash: string): Promise<FoundKey | null>;
  /** To be called after each write of this process; those of others are noticed. */
  forget(): void;
}

/** The look-up that every request makes: 6 µs for the statement, 2 µs when the key is remembered. */
export function createKeyLookup(connection: Connection): KeyLookup {
  const statement = connection.orm
    .select({ key: API_KEY_COLUMNS, principal: principals })
    .from(apiKeys)
    .innerJoin(principals, eq(principals.id, apiKeys.principalId))
    .where(eq(apiKeys.hash, sql.placeholder("hash")))
    .prepare();
  const remembered = new Map<string, FoundKey>();
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
        const found = statement.get({ hash });
        if (found === undefined) return null;
        if (remembered.size >= REMEMBERED_KEYS_MAX) forgetOldest(remembered);
        remembered.set(hash, found);
        return found;
      }),
    forget: () => remembered.clear(),
  };
}

function forgetOldest(remembered: Map<string, FoundKey>): void {
  for (const hash of remembered.keys()) {
    remembered.delete(hash);
    return;
  }
}
