import type { InstantUs } from "#kernel/clock.ts";
import { countChanges } from "#storage/cells/counting.ts";
import { readRefusedBefore } from "#storage/cells/retention.ts";
import { type JournalChunk, SegmentReader } from "#storage/journal/segment-reader.ts";
import {
  type JournalPosition,
  KeptSegments,
  isBefore,
  isSame,
  reachesBackTo,
} from "#storage/journal/segments.ts";
import { insert, type Script } from "#storage/sql/script.ts";
import type { Commit } from "#storage/threads/writer-tasks.ts";
import type { Settlement } from "#usage/event.ts";
import { JournalDecoder } from "#usage/journal-decoder.ts";
import { LineCursor } from "#usage/journal-line.ts";
import { type EndedEvent, toEnded } from "./ended-event.ts";
import { Interning } from "./interning.ts";
import { OpenRequests, toCutOff } from "./open-requests.ts";
import { isPending, isUnsettled, settle, storePending, storeSettlements } from "./settlements.ts";
import { PositionMovedError, type WriterEngine } from "./writer-engine.ts";

export type KeyUses = readonly (readonly [keyId: string, atUs: InstantUs])[];

/** Lines that were skipped: counts only, never what they held. */
export interface Damage {
  readonly lines: number;
  readonly tornBytes: number;
}

export interface WriterOptions {
  readonly engine: WriterEngine;
  readonly journalDirectory: string;
  readonly onDamage: (damage: Damage) => void;
  /**
   * Called when all that had ended before a watermark is committed, and nothing that ended behind it: the next batch waits until
   * it is fulfilled, and for nothing else. Called again when it has failed.
   */
  readonly onWatermark?: (watermark: number) => Promise<void>;
  /** Called after each batch, also for one of which it was unclear for a while whether it was committed. */
  readonly onCommit?: (commit: Commit) => void;
  /**
   * The database is older than it was: it was put back. `isKept`: the journal still has all that is missing. Also called at the
   * first look where it has not.
   */
  readonly onSetBack?: (setBack: { readonly isKept: boolean }) => void;
  readonly readBytesMax?: number | undefined;
  /** Tells whether the server before may still add lines to a segment. */
  readonly isLive?: (segment: number) => boolean;
  readonly keptMs?: number;
}

/** A batch whose COMMIT was sent. */
interface Attempt {
  readonly number: number;
  readonly commit: Commit;
  readonly watermark: number | null;
}

/**
 * Turns the lines of a journal into events and totals, each batch in one transaction together with the position it ends at,
 * so that every line counts exactly once whatever happens in between, and none once another server has the journal
 * (`SupersededError`). What had left the position's segment open moves into a table with the same commit. One call at a
 * time. After a failure, which is thrown, the next call begins with what is stored: the batch before, the one that failed,
 * where only the answer to its COMMIT was lost, or an older one, where the database was put back.
 */
export class UsageWriter {
  readonly #options: WriterOptions;
  readonly #engine: WriterEngine;
  readonly #reader: SegmentReader;
  readonly #decoder = new JournalDecoder();
  readonly #interning = new Interning();
  readonly #open: OpenRequests;
  readonly #kept: KeptSegments;
  #position: JournalPosition | null = null;
  #lastBatch = 0;
  /** True while memory may be ahead of the database: after a failure it is read again. */
  #isStale = true;
  #attempt: Attempt | null = null;
  /** True where settlements may be waiting whose events are there, or events whose settlements are. */
  #maySettle = true;
  #isHeldBack = false;
  /** The watermark before which all is committed, and of which `onWatermark` has not been fulfilled. */
  #watermark: number | null = null;

