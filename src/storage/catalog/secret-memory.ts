import type { Principal } from "#identity/principal.ts";
import type { SecretName } from "#identity/secret.ts";
import type { FoundSecret } from "#identity/store.ts";
import { eachRow, select, selectOne } from "#storage/sql/rows.ts";
import { dialectOf, type Script } from "#storage/sql/script.ts";
import type { RowOf, Table } from "#storage/sql/table.ts";
import { toFoundSecret, toPrincipal } from "./catalog-rows.ts";
import { principals, type SecretRow, type SecretTable } from "./tables.ts";
import { isReadable, type TellUnreadable } from "./unreadable.ts";

/**
 * Secrets of a table, and principals, that are remembered where not all of them are; the oldest are forgotten first. Only
 * those that exist are remembered, so guessing cannot fill it.
 */
export const REMEMBERED_MAX = 10_000;

interface MemoryOptions {
  /**
   * True where everything is remembered: a replica must not ask for each request. Otherwise what is asked for: a statement of
   * SQLite takes 6 µs, and to read 100,000 keys a second.
   */
  readonly hasAll: boolean;
  readonly tell: TellUnreadable;
}

/** The owners of secrets. */
export class PrincipalMemory {
  readonly #options: MemoryOptions;
  #byId = new Map<string, Principal>();
  #reads = 0;

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
    const reads = this.#reads;
    const row = yield* selectOne(principals, "WHERE id = ?", [id]);
    if (row === null) return null;
    const principal = toPrincipal(row, this.#options.tell);
    // A row that has changed meanwhile would never be read again.
    if (reads === this.#reads) {
      if (this.#byId.size >= REMEMBERED_MAX) this.#byId.delete(oldestOf(this.#byId));
      this.#byId.set(id, principal);
    }
    return principal;
  }

  /** Reads those of `ids`, or all (null). What is returned replaces them, without a wait. */
  *read(ids: readonly string[] | null): Script<() => void> {
    const { hasAll, tell } = this.#options;
    const read = new Map<string, Principal>();
    if (hasAll) yield* eachById(principals, ids, (row) => void read.set(row.id, toPrincipal(row, tell)));
    return () => {
      this.#reads += 1;
      if (ids === null) this.#byId = read;
      for (const id of ids ?? []) this.#byId.delete(id);
      if (ids !== null) for (const [id, principal] of read) this.#byId.set(id, principal);
    };
  }
}

/** A found secret, and the rows that it was made of: another row makes it anew. */
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
  #index = new SecretIndex();
  #reads = 0;

  constructor(table: SecretTable, owners: PrincipalMemory, options: MemoryOptions) {
    this.#table = table;
    this.#owners = owners;
    this.#options = options;
  }

  /** Null also where it is not remembered. */
  peek(hash: string): FoundSecret | null {
    const row = this.#index.byHash.get(hash);
    const principal = row === undefined ? undefined : this.#owners.find(row.principalId);
    return row === undefined || principal === undefined ? null : this.#make(row, principal, hash);
  }

  /** One that is not remembered is asked for. */
  *find(hash: string): Script<FoundSecret | null> {
    const known = this.peek(hash);
    if (known !== null || this.#options.hasAll) return known;
    const reads = this.#reads;
    const row = yield* selectOne(
      this.#table,
      "WHERE hash = ?1 OR (former_hash = ?1 AND former_until_us IS NOT NULL)",
      [hash],
    );
    const principal = row === null ? null : yield* this.#owners.get(row.principalId);
    if (row === null || principal === null) return null;
    // A row that has changed meanwhile would never be read again.
    if (reads === this.#reads) {
      if (this.#index.byId.size >= REMEMBERED_MAX) this.#index.remove(oldestOf(this.#index.byId));
      this.#index.add(row);
    }
    return this.#make(row, principal, hash);
  }

  /** See `KeyStore.findNames`. */
  *findNames(ids: readonly string[]): Script<ReadonlyMap<string, SecretName>> {
    const names = new Map<string, SecretName>();
    const add = ({ id, label, suffix }: SecretRow) => void names.set(id, { label, suffix });
    if (this.#options.hasAll) ids.flatMap((id) => this.#index.byId.get(id) ?? []).forEach(add);
    else yield* eachById(this.#table, ids, add);
    return names;
  }

  /** Reads those of `ids`, or all (null). What is returned replaces them, without a wait. */
  *read(ids: readonly string[] | null): Script<() => void> {
    const read = new SecretIndex();
    if (this.#options.hasAll) yield* eachById(this.#table, ids, (row) => read.add(row));
    return () => {
      this.#reads += 1;
      if (ids === null) this.#index = read;
      for (const id of ids ?? []) this.#index.remove(id);
      if (ids !== null) for (const row of read.byId.values()) this.#index.add(row);
    };
  }

  #make(row: SecretRow, principal: Principal, hash: string): FoundSecret {
    const { byHash, made } = this.#index;
    const known = made.get(hash);
    if (known?.row === row && known.principal === principal) return known.found;
    const found = toFoundSecret({ secret: row, principal }, hash);
    isReadable(this.#table, row, this.#options.tell);
    if (byHash.get(hash) === row) made.set(hash, { row, principal, found });
    return found;
  }
}

class SecretIndex {
  readonly byId = new Map<string, SecretRow>();
  readonly byHash = new Map<string, SecretRow>();
  /** Made as they are asked for: most of 100,000 never are. */
  readonly made = new Map<string, Made>();

  add(row: SecretRow): void {
    this.byId.set(row.id, row);
    this.byHash.set(row.hash, row);
    if (row.formerHash !== null && row.formerUntilUs !== null) this.byHash.set(row.formerHash, row);
  }

  remove(id: string): void {
    const row = this.byId.get(id);
    if (row === undefined) return;
    this.byId.delete(id);
    for (const hash of [row.hash, row.formerHash ?? ""]) {
      this.byHash.delete(hash);
      this.made.delete(hash);
    }
  }
}

function* eachById<Of extends Table>(
  table: Of,
  ids: readonly string[] | null,
  onRow: (row: RowOf<Of>) => void,
): Script<void> {
  if (ids === null) yield* eachRow(table, onRow);
  else if (ids.length > 0) {
    const { isAnyOf } = yield* dialectOf();
    (yield* select(table, `WHERE ${isAnyOf("id", "text")}`, [ids])).forEach(onRow);
  }
}

function oldestOf(remembered: ReadonlyMap<string, unknown>): string {
  const [id = ""] = remembered.keys();
  return id;
}
