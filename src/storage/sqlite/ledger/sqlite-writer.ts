import { Database, type Statement } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import { EVENT_COLUMNS, type EventRow, GIVEN_REQUEST, toEventRow } from "#storage/cells/event-row.ts";
import { maintain, type MaintenanceStep } from "#storage/cells/maintenance.ts";
import type { MaintenancePass } from "#storage/cells/retention.ts";
import type { JournalPosition } from "#storage/journal/segments.ts";
import { READ_BYTES_MAX } from "#storage/journal/segment-reader.ts";
import { findFileIdentity } from "#storage/files/file-watch.ts";
import { one, run, type Script } from "#storage/sql/script.ts";
import { SQLITE } from "#storage/sql/dialect.ts";
import { drive, readTransaction } from "#storage/sqlite/drive.ts";
import { endServerRun, readPosition, readServerRun } from "#storage/sqlite/ledger/file/database.ts";
import { restoreDatabaseFile } from "#storage/sqlite/file/copy.ts";
import { type EventCosts, NO_COST } from "#storage/repricing/event-changes.ts";
import type { EndedEvent } from "#storage/writer/ended-event.ts";
import {
  type InTurn,
  PositionMovedError,
  type PositionMove,
  type StoredPosition,
  SupersededError,
  type WriterEngine,
} from "#storage/writer/writer-engine.ts";

export interface SqliteWriterOptions {
  /** See `openForWriting`. */
  readonly database: Database;
  /** The run of the server that writes; absent: the last that has begun. */
  readonly serverRun?: number;
  /** The catalog, which says which keys there are; absent: nothing is done about those that are deleted. */
  readonly catalogPath?: string | undefined;
}

interface StateRow {
  readonly journal_segment: number;
  readonly journal_offset: number;
}

/**
 * The part of a writer that is usage.db's own. Every transaction fails with SupersededError once another
 * server has begun its run; none waits for the lock of another process: it fails at once, and nothing has changed then.
 */
export class SqliteWriter implements WriterEngine {
  readonly lane = 0;
  readonly isShared = false;
  readonly readBytesMax = READ_BYTES_MAX;
  /** The file is not put back to an older state beneath its server. */
  readonly keptMs = 0;
  readonly #database: Database;
  readonly #serverRun: number;
  readonly #catalogPath: string | undefined;
  /** The catalog as it was opened: another file that has taken its name knows other keys. */
  readonly #catalogIdentity: string | null;
  readonly #rows: EventRows;

  constructor({ database, serverRun, catalogPath }: SqliteWriterOptions) {
    this.#catalogPath = catalogPath;
    this.#catalogIdentity = catalogPath === undefined ? null : findFileIdentity(catalogPath);
    this.#database = database;
    this.#serverRun = serverRun ?? readServerRun(database);
    this.#rows = new EventRows(database);
  }

