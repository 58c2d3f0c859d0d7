import { getTableName } from "drizzle-orm";
import type { Principal } from "#identity/principal.ts";
import type { SecretName } from "#identity/secret.ts";
import type { FoundSecret } from "#identity/store.ts";
import { type SecretRow, tellUnreadableTerms, toFoundSecret } from "#storage/catalog/secret-rows.ts";
import type { TellUnreadable } from "#storage/catalog/unreadable.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import type { apiKeys } from "./identity-schema.ts";
import { toSelection } from "./rows.ts";

/** API keys and relay tokens have the same columns, and are two tables so that neither is ever found as the other. */
export type SecretTable = typeof apiKeys;

/** 100,000 keys in one answer hold the thread that serves for more than 100 ms: in parts, requests are served in between. */
const ROWS_PER_FETCH = 5_000;

/** Every secret of one table, by its present and its former hash. */
export interface SecretMemory {
  find(hash: string): FoundSecret | null;
  findNames(ids: readonly string[]): ReadonlyMap<string, SecretName>;
  /** Reads those of `ids`, or all (null). What is returned replaces them, without a wait. */
  read(tx: Transaction, ids: readonly string[] | null): Promise<() => void>;
  /** The principal has changed or is gone, and its secrets with it. */
  dropOwner(principalId: string, isGone: boolean): void;
}

export function createSecretMemory(
  table: SecretTable,
  findPrincipal: (id: string) => Principal | undefined,
  tell: TellUnreadable,
): SecretMemory {
  const name = getTableName(table);
  const readAll = `SELECT ${toSelection(table)} FROM ${name}`;
  const readSome = `${readAll} WHERE id = ANY($1::text[])`;
  let secrets = new SecretIndex();
  /** Made of the rows as they are asked for: most of 100,000 never are. */
  let found = new Map<string, FoundSecret>();

  const forgetFound = ({ hash, formerHash }: SecretRow): void => {
    found.delete(hash);
    if (formerHash !== null) found.delete(formerHash);
  };

  return {
    find(hash) {
      const known = found.get(hash);
      if (known !== undefined) return known;
      const secret = secrets.byHash.get(hash);
      const principal = secret === undefined ? undefined : findPrincipal(secret.principalId);
      if (secret === undefined || principal === undefined) return null;
      const made = toFoundSecret({ secret, principal }, hash);
      tellUnreadableTerms(name, secret, tell);
      found.set(hash, made);
      return made;
    },

    findNames: (ids) =>
      new Map(
        ids.flatMap((id) => {
          const secret = secrets.byId.get(id);
          return secret === undefined ? [] : [[id, { label: secret.label, suffix: secret.suffix }] as const];
        }),
      ),

    async read(tx, ids) {
      if (ids === null) {
        const read = new SecretIndex();
        for await (const rows of tx.parts<SecretRow>({ text: readAll, rowsPerFetch: ROWS_PER_FETCH }))
          for (const row of rows) read.add(row);
        return () => {
          secrets = read;
          found = new Map();
        };
      }
      const rows = ids.length === 0 ? [] : await tx.all<SecretRow>(readSome, [ids]);
      return () => {
        for (const id of ids) {
          const before = secrets.remove(id);
          if (before !== null) forgetFound(before);
        }
        for (const row of rows) secrets.add(row);
      };
    },

    dropOwner(principalId, isGone) {
      for (const secret of secrets.listOf(principalId)) {
        forgetFound(secret);
        if (isGone) secrets.remove(secret.id);
      }
    },
  };
}

class SecretIndex {
  readonly byHash = new Map<string, SecretRow>();
  readonly byId = new Map<string, SecretRow>();
  readonly #idsOfOwner = new Map<string, Set<string>>();

  add(row: SecretRow): void {
    this.byId.set(row.id, row);
    this.byHash.set(row.hash, row);
    if (row.formerHash !== null) this.byHash.set(row.formerHash, row);
    const ids = this.#idsOfOwner.get(row.principalId);
    if (ids === undefined) this.#idsOfOwner.set(row.principalId, new Set([row.id]));
    else ids.add(row.id);
  }

  /** Returns the row that was removed. */
  remove(id: string): SecretRow | null {
    const row = this.byId.get(id);
    if (row === undefined) return null;
    this.byId.delete(id);
    this.byHash.delete(row.hash);
    if (row.formerHash !== null) this.byHash.delete(row.formerHash);
    const ids = this.#idsOfOwner.get(row.principalId);
    ids?.delete(id);
    if (ids?.size === 0) this.#idsOfOwner.delete(row.principalId);
    return row;
  }

  listOf(principalId: string): readonly SecretRow[] {
    return [...(this.#idsOfOwner.get(principalId) ?? [])].flatMap((id) => this.byId.get(id) ?? []);
  }
}
