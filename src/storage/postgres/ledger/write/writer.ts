import { KeptSegments } from "#storage/journal/kept-segments.ts";
import { OpenRequests, toCutOff } from "#storage/journal/open-requests.ts";
import { type JournalChunk, SegmentReader } from "#storage/journal/segment-reader.ts";
import { isBefore, isSame, type JournalPosition, reachesBackTo } from "#storage/journal/segments.ts";
import { isUnsettled } from "#storage/writer/unsettled-events.ts";
import type { Commit } from "#storage/threads/writer-tasks.ts";
import { STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import { DatabaseUnreachableError } from "#storage/postgres/connection/errors.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { JournalDecoder } from "#usage/journal-decoder.ts";
import { LineCursor } from "#usage/journal-line.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { Settlement } from "#usage/event.ts";
import { storeEvents } from "./events.ts";
import { EventRows } from "./event-rows.ts";
import { type EndedEvent, toEnded } from "./ended-event.ts";
import { Interning } from "./interning.ts";
import { endRecorded, readBegins, StoredBeginChanges } from "./open-requests.ts";
import { moveSpool, PositionMovedError, readSpool, type SpoolClaim } from "./spool.ts";
import { applySettlements, storeSettlements } from "./settlements.ts";
import type { WriterOptions } from "./writer-options.ts";

/** Lines of one read, up to its end or to the first mark. */
interface Batch {
  readonly events: readonly EndedEvent[];
  readonly settlements: readonly Settlement[];
  readonly mark: number | null;
  readonly next: JournalPosition;
  readonly hasMore: boolean;
  readonly damage: { readonly lines: number; readonly tornBytes: number };
}

/** A batch whose COMMIT was sent. */
interface Attempt {
  readonly number: number;
  readonly commit: Commit;
  readonly mark: number | null;
}

/**
 * At most one transaction's worth of lines: some 8,000 events. Twice what usage.db takes at once, since each total is sent and
 * added to once a batch, however many events it has.
 */
const READ_BYTES_MAX = 512 * 1024;

/**
 * Turns the journal lines of a spool into events and totals, each batch in one transaction together with the position it
 * ends at, so that every line counts exactly once whatever happens in between, and none once another run of the spool has
 * begun (`SupersededError`). What had left the position's segment open moves into a table with the same commit. One call at a
 * time. After a failure, which is thrown, the next call begins with what is stored: the batch before, the one that failed,
 * where only the answer to its COMMIT was lost, or an older one, where the database was put back.
 */
export class UsageWriter {
  readonly #options: WriterOptions;
  readonly #postgres: Postgres;
  readonly #claim: SpoolClaim;
  readonly #reader: SegmentReader;
  readonly #decoder = new JournalDecoder();
  readonly #interning: Interning;
  readonly #begins = new StoredBeginChanges();
  readonly #open = new OpenRequests(this.#begins);
  readonly #rows: EventRows;
  readonly #kept: KeptSegments;
  #position: JournalPosition | null = null;
  #lastBatch = 0;
  /** Set when a transaction failed: memory may be ahead of the database. */
  #isStale = true;
  #attempt: Attempt | null = null;
  /** Whether settlements may be waiting whose events are there, or events whose settlements are. */
  #maySettle = true;
  /** What stands before it is committed, and `onMark` has not been fulfilled. */
  #mark: number | null = null;

  constructor(options: WriterOptions) {
    const { postgres, claim, journalDirectory } = options;
    this.#options = options;
    this.#postgres = postgres;
    this.#claim = claim;
    this.#reader = new SegmentReader(journalDirectory, options.readBytesMax ?? READ_BYTES_MAX);
    this.#interning = new Interning(postgres);
    this.#rows = new EventRows(claim.lane);
    this.#kept = new KeptSegments({
      directory: journalDirectory,
      monotonicMs: () => performance.now(),
      ...options.keptSegments,
    });
  }

  /** Commits the next lines of the journal, if any; false when its end was reached. */
  async writeBatch(): Promise<boolean> {
    const from = await this.#refresh();
    // Sums at a mark have what was settled before it.
    await this.#settle();
    await this.#reachMark();
    const startedMs = performance.now();
    const chunk = this.#reader.read(from, this.#options.isLive?.(from.segment));
    if (isSame(chunk.next, from)) return false;
    try {
      const batch = this.#decode(chunk, from);
      const unknown = batch.events.filter((event) => !this.#interning.find(event));
      if (unknown.length > 0) await this.#interning.intern(unknown);
      await this.#postgres.transaction((tx) => this.#store(tx, { batch, from, startedMs }), {
        callMsMax: STATEMENT_MS_MAX.batch,
      });
      this.#position = batch.next;
      this.#announce();
      this.#begins.clear();
      if (batch.damage.lines > 0 || batch.damage.tornBytes > 0) this.#options.onDamage(batch.damage);
      if (batch.next.segment !== from.segment) this.trimSegments();
      this.#maySettle ||=
        batch.settlements.length > 0 || batch.events.some(({ manner }) => isUnsettled(manner));
      await this.#settle();
      return batch.hasMore;
    } catch (cause) {
      this.#isStale = true;
      if (!(cause instanceof DatabaseUnreachableError && cause.mayBeCommitted)) this.#attempt = null;
      // Where it is now is read by the next call.
      if (cause instanceof PositionMovedError) return true;
      throw cause;
    }
  }

  async saveKeyUse(uses: readonly (readonly [keyId: string, atUs: InstantUs])[]): Promise<void> {
    await this.#postgres.run(
      `INSERT INTO key_use (key_id, last_used_us)
       SELECT key_id, max(at_us) FROM unnest($1::text[], $2::bigint[]) AS given(key_id, at_us) GROUP BY key_id ORDER BY key_id
       ON CONFLICT (key_id) DO UPDATE SET last_used_us = greatest(key_use.last_used_us, excluded.last_used_us)`,
      [uses.map(([keyId]) => keyId), uses.map(([, atUs]) => atUs)],
    );
  }

  /** Removes segments that are committed and need not be kept any more. */
  trimSegments(): void {
    if (this.#position !== null) this.#kept.trim(this.#position.segment);
  }

  /** How far the journal is committed, as far as is known; the same object until a batch has moved it. */
  get committed(): JournalPosition | null {
    return this.#position;
  }

  /** The next batch reads first what is stored. */
  distrust(): void {
    this.#isStale = true;
  }

  close(): void {
    this.#reader.close();
  }

  async #settle(): Promise<void> {
    const { dimensionLimits } = this.#options;
    while (this.#maySettle)
      this.#maySettle = await applySettlements(this.#postgres, {
        interning: this.#interning,
        dimensionLimits,
      });
  }

  #decode(chunk: JournalChunk, from: JournalPosition): Batch {
    if (from.offsetBytes === 0) this.#decoder.startSegment();
    const events: EndedEvent[] = [];
    const settlements: Settlement[] = [];
    let damaged = 0;
    const line = new LineCursor(chunk.lines);
    while (line.next()) {
      const entry = this.#decoder.decode(line);
      if (entry === null) {
        damaged += 1;
      } else if (entry.kind === "run") {
        // A new process began: what is open was cut off with the one before.
        for (const begun of this.#open.takeAll()) {
          const { ending, manner } = toCutOff(begun);
          events.push(toEnded(begun, ending, manner));
        }
      } else if (entry.kind === "mark") {
        // What follows belongs to the next transaction.
        const next = { segment: from.segment, offsetBytes: from.offsetBytes + line.end + 1 };
        const damage = { lines: damaged, tornBytes: 0 };
        return { events, settlements, mark: entry.number, next, hasMore: true, damage };
      } else if (entry.kind === "begin") {
        this.#open.begin(entry.sequence, entry.begun);
      } else if (entry.kind === "end") {
        const begun = this.#open.end(entry.sequence);
        if (begun === null) damaged += 1;
        else events.push(toEnded(begun, entry.ending, entry.manner));
      } else if (entry.kind === "settle") {
        settlements.push(entry.settlement);
      }
    }
    if (chunk.next.segment !== from.segment) this.#open.storeAll();
    const damage = { lines: damaged, tornBytes: chunk.tornBytes };
    return { events, settlements, mark: null, next: chunk.next, hasMore: chunk.hasMore, damage };
  }

  async #store(
    tx: Transaction,
    {
      batch,
      from,
      startedMs,
    }: { readonly batch: Batch; readonly from: JournalPosition; readonly startedMs: number },
  ): Promise<void> {
    const { events, settlements, mark, next } = batch;
    this.#attempt = null;
    const number = await moveSpool(tx, this.#claim, {
      from,
      to: next,
      lastBatch: this.#lastBatch,
      isRecorded: events.length > 0,
    });
    if (events.length > 0) {
      const { dimensionLimits } = this.#options;
      await storeEvents(tx, events, { lane: this.#claim.lane, number, rows: this.#rows, dimensionLimits });
    }
    await storeSettlements(tx, settlements);
    await this.#begins.store(tx, this.#claim.lane);
    this.#attempt = {
      number,
      commit: {
        position: next,
        eventIds: Float64Array.from(events, ({ id }) => id),
        combinations: this.#interning.combinationCount,
        durationMs: performance.now() - startedMs,
      },
      mark,
    };
  }

  #announce(): void {
    const attempt = this.#attempt;
    this.#attempt = null;
    if (attempt === null) return;
    this.#lastBatch = attempt.number;
    this.#options.onCommit?.(attempt.commit);
    this.#mark = attempt.mark;
  }

  async #reachMark(): Promise<void> {
    if (this.#mark === null) return;
    try {
      await this.#options.onMark?.(this.#mark);
      this.#mark = null;
    } catch (cause) {
      this.#isStale = true;
      throw cause;
    }
  }

  /** Memory as of the last commit: the spool's row, the stored begins, and those of the current segment up to the position. */
  async #refresh(): Promise<JournalPosition> {
    if (!this.#isStale && this.#position !== null) return this.#position;
    const { position, batch } = await readSpool(this.#postgres, this.#claim);
    const lines = await readBegins(this.#postgres, this.#claim.lane);
    this.#interning.clear();
    this.#rows.clear();
    this.#begins.clear();
    const attempted = this.#attempt?.commit.position;
    if (attempted !== undefined && isSame(position, attempted)) this.#announce();
    this.#attempt = null;
    const isBack = this.#position !== null && isBefore(position, this.#position);
    // It is come to once more.
    if (isBack) this.#mark = null;
    const isKept = reachesBackTo(position, this.#options.journalDirectory);
    if (isBack || (this.#position === null && !isKept)) this.#options.onSetBack?.({ isKept });
    const isWhole = this.#open.reload(lines, { reader: this.#reader, decoder: this.#decoder, position });
    if (!isWhole) await endRecorded(this.#postgres, this.#claim.lane, this.#open);
    this.#position = position;
    this.#lastBatch = Math.max(this.#lastBatch, batch);
    this.#maySettle = true;
    this.#isStale = false;
    return position;
  }
}