  transact<Answer>(script: () => Script<Answer>): Answer {
    this.#database.run("BEGIN IMMEDIATE");
    try {
      if (readServerRun(this.#database) !== this.#serverRun) throw new SupersededError();
      const answer = drive(this.#database, script());
      this.#database.run("COMMIT");
      return answer;
    } catch (cause) {
      // First, since the ROLLBACK may fail as well.
      this.#rows.clear();
      // A full disk or an I/O error may have rolled back already.
      if (this.#database.inTransaction) this.#database.run("ROLLBACK");
      throw cause;
    }
  }
  *readPosition(): Script<StoredPosition> {
    const state = yield* one<StateRow>(
      "SELECT * FROM ledger_state WHERE (SELECT number FROM server_run) = ?",
      [this.#serverRun],
    );
    if (state === null) throw new SupersededError();
    return { position: { segment: state.journal_segment, offsetBytes: state.journal_offset }, batch: 0 };
  }

  *movePosition({ from, to }: PositionMove): Script<number> {
    const moved = yield* run(
      "UPDATE ledger_state SET journal_segment = ?, journal_offset = ? WHERE journal_segment = ? AND journal_offset = ?",
      [to.segment, to.offsetBytes, from.segment, from.offsetBytes],
    );
    if (moved === 0) throw new PositionMovedError();
    return 0;
  }

  // oxlint-disable-next-line require-yield
  *addRows(events: readonly EndedEvent[]): Script<void> {
    for (const event of events) event.id = this.#rows.add(event);
  }

  // oxlint-disable-next-line require-yield
  *replaceCosts(costs: EventCosts): Script<number> {
    return this.#rows.replaceCosts(costs);
  }

  *keepOrder(): Script<void> {}

  async readOfMoment<Answer>(script: () => Script<Answer>): Promise<{ readonly answer: Promise<Answer> }> {
    // At once: nothing is committed meanwhile. What is read of label sets and cells is not kept by a writer.
    const read = () => drive(this.#database, script(), { dialect: SQLITE });
    // The answer fails, and not this call: asked for again, it would hold up every batch behind the watermark.
    return { answer: Promise.try(() => readTransaction(this.#database, read)) };
  }

  async beat(): Promise<JournalPosition | null> {
    return readServerRun(this.#database) === this.#serverRun ? readPosition(this.#database) : null;
  }

  async maintain(pass: MaintenancePass, inTurn: InTurn): Promise<void> {
    const runStep = (step: MaintenanceStep) => inTurn((engine) => engine.transact(step));
    await maintain(pass, runStep);
    const kept = this.#findKeys();
    if (kept !== null) await runStep(() => forgetDeletedKeys(kept));
  }

  restoreFile(): void {
    restoreDatabaseFile(this.#database, this.#database.filename);
    this.#database.close();
  }

  close({ isSuperseded }: { readonly isSuperseded: boolean }): void {
    try {
      if (!isSuperseded) endServerRun(this.#database, this.#serverRun);
    } catch {
      // The next start then takes its time, should the lock file have been replaced.
    }
    this.#database.close();
  }

  /** Null while the catalog is not to be read: a later pass asks again, and batches do not wait for it. */
  #findKeys(): readonly string[] | null {
    const path = this.#catalogPath;
    if (path === undefined || findFileIdentity(path) !== this.#catalogIdentity) return null;
    // One that may write would copy the log beside it into a file that has taken the catalog's name, when it is closed.
    let catalog: Database | null = null;
    try {
      catalog = new Database(path, { readonly: true, strict: true });
      return catalog
        .query<{ id: string }, []>("SELECT id FROM api_keys UNION ALL SELECT id FROM relay_tokens")
        .all()
        .map(({ id }) => id);
    } catch {
      return null;
    } finally {
      catalog?.close();
    }
  }
}

/** Removes the last uses of keys and relay tokens that are deleted. */
function* forgetDeletedKeys(kept: readonly string[]): Script<boolean> {
  yield* run("DELETE FROM key_use WHERE key_id NOT IN (SELECT value FROM json_each(?))", [kept]);
  return false;
}

/** The request log. Only within the writer's transaction. */
class EventRows {
  /** Takes a row as one value: spread, each would be copied twice on its way. */
  readonly #add: { run(row: EventRow): { readonly changes: number } };
  readonly #replace: Statement<unknown, (number | null)[]>;
  readonly #giveRequest: Statement<unknown, [number]>;
  readonly #takeRequest: Statement<unknown, [number]>;
  readonly #row: EventRow = [];
  #arrivedAtUs = -1;
  #nextId = 0;

  constructor(database: Database) {
    this.#replace = database.prepare(
      "UPDATE event SET manner = ?, cost_hi = ?, cost_lo = ? WHERE id = ? AND manner = ?",
    );
    const toOthers = (sql: string) =>
      database.prepare<unknown, [number]>(`UPDATE event SET other_units = ${sql} WHERE id = ?`);
    this.#giveRequest = toOthers(GIVEN_REQUEST.add);
    this.#takeRequest = toOthers(GIVEN_REQUEST.remove);
    const names = EVENT_COLUMNS.map(([name]) => name).join(", ");
    const values = EVENT_COLUMNS.map(() => "?").join(", ");
    this.#add = database.prepare<unknown, never[]>(
      `INSERT INTO event (${names}) VALUES (${values}) ON CONFLICT DO NOTHING`,
    );
  }

  /** Returns the id it got: its arrival, or the next that is free. */
  add(event: EndedEvent): InstantUs {
    const { arrivedAtUs } = event;
    // Many at one instant (a coarse clock) start where the last of them ended.
    let id = this.#arrivedAtUs === arrivedAtUs ? this.#nextId : arrivedAtUs;
    const row = toEventRow(event, this.#row);
    row[0] = id;
    while (this.#add.run(row).changes === 0) row[0] = id += 1;
    this.#arrivedAtUs = arrivedAtUs;
    this.#nextId = id + 1;
    return id;
  }

  /** Row by row: one statement with a list of all takes three times as long. */
  replaceCosts({ ids, formers, classIds, costHi, costLo, byRequest }: EventCosts): number {
    let changes = 0;
    for (let row = 0; row < ids.length; row += 1) {
      if (byRequest[row] === 1) this.#giveRequest.run(ids[row] ?? 0);
      if (byRequest[row] === -1) this.#takeRequest.run(ids[row] ?? 0);
      const [hi = NO_COST, lo = NO_COST] = [costHi[row], costLo[row]];
      const cost = hi === NO_COST ? [null, null] : [hi, lo];
      changes += this.#replace.run(classIds[row] ?? 0, ...cost, ids[row] ?? 0, formers[row] ?? 0).changes;
    }
    return changes;
  }

  /** Forgets what a rolled back transaction has added. */
  clear(): void {
    this.#arrivedAtUs = -1;
  }
}
