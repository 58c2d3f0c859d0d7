import type { Database, Statement } from "bun:sqlite";
import { rmSync } from "node:fs";
import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import type { Settlement } from "#usage/event.ts";
import { type UsageFigures, type UsageManner, LineCursor } from "#usage/journal-line.ts";
import type { Begun, DecodedLine } from "#usage/journal-decoder.ts";
import { JournalDecoder } from "#usage/journal-decoder.ts";
import { CarriedTotals } from "./carried-totals.ts";
import { EarlySettlements } from "./early-settlements.ts";
import { EventRows, PendingEvents } from "./event-rows.ts";
import { Interning } from "./interning.ts";
import type { Retention } from "#storage/threads/writer-tasks.ts";
import { endServerRun, readServerRun, SupersededError } from "#storage/sqlite/ledger/file/server-run.ts";
import { Maintenance } from "./maintenance.ts";
import { OpenRequests, toCutOff } from "#storage/journal/open-requests.ts";
import { readBegins, storeBegins } from "./open-requests.ts";
import { isSame, type JournalPosition, listSegments, segmentPath } from "#storage/journal/segments.ts";
import { SegmentReader } from "#storage/journal/segment-reader.ts";
import { splitCost, toAmounts } from "#storage/cells/sums.ts";
import { toDay } from "#storage/cells/calendar.ts";
import {
  type EventRow,
  toAddedEvent,
  toLooks,
  toLooksSql,
  toSettled,
  toTakenEvent,
} from "#storage/writer/unsettled-events.ts";
import { SQLITE } from "#storage/sql/dialect.ts";
import { SealedHours } from "./sealed-hours.ts";
import { SealedMonths } from "./sealed-months.ts";
import { Totals } from "./totals.ts";
import type { WriterOptions } from "./writer-options.ts";

/**
 * Turns journal lines into events and totals, each batch in one transaction together with the position it ends at, so that
 * every line counts exactly once whatever happens in between, and none once another server has begun its run
 * (`SupersededError`). A segment is removed when the position has left it; begins
 * of it that are still open move into a table with the same commit. Synchronous; a failure of SQLite leaves everything as
 * it was before the call and is thrown.
 */
export class UsageWriter {
  readonly #options: WriterOptions;
  readonly #database: Database;
  readonly #reader: SegmentReader;
  readonly #decoder = new JournalDecoder();
  readonly #interning: Interning;
  readonly #totals: Totals;
  readonly #carried: CarriedTotals;
  readonly #open: OpenRequests;
  readonly #rows: EventRows;
  readonly #pending: PendingEvents;
  readonly #early: EarlySettlements;
  readonly #look: Statement<EventRow, [string]>;
  readonly #hours: SealedHours;
  readonly #months: SealedMonths;
  readonly #maintenance: Maintenance;
  readonly #saveState: Statement<unknown, number[]>;
  readonly #serverRun: number;
  #position: JournalPosition = { segment: 0, offsetBytes: 0 };
  /** Set when a transaction failed: memory may be ahead of the file. */
  #isStale = true;
  /** Events of the current batch, or of the last one, in the order in which they ended. */
  #eventIds: InstantUs[] = [];

