import type { Principal } from "#identity/principal.ts";
import type { Keyring } from "#kernel/keyring.ts";
import type { Log } from "#kernel/log.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import type { Change } from "#storage/catalog/change.ts";
import type { Memory } from "#storage/replicas/follower.ts";
import { type CatalogMemory, createCatalogMemory } from "./catalog-memory.ts";
import { type PrincipalRow, toPrincipal } from "#storage/catalog/principal-rows.ts";
import { followPresentSecret, followSecrets, readSecretState } from "#storage/catalog/secret-state.ts";
import { drive, toConnection } from "#storage/postgres/drive.ts";
import { createUnreadableTelling } from "#storage/catalog/unreadable.ts";
import { apiKeys, principals, relayTokens } from "./identity-schema.ts";
import { createLimitMemory, type LimitMemory } from "./limit-memory.ts";
import { toSelection } from "./rows.ts";
import { createSecretMemory, type SecretMemory } from "./secret-memory.ts";

export interface StoreMemory extends Memory {
  /** To be called under the catalog's lock before anything is sealed (`followPresentSecret`). */
  followSecret(sql: Sql): Promise<void>;
  readonly catalog: CatalogMemory;
  readonly limits: LimitMemory;
  /** Null where secrets are not remembered. */
  readonly keys: SecretMemory | null;
  readonly relayTokens: SecretMemory | null;
}

const READ_PRINCIPALS = `SELECT ${toSelection(principals)} FROM principals`;
const EVERYTHING = ["secret", "catalog", "principal", "key", "relay_token", "limit"] as const;

/** What is not remembered is not read. */
const NOTHING = Promise.resolve(() => undefined);

/**
 * What a replica remembers: the catalog, limits, and, with `hasSecrets`, all keys and relay tokens with their owners. The
 * keyring, which `requireOwnSecret` has compared with the catalog's, follows rotations.
 */
export function createMemory(
  secrets: Keyring,
  log: Log,
  { hasSecrets }: { readonly hasSecrets: boolean },
): StoreMemory {
  let byId = new Map<string, Principal>();
  const findPrincipal = (id: string) => byId.get(id);
  const tell = createUnreadableTelling(log);
  const catalog = createCatalogMemory(tell);
  const limits = createLimitMemory(tell);
  const keys = hasSecrets ? createSecretMemory(apiKeys, findPrincipal, tell) : null;
  const tokens = hasSecrets ? createSecretMemory(relayTokens, findPrincipal, tell) : null;

  const readPrincipals = async (sql: Sql, ids: readonly string[] | null): Promise<() => void> => {
    const rows =
      ids === null
        ? await sql.all<PrincipalRow>(READ_PRINCIPALS)
        : await sql.all<PrincipalRow>(`${READ_PRINCIPALS} WHERE id = ANY($1::text[])`, [ids]);
    const read = new Map(rows.map((row) => [row.id, toPrincipal(row, tell)]));
    return () => {
      for (const id of ids ?? byId.keys()) {
        for (const table of [keys, tokens]) table?.dropOwner(id, !read.has(id));
      }
      if (ids === null) {
        byId = read;
        return;
      }
      for (const id of ids) byId.delete(id);
      for (const [id, principal] of read) byId.set(id, principal);
    };
  };

  /** Secrets before the credentials that they open, owners before what they own. */
  const readers: { readonly [kind in Change["kind"]]: (tx: Transaction, ids: Ids) => Promise<() => void> } = {
    secret: async (sql) => {
      const state = await drive(sql, toConnection(), readSecretState());
      return () => followSecrets(state, secrets, log);
    },
    catalog: (tx) => catalog.read(tx),
    // Read with the catalog, where another state of them is noticed.
    price: () => NOTHING,
    // Only secrets are looked up with their owners.
    principal: (tx, ids) => (hasSecrets ? readPrincipals(tx, ids) : NOTHING),
    key: (tx, ids) => keys?.read(tx, ids) ?? NOTHING,
    relay_token: (tx, ids) => tokens?.read(tx, ids) ?? NOTHING,
    limit: (sql) => limits.read(sql),
    // Asked of the database at each request.
    session: () => NOTHING,
  };

  /** Nothing is replaced before everything is read, and then in one turn of the event loop. */
  const readAll = async (tx: Transaction, wanted: ReadonlyMap<Change["kind"], Ids>): Promise<void> => {
    const installs: (() => void)[] = [];
    for (const kind of EVERYTHING) {
      const ids = wanted.get(kind);
      if (ids !== undefined) installs.push(await readers[kind](tx, ids));
    }
    for (const install of installs) install();
  };

  return {
    followSecret: (sql) => drive(sql, toConnection(), followPresentSecret(secrets)),
    catalog,
    limits,
    keys,
    relayTokens: tokens,
    load: (tx) => readAll(tx, new Map(EVERYTHING.map((kind) => [kind, null]))),
    apply: (tx, changes) => readAll(tx, toWanted(changes)),
  };
}

/** Ids to read, or all of the kind (null). */
type Ids = readonly string[] | null;

function toWanted(changes: readonly Change[]): ReadonlyMap<Change["kind"], Ids> {
  const wanted = new Map<Change["kind"], Ids>();
  for (const [kind, ofKind] of Map.groupBy(changes, (change) => change.kind)) {
    const ids = new Set(ofKind.flatMap(({ id }) => id ?? []));
    wanted.set(kind, ofKind.some(({ id }) => id === null) ? null : [...ids]);
  }
  // Limits name their principal and go with it.
  if (wanted.has("principal")) wanted.set("limit", null);
  return wanted;
}