  constructor(options: WriterOptions) {
    const { engine, journalDirectory, readBytesMax, keptMs } = options;
    this.#options = options;
    this.#engine = engine;
    this.#reader = new SegmentReader(journalDirectory, readBytesMax ?? engine.readBytesMax);
    this.#open = new OpenRequests(engine.lane);
    this.#kept = new KeptSegments({
      directory: journalDirectory,
      monotonicMs: () => performance.now(),
      keptMs: keptMs ?? engine.keptMs,
    });
  }

  /** Commits the next lines of the journal, if any; false when its end was reached. */
  async writeBatch(): Promise<boolean> {
    const from = await this.#refresh();
    // Sums at a watermark have what was settled before it.
    await this.#settle();
    await this.#reachWatermark();
    const startedMs = performance.now();
    this.#isHeldBack = this.#options.isLive?.(from.segment) ?? false;
    const chunk = this.#reader.read(from, this.#isHeldBack);
    if (isSame(chunk.next, from)) return false;
    this.#isStale = true;
    const batch = decodeBatch(chunk, { from, decoder: this.#decoder, open: this.#open });
    try {
      if (this.#engine.isShared && this.#interning.hasUnknown(batch.events))
        await this.#engine.transact(() => this.#interning.intern(batch.events));
      await this.#engine.transact(() => this.#store(batch, { from, startedMs }));
    } catch (cause) {
      // Where it is now is read by the next call.
      if (cause instanceof PositionMovedError) return true;
      throw cause;
    }
    this.#isStale = false;
    this.#position = batch.next;
    this.#announce();
    this.#open.forgetChanges();
    if (batch.damage.lines > 0 || batch.damage.tornBytes > 0) this.#options.onDamage(batch.damage);
    if (batch.next.segment !== from.segment) this.trimSegments();
    this.#maySettle ||=
      batch.settlements.length > 0 || batch.events.some(({ manner }) => isUnsettled(manner));
    await this.#settle();
    return batch.hasMore;
  }

  async saveKeyUse(uses: KeyUses): Promise<void> {
    const latest = new Map<string, InstantUs>();
    for (const [keyId, atUs] of uses) latest.set(keyId, Math.max(atUs, latest.get(keyId) ?? 0));
    // In one order: two replicas that used the same keys never wait for each other in a circle.
    const rows = [...latest].toSorted(([one], [other]) => (one < other ? -1 : 1));
    await this.#engine.transact(function* () {
      yield* insert(KEY_USE, rows);
    });
  }

  /** Removes segments that are committed and need not be kept any more. */
  trimSegments(): void {
    if (this.#position !== null) this.#kept.trim(this.#position.segment);
  }

  /** The position up to which the journal is committed, as far as is known; the same object until a batch has moved it. */
  get committed(): JournalPosition | null {
    return this.#position;
  }

  /** Tells whether what follows was left alone by the last look, since the server before may still add to the segment before it. */
  get isHeldBack(): boolean {
    return this.#isHeldBack;
  }

  /** The next batch reads first what is stored. */
  distrust(): void {
    this.#isStale = true;
  }

  close(): void {
    this.#reader.close();
  }

  async #settle(): Promise<void> {
    while (this.#maySettle) {
      this.#isStale = true;
      this.#maySettle = await this.#engine.transact(() => settle(this.#interning));
      this.#isStale = false;
    }
  }

  async #reachWatermark(): Promise<void> {
    if (this.#watermark === null) return;
    this.#isStale = true;
    await this.#options.onWatermark?.(this.#watermark);
    this.#isStale = false;
    this.#watermark = null;
  }

  *#store(
    { events, settlements, watermark, next }: Batch,
    { from, startedMs }: { readonly from: JournalPosition; readonly startedMs: number },
  ): Script<void> {
    const engine = this.#engine;
    const { lane } = engine;
    this.#attempt = null;
    const number = yield* engine.movePosition({
      from,
      to: next,
      lastBatch: this.#lastBatch,
      isRecorded: events.length > 0,
    });
    yield* this.#interning.intern(events);
    if (events.length > 0) {
      const refusedBeforeUs = yield* readRefusedBefore();
      // A pruned row never comes back, also not by a late end; its totals do.
      yield* engine.addRows(
        events.filter((event) => event.arrivedAtUs >= refusedBeforeUs || isPending(event)),
      );
      yield* storePending(lane, events.filter(isPending));
      yield* engine.keepOrder(
        number,
        events.map(({ id }) => id),
      );
    }
    yield* countChanges([{ lane, added: events, taken: [] }]);
    yield* storeSettlements(settlements, { lane, open: this.#open });
    yield* this.#open.store();
    this.#attempt = {
      number,
      commit: {
        position: next,
        eventIds: Float64Array.from(events, ({ id }) => id),
        combinations: this.#interning.labelSetCount,
        durationMs: performance.now() - startedMs,
      },
      watermark,
    };
  }

  #announce(): void {
    const attempt = this.#attempt;
    this.#attempt = null;
    if (attempt === null) return;
    this.#lastBatch = attempt.number;
    this.#options.onCommit?.(attempt.commit);
    this.#watermark = attempt.watermark;
  }

  /** Memory as of the last commit: the stored position and begins, and the begins of its segment up to it. */
  async #refresh(): Promise<JournalPosition> {
    if (!this.#isStale && this.#position !== null) return this.#position;
    this.#interning.clear();
    this.#open.forgetChanges();
    const { stored, begins } = await this.#engine.transact(() => this.#readStored());
    const { position, batch } = stored;
    const attempted = this.#attempt?.commit.position;
    if (attempted !== undefined && isSame(position, attempted)) this.#announce();
    this.#attempt = null;
    const isBack = this.#position !== null && isBefore(position, this.#position);
    // It is come to once more.
    if (isBack) this.#watermark = null;
    const isKept = reachesBackTo(position, this.#options.journalDirectory);
    // Where no segments are kept the journal of a restored database is never whole.
    const isTold = this.#engine.keptMs > 0 && (isBack || (this.#position === null && !isKept));
    if (isTold) this.#options.onSetBack?.({ isKept });
    const isWhole = this.#open.reload(begins, { reader: this.#reader, decoder: this.#decoder, position });
    if (!isWhole) await this.#engine.transact(() => this.#open.endRecorded());
    this.#position = position;
    this.#lastBatch = Math.max(this.#lastBatch, batch);
    this.#maySettle = true;
    this.#isStale = false;
    return position;
  }

  *#readStored() {
    const stored = yield* this.#engine.readPosition();
    yield* this.#interning.countLabelSets();
    return { stored, begins: yield* this.#open.readStored() };
  }
}

