import type { Principal } from "#identity/principal.ts";
import type { SecretName } from "#identity/secret.ts";
import type { FoundSecret } from "#identity/store.ts";
import { select, selectAll, selectOne } from "#storage/sql/rows.ts";
import { dialectOf, type Script } from "#storage/sql/script.ts";
import type { RowOf, Table } from "#storage/sql/table.ts";
import { toFoundSecret, toPrincipal } from "./catalog-rows.ts";
import { principals, type PrincipalRow, type SecretRow, type SecretTable } from "./tables.ts";
import { isReadable, type TellUnreadable } from "./unreadable.ts";

/**
 * Secrets of a table, and principals, that are remembered where not all of them are; the oldest are forgotten first. Only
 * those that exist are remembered, so guessing cannot fill it.
 */
export const REMEMBERED_MAX = 10_000;

interface MemoryOptions {
  /**
   * Whether everything is remembered: a replica must not ask for each request. Otherwise what is asked for: a statement of
   * SQLite takes 6 µs, and to read 100,000 keys a second.
   */
  readonly hasAll: boolean;
  readonly tell: TellUnreadable;
}

/** The owners of secrets. */
export class PrincipalMemory {
  readonly #options: MemoryOptions;
  #byId = new Map<string, Principal>();

  constructor(options: MemoryOptions) {
    this.#options = options;
  }

  find(id: string): Principal | undefined {
    return this.#byId.get(id);
  }

  /** One that is not remembered is asked for. */
  *get(id: string): Script<Principal | null> {
    const known = this.#byId.get(id);
    if (known !== undefined || this.#options.hasAll) return known ?? null;
    const row = yield* selectOne(principals, "WHERE id = ?", [id]);
    return row === null ? null : this.#add(row);
  }

  /** Reads those of `ids`, or all (null). What is returned replaces them. */
  *read(ids: readonly string[] | null): Script<() => void> {
    const rows = this.#options.hasAll ? yield* selectByIds(principals, ids) : [];
    return () => {
      if (ids === null) this.#byId = new Map();
      for (const id of ids ?? []) this.#byId.delete(id);
      for (const row of rows) this.#add(row);
    };
  }

  #add(row: PrincipalRow): Principal {
    const principal = toPrincipal(row, this.#options.tell);
    if (!this.#options.hasAll && this.#byId.size >= REMEMBERED_MAX) this.#byId.delete(oldestOf(this.#byId));
    this.#byId.set(row.id, principal);
    return principal;
  }
}

/** What a secret is found as, and the rows that this was made of: another row makes it anew. */
interface Made {
  readonly row: SecretRow;
  readonly principal: Principal;
  readonly found: FoundSecret;
}

/** API keys or relay tokens, by their present and their former hash. */
export class SecretMemory {
  readonly #table: SecretTable;
  readonly #owners: PrincipalMemory;
  readonly #options: MemoryOptions;
  #byHash = new Map<string, SecretRow>();
  #byId = new Map<string, SecretRow>();
  /** Made as they are asked for: most of 100,000 never are. */
  #made = new Map<string, Made>();

  constructor(table: SecretTable, owners: PrincipalMemory, options: MemoryOptions) {
    this.#table = table;
    this.#owners = owners;
    this.#options = options;
  }

  /** Null also where it is not remembered. */
  peek(hash: string): FoundSecret | null {
    const row = this.#byHash.get(hash);
    const principal = row === undefined ? undefined : this.#owners.find(row.principalId);
    return row === undefined || principal === undefined ? null : this.#make(row, principal, hash);
  }

  /** One that is not remembered is asked for. */
  *find(hash: string): Script<FoundSecret | null> {
    const known = this.peek(hash);
    if (known !== null || this.#options.hasAll) return known;
    const row = yield* selectOne(this.#table, "WHERE hash = ?1 OR former_hash = ?1", [hash]);
    const principal = row === null ? null : yield* this.#owners.get(row.principalId);
    if (row === null || principal === null) return null;
    this.#add(row);
    return this.#make(row, principal, hash);
  }

  /** See `KeyStore.findNames`. */
  *findNames(ids: readonly string[]): Script<ReadonlyMap<string, SecretName>> {
    const rows = this.#options.hasAll
      ? ids.flatMap((id) => this.#byId.get(id) ?? [])
      : yield* selectByIds(this.#table, ids);
    return new Map(rows.map(({ id, label, suffix }) => [id, { label, suffix }]));
  }

  /** Reads those of `ids`, or all (null). What is returned replaces them, without a wait. */
  *read(ids: readonly string[] | null): Script<() => void> {
    const rows = this.#options.hasAll ? yield* selectByIds(this.#table, ids) : [];
    return () => {
      if (ids === null) this.#clear();
      for (const id of ids ?? []) this.#remove(id);
      for (const row of rows) this.#add(row);
    };
  }

  #make(row: SecretRow, principal: Principal, hash: string): FoundSecret {
    const known = this.#made.get(hash);
    if (known?.row === row && known.principal === principal) return known.found;
    const found = toFoundSecret({ secret: row, principal }, hash);
    isReadable(this.#table, row, this.#options.tell);
    if (this.#byHash.get(hash) === row) this.#made.set(hash, { row, principal, found });
    return found;
  }

  #add(row: SecretRow): void {
    if (!this.#options.hasAll && this.#byId.size >= REMEMBERED_MAX) this.#remove(oldestOf(this.#byId));
    this.#byId.set(row.id, row);
    this.#byHash.set(row.hash, row);
    if (row.formerHash !== null) this.#byHash.set(row.formerHash, row);
  }

  #remove(id: string): void {
    const row = this.#byId.get(id);
    if (row === undefined) return;
    this.#byId.delete(id);
    for (const hash of [row.hash, row.formerHash ?? ""]) {
      this.#byHash.delete(hash);
      this.#made.delete(hash);
    }
  }

  #clear(): void {
    this.#byHash = new Map();
    this.#byId = new Map();
    this.#made = new Map();
  }
}

function* selectByIds<Of extends Table>(
  table: Of,
  ids: readonly string[] | null,
): Script<readonly RowOf<Of>[]> {
  if (ids === null) return yield* selectAll(table);
  if (ids.length === 0) return [];
  const { isAnyOf } = yield* dialectOf();
  return yield* select(table, `WHERE ${isAnyOf("id", "text")}`, [ids]);
}

function oldestOf(remembered: ReadonlyMap<string, unknown>): string {
  const [id = ""] = remembered.keys();
  return id;
}
