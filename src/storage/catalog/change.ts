import type { InstantUs } from "#kernel/clock.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { insert, selectOne } from "#storage/sql/rows.ts";
import { all, type Connection, connection, dialectOf, run, type Script } from "#storage/sql/script.ts";
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

/** The stamp that a change brings along: the token of the version that it makes, and the time of its audit entries. */
export interface ChangeStamp {
  readonly token: string;
  readonly atUs: InstantUs;
}

/** A change as its script has made it. */
export interface MadeChange<Answer> {
  readonly answer: Answer;
  /** The version that it makes of the catalog; null: nothing that memory holds has changed. */
  readonly version: number | null;
  /** To be called in the turn of the COMMIT: the next change must not start from what was before this one. */
  readonly takeOver: () => void;
}

/**
 * One change of the catalog, in a transaction of its own: its lock puts it in order, and its version and what it has changed are
 * committed with it. While `script` runs memory is as the lock has found the catalog.
 */
export function* changeCatalog<Answer>(
  follower: Follower,
  script: Script<Answer>,
  { token, atUs }: ChangeStamp,
): Script<MadeChange<Answer>> {
  const dialect = yield* dialectOf();
  const before = yield* readVersion(dialect.forUpdate);
  while (!follower.isAt(before)) (yield* follower.follow(before))();
  const transaction = new ChangeTransaction(dialect, atUs);
  const answer = yield* within(transaction, script);
  const { changes } = transaction;
  if (changes.length === 0) return { answer, version: null, takeOver: () => transaction.onTakenOver() };
  const next = { version: before.version + 1, token };
  yield* recordChanges(changes, next);
  const install = yield* follower.follow(next);
  const takeOver = () => {
    // Memory may have been forgotten meanwhile: it has the change when it is read again.
    if (install()) transaction.onTakenOver();
  };
  return { answer, version: next.version, takeOver };
}

/** The connection of a script that changes the catalog, and what was told in it. */
export class ChangeTransaction implements Connection {
  readonly dialect: Dialect;
  readonly atUs: InstantUs;
  readonly changes: Change[] = [];
  /** Called when the change is committed and memory has it, in the same turn of the event loop. */
  onTakenOver = (): void => {};

  constructor(dialect: Dialect, atUs: InstantUs) {
    this.dialect = dialect;
    this.atUs = atUs;
  }
}

function* within<Answer>(transaction: ChangeTransaction, script: Script<Answer>): Script<Answer> {
  for (;;) {
    const step = script.next(transaction);
    if (step.done === true) return step.value;
    yield step.value;
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

/** The memory that a process has of the catalog. */
export interface Memory {
  /**
   * Reads again what has changed, or everything (null). What is returned takes over all of it, without a wait. One change may
   * be told more than once.
   */
  read(changes: readonly Change[] | null): Script<() => void>;
}

/** Keeps memory at a version of the catalog: what was read is taken over only where memory is still what it was read for. */
export class Follower {
  readonly #memory: Memory;
  readonly #onForeign: () => void;
  #applied: CatalogVersion | null = null;

  /** `onForeign` is called as soon as memory turns out to be of another history: the database was restored. */
  constructor(memory: Memory, onForeign = () => {}) {
    this.#memory = memory;
    this.#onForeign = onForeign;
  }

  /** Null before everything was read. */
  get applied(): CatalogVersion | null {
    return this.#applied;
  }

  isAt(version: CatalogVersion): boolean {
    return isSameVersion(this.#applied, version);
  }

  /** Everything is read again. */
  forget(): void {
    this.#applied = null;
  }

  /**
   * Reads what memory lacks of a version, by default the one that the transaction sees. What is returned brings memory to it;
   * false: memory is at another version by now, and has to follow again.
   */
  *follow(to?: CatalogVersion): Script<() => boolean> {
    // Before the transaction sees anything: an own change that is committed meanwhile must not be taken back.
    const from = this.#applied;
    const now = to ?? (yield* readVersion());
    if (isSameVersion(from, now)) return () => true;
    const changes = from === null ? null : yield* readChanges(from, now);
    if (this.#applied !== from) return () => false;
    if (changes === "foreign") {
      this.#onForeign();
      this.#applied = null;
    }
    const start = this.#applied;
    const install = yield* this.#memory.read(changes === "foreign" ? null : changes);
    return () => {
      if (this.#applied !== start) return false;
      install();
      this.#applied = now;
      return true;
    };
  }
}

function isSameVersion(one: CatalogVersion | null, other: CatalogVersion): boolean {
  return one?.version === other.version && one.token === other.token;
}

export function* readVersion(lock = ""): Script<CatalogVersion> {
  const state = yield* selectOne(catalogState, lock);
  if (state === null) throw new TypeError("catalog_state has no row");
  return state;
}

/**
 * Reads what has changed between two versions. Null: that is more than is kept, or than is worth reading by itself. `foreign`:
 * `from` is of another history, since the database was restored.
 */
function* readChanges(
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
  // The version of memory is no longer in the log: it was trimmed, or is of another history, which this cannot tell apart.
  if (known?.version !== from.version) return null;
  if (known.token !== from.token) return "foreign";
  if (rows.length > CHANGES_MAX) return null;
  const changes = new Map<string, Change>();
  for (const { version, kind, id } of rows)
    if (version > from.version) changes.set(`${kind} ${id ?? ""}`, { kind, id });
  return [...changes.values()];
}

function* recordChanges(changes: readonly Change[], { version, token }: CatalogVersion): Script<void> {
  yield* run("UPDATE catalog_state SET version = ?, token = ?", [version, token]);
  yield* insert(
    changeLog,
    changes.map(({ kind, id }, ordinal) => ({ version, ordinal, token, kind, rowId: id })),
  );
}

/** Removes what is older than `VERSIONS_KEPT`. */
export function* trimChanges(version: number): Script<void> {
  yield* run("DELETE FROM change_log WHERE version <= ?", [version - VERSIONS_KEPT]);
}