const KEY_USE = {
  table: "key_use",
  columns: [
    ["key_id", "text"],
    ["last_used_us", "bigint"],
  ],
  ending: `ON CONFLICT (key_id) DO UPDATE SET last_used_us = CASE WHEN key_use.last_used_us < excluded.last_used_us
    THEN excluded.last_used_us ELSE key_use.last_used_us END`,
} as const;

/** The meaning of the lines of one read, up to its end or to the first watermark. */
interface Batch {
  /** In the order in which they ended. */
  readonly events: readonly EndedEvent[];
  readonly settlements: readonly Settlement[];
  readonly watermark: number | null;
  readonly next: JournalPosition;
  readonly hasMore: boolean;
  readonly damage: Damage;
}

/** Reads the lines from a position on, and takes begins and ends into `open`. */
function decodeBatch(
  chunk: JournalChunk,
  {
    from,
    decoder,
    open,
  }: { readonly from: JournalPosition; readonly decoder: JournalDecoder; readonly open: OpenRequests },
): Batch {
  if (from.offsetBytes === 0) decoder.startSegment();
  const events: EndedEvent[] = [];
  const settlements: Settlement[] = [];
  let damagedLines = 0;
  const line = new LineCursor(chunk.lines);
  while (line.next()) {
    const entry = decoder.decode(line);
    if (entry === null) {
      damagedLines += 1;
    } else if (entry.kind === "run") {
      // A new process began: what is open was cut off with the one before.
      for (const begun of open.takeAll()) {
        const { ending, manner } = toCutOff(begun);
        events.push(toEnded(begun, ending, manner));
      }
    } else if (entry.kind === "watermark") {
      // The lines behind it belong to the next transaction.
      const next = { segment: from.segment, offsetBytes: from.offsetBytes + line.end + 1 };
      const damage = { lines: damagedLines, tornBytes: 0 };
      return { events, settlements, watermark: entry.number, next, hasMore: true, damage };
    } else if (entry.kind === "begin") {
      open.begin(entry.sequence, entry);
    } else if (entry.kind === "end") {
      const begun = open.end(entry.sequence);
      if (begun === null) damagedLines += 1;
      else events.push(toEnded(begun, entry, entry.manner));
    } else if (entry.kind === "settle") {
      settlements.push(entry.settlement);
    }
  }
  if (chunk.next.segment !== from.segment) open.leaveSegment();
  const damage = { lines: damagedLines, tornBytes: chunk.tornBytes };
  return { events, settlements, watermark: null, next: chunk.next, hasMore: chunk.hasMore, damage };
}
