import type { Database, Statement } from "bun:sqlite";
import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import type { DimensionLimits } from "#storage/cells/dimension-values.ts";
import { toDay } from "#storage/cells/calendar.ts";
import type { JournalPosition } from "#storage/journal/segments.ts";
import { READ_BYTES_MAX } from "#storage/journal/segment-reader.ts";
import { one, run, type Script } from "#storage/sql/script.ts";
import { SQLITE } from "#storage/sql/dialect.ts";
import { drive } from "#storage/sqlite/drive.ts";
import { readTransaction } from "#storage/sqlite/read-transaction.ts";
import { readPosition } from "#storage/sqlite/ledger/file/database.ts";
import { restoreDatabaseFile } from "#storage/sqlite/file/copy.ts";
import { endServerRun, readServerRun } from "#storage/sqlite/ledger/file/server-run.ts";
import type { MaintenancePass, Retention } from "#storage/threads/writer-tasks.ts";
import type { EndedEvent } from "#storage/writer/ended-event.ts";
import {
  type LaneChange,
  PositionMovedError,
  type PositionMove,
  type StoredPosition,
  SupersededError,
} from "#storage/writer/writer-engine.ts";
import type { WriterConnection } from "#storage/writer/writer-loop.ts";
import { CarriedTotals } from "./carried-totals.ts";
import { EventRows } from "./event-rows.ts";
import { Maintenance } from "./maintenance.ts";
import { SealedHours } from "./sealed-hours.ts";
import { SealedMonths } from "./sealed-months.ts";
import { Totals } from "./totals.ts";

export interface SqliteWriterOptions {
  /** See `openForWriting`. */
  readonly database: Database;
  /** The run of the server that writes; absent: the last that has begun. */
  readonly serverRun?: number;
  readonly dimensionLimits?: DimensionLimits;
}

interface StateRow {
  readonly journal_segment: number;
  readonly journal_offset: number;
  readonly sealed_before_day: number;
  readonly pruned_before_us: number;
}

/**
 * What usage.db has of its own for its writer, and its maintenance. Every transaction fails with SupersededError once another
 * server has begun its run; none waits for the lock of another process: it fails at once, and nothing has changed then.
 */
export class SqliteWriter implements WriterConnection {
  readonly lane = 0;
  readonly readBytesMax = READ_BYTES_MAX;
  /** The file is not put back to an older state beneath its server. */
  readonly keptMs = 0;
  readonly #database: Database;
  readonly #serverRun: number;
  readonly #rows: EventRows;
  readonly #totals: Totals;
  readonly #carried: CarriedTotals;
  readonly #hours: SealedHours;
  readonly #months: SealedMonths;
  readonly #maintenance: Maintenance;
  readonly #saveBounds: Statement<unknown, number[]>;
  /** Set when a transaction failed: memory may be ahead of the file. */
  #isStale = true;

  constructor({ database, serverRun, dimensionLimits }: SqliteWriterOptions) {
    this.#database = database;
    this.#serverRun = serverRun ?? readServerRun(database);
    this.#rows = new EventRows(database);
    this.#totals = new Totals(database, dimensionLimits);
    this.#carried = new CarriedTotals(database);
    this.#hours = new SealedHours(database);
    this.#months = new SealedMonths(database);
    const [totals, hours, months] = [this.#totals, this.#hours, this.#months];
    this.#maintenance = new Maintenance(database, { totals, hours, months });
    this.#saveBounds = database.prepare(
      "UPDATE ledger_state SET sealed_before_day = ?, pruned_before_us = ? WHERE (SELECT number FROM server_run) = ?",
    );
  }

  async transact<Answer>(script: () => Script<Answer>): Promise<Answer> {
    return this.#transact(() => drive(this.#database, script()));
  }