  constructor(options: WriterOptions) {
    const { database } = options;
    this.#options = options;
    this.#database = database;
    this.#reader = new SegmentReader(options.journalDirectory, options.readBytesMax);
    this.#interning = new Interning(database);
    this.#totals = new Totals(database, options.dimensionLimits);
    this.#carried = new CarriedTotals(database);
    this.#open = new OpenRequests(storeBegins(database));
    this.#rows = new EventRows(database);
    this.#pending = new PendingEvents(database);
    this.#early = new EarlySettlements(database);
    this.#look = database.prepare(toLooksSql(SQLITE));
    this.#hours = new SealedHours(database);
    this.#months = new SealedMonths(database);
    this.#maintenance = new Maintenance(database, {
      totals: this.#totals,
      hours: this.#hours,
      months: this.#months,
    });
    this.#saveState = database.prepare(
      "UPDATE ledger_state SET journal_segment = ?, journal_offset = ?, sealed_before_day = ?, pruned_before_us = ? WHERE (SELECT number FROM server_run) = ?",
    );
    this.#serverRun = options.serverRun ?? readServerRun(database);
  }

  /** Commits the next lines of the journal, if any; false when its end was reached. */
  writeBatch(): boolean {
    this.#refresh();
    const startedMs = performance.now();
    const chunk = this.#reader.read(this.#position, this.#options.isLive?.(this.#position.segment));
    const { next } = chunk;
    if (isSame(next, this.#position)) return false;
    const left = this.#position.segment;
    if (this.#position.offsetBytes === 0) this.#decoder.startSegment();
    let damagedLines = 0;
    this.#transact(() => {
      this.#eventIds = [];
      const line = new LineCursor(chunk.lines);
      while (line.next()) {
        const entry = this.#decoder.decode(line);
        if (entry === null || !this.#apply(entry)) damagedLines += 1;
      }
      this.#totals.store(this.#maintenance.sealedBeforeDay);
      if (next.segment !== left) this.#open.storeAll();
      this.#position = next;
    });
    if (damagedLines > 0 || chunk.tornBytes > 0) {
      this.#options.onDamage({ lines: damagedLines, tornBytes: chunk.tornBytes });
    }
    if (next.segment !== left) this.#removeSegments();
    this.#options.onCommit?.({
      position: next,
      eventIds: Float64Array.from(this.#eventIds),
      combinations: this.#interning.combinationCount(),
      durationMs: performance.now() - startedMs,
    });
    return chunk.hasMore;
  }

  /** See `Maintenance.seal`. */
  seal(beforeDay: number): boolean {
    this.#refresh();
    return this.#transact(() => this.#maintenance.seal(beforeDay));
  }

  /** See `Maintenance.boundRetention`: once per look, before the first `prune`. */
  boundRetention(retention: Retention): InstantUs {
    this.#refresh();
    return this.#transact(() => this.#maintenance.boundRetention(retention));
  }

  /** See `Maintenance.prune`. */
  prune(beforeUs: InstantUs): boolean {
    this.#refresh();
    return this.#transact(() => this.#maintenance.prune(beforeUs));
  }

  saveKeyUse(uses: readonly (readonly [keyId: string, atUs: InstantUs])[]): void {
    this.#refresh();
    this.#transact(() => {
      const save = this.#database.query<unknown, [string, number]>(
        `INSERT INTO key_use (key_id, last_used_us) VALUES (?, ?)
         ON CONFLICT (key_id) DO UPDATE SET last_used_us = max(last_used_us, excluded.last_used_us)`,
      );
      for (const [keyId, atUs] of uses) save.run(keyId, atUs);
    });
  }

  /** Says that its server writes no more. */
  endRun(): void {
    endServerRun(this.#database, this.#serverRun);
  }

  close(): void {
    this.#reader.close();
    this.#database.close();
  }

  #apply(entry: DecodedLine): boolean {
    if (entry.kind === "run") {
      // A new process began: what is open was cut off with the one before.
      for (const begun of this.#open.takeAll()) {
        const { ending, manner } = toCutOff(begun);
        this.#add(begun, ending, manner);
      }
    } else if (entry.kind === "mark") {
      this.#totals.store(this.#maintenance.sealedBeforeDay);
      this.#options.onMark?.(entry.number);
    } else if (entry.kind === "begin") {
      this.#open.begin(entry.sequence, entry.begun);
    } else if (entry.kind === "end") {
      const begun = this.#open.end(entry.sequence);
      if (begun === null) return false;
      this.#add(begun, entry.ending, entry.manner);
    } else if (entry.kind === "settle") {
      this.#settle(entry.settlement);
    }
    return true;
  }

  #add(begun: Begun, ending: UsageFigures, manner: UsageManner): void {
    const combination = this.#interning.combination(begun.dimensions, manner);
    const result = this.#interning.result(manner);
    const cost = splitCost(ending.costPico);
    const amounts = toAmounts(ending.usage);
    const { arrivedAtUs } = begun;
    const isPending = manner.shape === "pending";
    // What was pruned never comes back, also not by a late end; its totals do.
    const id =
      this.#maintenance.isRefused(arrivedAtUs) && !isPending
        ? arrivedAtUs
        : this.#rows.add({
            arrivedAtUs,
            ending,
            combination,
            cost,
            manner: this.#interning.manner(manner, begun.streamed),
          });
    if (isPending) this.#pending.add(id, combination);
    this.#dropCellsOf(id);
    const event = { id, combination, result, cost, ending, amounts };
    this.#totals.add(event);
    this.#carried.add(event);
    this.#eventIds.push(id);
    const early = this.#early.take(arrivedAtUs);
    if (early !== null) this.#settle(early);
  }

  /** An event that is settled already stays as it is; one whose request is still open is settled when that ends. */
  #settle(settlement: Settlement): void {
    const { event } = settlement;
    const [found] = toLooks(this.#look.all(JSON.stringify([event.eventId])), [event]);
    if (found === undefined && this.#open.has(event.eventId)) this.#early.keep(settlement);
    const unsettled = found?.unsettled ?? null;
    if (unsettled === null) return;
    const { dimensions, origin, streamed } = unsettled;
    const { ending, manner } = toSettled(unsettled, settlement);
    const combination = this.#interning.combination(dimensions, manner);
    const ids = { combination, result: this.#interning.result(manner) };
    const [taken, added] = [toTakenEvent(unsettled), toAddedEvent(unsettled, ending, ids)];
    const { cost } = added;
    this.#rows.replace(origin.eventId, {
      ending,
      combination,
      cost,
      manner: this.#interning.manner(manner, streamed),
    });
    this.#pending.drop(origin.eventId);
    this.#dropCellsOf(origin.eventId);
    this.#totals.take(taken);
    this.#totals.add(added);
    this.#carried.take(taken);
    this.#carried.add(added);
  }

  /** The sums of a sealed hour and its month are made anew once an event of them has changed. */
  #dropCellsOf(id: InstantUs): void {
    if (id >= this.#maintenance.sealedBeforeDay * DAY_US) return;
    this.#hours.dropHourOf(id);
    this.#months.dropMonthOf(toDay(id));
  }

  #removeSegments(): void {
    const { segment } = this.#position;
    for (const old of listSegments(this.#options.journalDirectory)) {
      if (old < segment) rmSync(segmentPath(this.#options.journalDirectory, old), { force: true });
    }
  }

  #transact<Result>(step: () => Result): Result {
    // Fails at once when another process holds the lock; nothing has changed then.
    this.#database.run("BEGIN IMMEDIATE");
    try {
      const result = step();
      const { segment, offsetBytes } = this.#position;
      const { sealedBeforeDay, prunedBeforeUs } = this.#maintenance;
      const state = [segment, offsetBytes, sealedBeforeDay, prunedBeforeUs, this.#serverRun];
      if (this.#saveState.run(...state).changes === 0) throw new SupersededError();
      this.#database.run("COMMIT");
      return result;
    } catch (cause) {
      // First, since the ROLLBACK may fail as well: a position ahead of the file would skip lines for good.
      this.#isStale = true;
      // A full disk or an I/O error may have rolled back already.
      if (this.#database.inTransaction) this.#database.run("ROLLBACK");
      throw cause;
    }
  }

  /** Memory as of the last commit: the state row, the stored begins, and those of the current segment up to the position. */
  #refresh(): void {
    if (!this.#isStale) return;
    this.#interning.clear();
    this.#totals.rollBack();
    this.#hours.rollBack();
    this.#months.rollBack();
    this.#rows.clear();
    this.#early.reload();
    const state = this.#database.query<StateRow, []>("SELECT * FROM ledger_state").get();
    if (state === null) throw new Error("usage.db has no state row");
    this.#position = { segment: state.journal_segment, offsetBytes: state.journal_offset };
    this.#maintenance.sealedBeforeDay = state.sealed_before_day;
    this.#maintenance.load(state.pruned_before_us);
    this.#open.reload(readBegins(this.#database), {
      reader: this.#reader,
      decoder: this.#decoder,
      position: this.#position,
    });
    this.#isStale = false;
  }
}

interface StateRow {
  readonly journal_segment: number;
  readonly journal_offset: number;
  readonly sealed_before_day: number;
  readonly pruned_before_us: number;
}
