import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { insert, selectOne } from "#storage/sql/rows.ts";
import { all, type Connection, connection, run, type Script } from "#storage/sql/script.ts";
import { catalogState, type ChangeKind, changeLog } from "./tables.ts";

/** A row that was changed, made or removed; `id` null: everything of the kind is to be read again. */
export interface Change {
  readonly kind: ChangeKind;
  readonly id: string | null;
}

/** A version of the catalog. The token differs between two histories that gave out the same number. */
export interface CatalogVersion {
  readonly version: number;
  readonly token: string;
}

/** Versions whose changes are kept: a process that is further behind reads everything again. */
export const VERSIONS_KEPT = 1_000;
/** To read so many changes by themselves takes longer than to read everything. */
const CHANGES_MAX = 5_000;

/** The connection of a transaction under the catalog's lock, and what was told in it. */
export class ChangeTransaction implements Connection {
  readonly dialect: Dialect;
  readonly changes: Change[] = [];
  /** The catalog as the transaction leaves it, once it was read. */
  after: CatalogSnapshot | null = null;

  constructor(dialect: Dialect) {
    this.dialect = dialect;
  }
}

/** Tells that a row which memory holds was changed. Within `CatalogDriver.change`; `id` null tells of all rows of the kind. */
export function* changed(kind: ChangeKind, id: string | null): Script<void> {
  (yield* changeTransaction()).changes.push({ kind, id });
}

export function* changeTransaction(): Script<ChangeTransaction> {
  const transaction = yield* connection();
  if (!(transaction instanceof ChangeTransaction))
    throw new TypeError("no change of the catalog is under way");
  return transaction;
}

export function isSameVersion(one: CatalogVersion | null, other: CatalogVersion): boolean {
  return one?.version === other.version && one.token === other.token;
}

export function* readVersion(): Script<CatalogVersion> {
  const state = yield* selectOne(catalogState, "", []);
  if (state === null) throw new TypeError("catalog_state has no row");
  return state;
}

/**
 * What has changed between two versions. Null: that is more than is kept, or than is worth reading by itself. `foreign`:
 * `from` is of another history, since the database was restored.
 */
export function* readChanges(
  from: CatalogVersion,
  to: CatalogVersion,
): Script<readonly Change[] | "foreign" | null> {
  if (to.version <= from.version) return "foreign";
  const rows = yield* all<Change & CatalogVersion>(
    `SELECT version, token, kind, row_id AS id FROM change_log
     WHERE version >= ? ORDER BY version, ordinal LIMIT ?`,
    [from.version, CHANGES_MAX + 1],
  );
  const [known] = rows;
  // What memory has is no longer in the log: it was trimmed, or is of another history, which this cannot tell apart.
  if (known?.version !== from.version) return null;
  if (known.token !== from.token) return "foreign";
  if (rows.length > CHANGES_MAX) return null;
  const changes = new Map<string, Change>();
  for (const { version, kind, id } of rows)
    if (version > from.version) changes.set(`${kind} ${id ?? ""}`, { kind, id });
  return [...changes.values()];
}

/** Makes `next` the catalog's version, and writes down what it has changed. Under the catalog's lock. */
export function* recordChanges(changes: readonly Change[], { version, token }: CatalogVersion): Script<void> {
  yield* run("UPDATE catalog_state SET version = ?, token = ?", [version, token]);
  yield* insert(
    changeLog,
    changes.map(({ kind, id }, ordinal) => ({ version, ordinal, token, kind, rowId: id })),
  );
}

/** Removes what is older than `VERSIONS_KEPT`. */
export function* trimChanges({ version }: CatalogVersion): Script<void> {
  yield* run("DELETE FROM change_log WHERE version <= ?", [version - VERSIONS_KEPT]);
}