  async count(script: () => Script<readonly LaneChange[]>): Promise<void> {
    this.#transact(() => {
      for (const change of drive(this.#database, script())) this.#count(change);
    });
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
  *readRefusedBefore(): Script<InstantUs> {
    return this.#maintenance.refusedBeforeUs;
  }

  // oxlint-disable-next-line require-yield
  *addRows(events: readonly EndedEvent[]): Script<void> {
    for (const event of events) event.id = this.#rows.add(event);
  }

  *keepOrder(): Script<void> {}

  *holdSettling(): Script<void> {}

  async readOfMoment<Answer>(script: () => Script<Answer>): Promise<{ readonly answer: Promise<Answer> }> {
    // At once: nothing is committed meanwhile. What is read of label sets and cells is not kept by a writer.
    const read = () => drive(this.#database, script(), { dialect: SQLITE });
    return { answer: Promise.resolve(readTransaction(this.#database, read)) };
  }

  async beat(): Promise<JournalPosition | null> {
    return readServerRun(this.#database) === this.#serverRun ? readPosition(this.#database) : null;
  }

  maintain(
    { sealBeforeDay, retention }: MaintenancePass,
    addJob: (step: () => boolean) => Promise<void>,
  ): Promise<void> {
    let pruneBeforeUs: InstantUs | null = null;
    return addJob(() => {
      if (this.seal(sealBeforeDay)) return true;
      pruneBeforeUs ??= this.boundRetention(retention);
      return this.prune(pruneBeforeUs);
    });
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

  /** See `Maintenance.seal`. */
  seal(beforeDay: number): boolean {
    return this.#transact(() => this.#maintenance.seal(beforeDay));
  }

  /** See `Maintenance.boundRetention`: once per look, before the first `prune`. */
  boundRetention(retention: Retention): InstantUs {
    return this.#transact(() => this.#maintenance.boundRetention(retention));
  }

  /** See `Maintenance.prune`. */
  prune(beforeUs: InstantUs): boolean {
    return this.#transact(() => this.#maintenance.prune(beforeUs));
  }

  #count({ added, taken }: LaneChange): void {
    for (const event of taken) {
      this.#totals.take(event);
      this.#carried.take(event);
    }
    for (const event of added) {
      this.#totals.add(event);
      this.#carried.add(event);
      this.#dropCellsOf(event.id);
    }
    this.#totals.store(this.#maintenance.sealedBeforeDay);
  }

  /** The sums of a sealed hour and its month are made anew once an event of them has changed. */
  #dropCellsOf(id: InstantUs): void {
    if (id >= this.#maintenance.sealedBeforeDay * DAY_US) return;
    this.#hours.dropHourOf(id);
    this.#months.dropMonthOf(toDay(id));
  }

  #transact<Result>(step: () => Result): Result {
    this.#database.run("BEGIN IMMEDIATE");
    try {
      this.#refresh();
      const result = step();
      const { sealedBeforeDay, prunedBeforeUs } = this.#maintenance;
      if (this.#saveBounds.run(sealedBeforeDay, prunedBeforeUs, this.#serverRun).changes === 0)
        throw new SupersededError();
      this.#database.run("COMMIT");
      return result;
    } catch (cause) {
      // First, since the ROLLBACK may fail as well.
      this.#isStale = true;
      // A full disk or an I/O error may have rolled back already.
      if (this.#database.inTransaction) this.#database.run("ROLLBACK");
      throw cause;
    }
  }

  /** Memory as of the last commit. */
  #refresh(): void {
    if (!this.#isStale) return;
    this.#rows.clear();
    this.#totals.rollBack();
    this.#hours.rollBack();
    this.#months.rollBack();
    const state = this.#database.query<StateRow, []>("SELECT * FROM ledger_state").get();
    if (state === null) throw new Error("usage.db has no state row");
    this.#maintenance.sealedBeforeDay = state.sealed_before_day;
    this.#maintenance.load(state.pruned_before_us);
    this.#isStale = false;
  }
}
