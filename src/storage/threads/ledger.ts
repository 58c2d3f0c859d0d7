import { basename } from "node:path";
import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { joinNext } from "#kernel/turns.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { withinLimit } from "#kernel/timer.ts";
import type { LimitLedger } from "#limits/limit-sums.ts";
import type { LedgerGauges } from "#usage/gauges.ts";
import type { UsageLedger } from "#usage/store.ts";
import { encodeJournalLine } from "#usage/journal-line.ts";
import { Recorder } from "#usage/recorder.ts";
import type { ServeOptions, Storage } from "#storage/engine.ts";
import { type ServerLock, toLockPath } from "#storage/files/folder-lock.ts";
import { FileWatch, type WatchedFile } from "#storage/files/file-watch.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { JournalBacklog } from "#storage/journal/backlog.ts";
import { Journal } from "#storage/journal/journal.ts";
import {
  ensureJournalFolder,
  isBefore,
  type JournalPosition,
  measureSegments,
  removeUnfinished,
} from "#storage/journal/segments.ts";
import { createRepricingStore } from "./repricing.ts";
import { ReaderClient } from "./reader-client.ts";
import { type Ask, createStats, type RecordedOrder } from "./stats.ts";
import { WriterClient } from "./writer-client.ts";
import { WATERMARKS_MAX } from "./writer-tasks.ts";

/** Maintenance (sealing and retention) runs this often. */
const MAINTENANCE_INTERVAL_MS = 10 * 60 * 1000;
/** The time that a report may take, its wait included: a connection on which nothing moves is closed after 75 s. */
const REPORT_WAIT_MS_MAX = 60_000;
/** A report first waits until requests that have just ended are committed, and no longer than this. */
const READ_FLUSH_WAIT_MS_MAX = 2_000;
/** Closing waits this long for a disk or a lock. The next start replays what is in the journal then. */
const CLOSE_WAIT_MS_MAX = 5_000;
/** Closing waits this long for Workers after that wait was in vain. */
const STOP_WAIT_MS_MAX = 500;
/** A superseded server may still add to its own segment for this long. It knows within half a second. */
const EARLIER_LIVE_MS = 3_000;

export interface LedgerOptions extends Pick<
  ServeOptions,
  "dataDir" | "clock" | "log" | "ledgerSync" | "usageRetentionDays"
> {
  /** Held by the caller until the ledger is closed. */
  readonly lock: ServerLock;
}

/** A server's time with the ledger. Each start has the next number; who finds a higher one than its own writes no more. */
export interface ServerRun {
  readonly number: number;
  /** True: the server before may still be running, since it held its lock on another file, and has not said that it ended. */
  readonly isOvertaking: boolean;
}

/** The engine's own parts of a ledger. */
export interface LedgerParts {
  /** The folder of the segments, made unless it is there. */
  readonly journalDirectory: string;
  /** The Workers find the database by it. */
  readonly place: object;
  readonly writerUrl: URL;
  readonly readerUrl: URL;
  /** The position up to which the journal is in the database. */
  readonly committed: JournalPosition;
  readonly run: ServerRun;
  readonly recorded: RecordedOrder;
  /**
   * Lists the files to look after beside the journal, `lockFile` among them. `restoreDatabase` puts the file of the database
   * back under its name.
   */
  readonly listFiles: (own: {
    readonly lockFile: WatchedFile;
    readonly restoreDatabase: () => Promise<void>;
  }) => readonly WatchedFile[];
}

export interface OpenedLedger
  extends
    Pick<
      Storage,
      | "ledger"
      | "keyUse"
      | "stats"
      | "repricings"
      | "limitLedger"
      | "spendLedger"
      | "start"
      | "maintain"
      | "superseded"
    >,
    Pick<UsageLedger, "close"> {
  gauges(): LedgerGauges;
  /** The age of the oldest line that is not in the database; 0 when there is none. */
  uncommittedMs(): number;
}

/**
 * Puts a ledger together: the journal, which requests are written to, the Worker that brings it into the database, and those
 * that read reports from there. What a killed process left in the journal is replayed in the background; requests that it had
 * under way become events `unreachable` / `interrupted`.
 */
export function openLedger(
  parts: LedgerParts,
  { dataDir, lock, clock, log, ledgerSync, usageRetentionDays }: LedgerOptions,
): OpenedLedger {
  const { journalDirectory, place, committed, recorded, run } = parts;
  const superseded = Promise.withResolvers<void>();
  let isSuperseded = false;
  const standDown = () => {
    if (isSuperseded) return;
    isSuperseded = true;
    log.error("another server has taken over the ledger of this folder: nothing is recorded any more");
    journal.standDown();
    superseded.resolve();
  };
  const inJournal = <Result>(step: () => Result) => withSetupErrors(journalDirectory, step, "journal");
  const found = inJournal(() => {
    ensureJournalFolder(journalDirectory);
    removeUnfinished(journalDirectory);
    return measureSegments(journalDirectory);
  });
  let backlog = new JournalBacklog(found, committed, () => clock.monotonicMs());
  // A segment that was written to may have a torn end: it is never gone on with.
  const firstSegment = Math.max(committed.segment, ...found.keys()) + 1;
  const journal = inJournal(() => new Journal({ directory: journalDirectory, firstSegment, log, onWritten }));
  const writer = new WriterClient({
    workerUrl: parts.writerUrl,
    place,
    start: {
      journalDirectory,
      serverRun: run.number,
      firstSegment,
      earlierLiveMs: run.isOvertaking ? EARLIER_LIVE_MS : 0,
    },
    log,
    onCommit({ position, eventIds }) {
      // The writer of a database that was restored to an older state reads again what the journal keeps.
      if (isBefore(position, backlog.committed))
        backlog = new JournalBacklog(measureSegments(journalDirectory), position, () => clock.monotonicMs());
      backlog.commit(position);
      recorded.add?.(eventIds);
    },
    onEnded: () => recorded.interrupt?.(),
    onSuperseded: standDown,
  });
  function onWritten(segment: number, sizeBytes: number): void {
    backlog.grow(segment, sizeBytes);
    writer.wake();
  }
  const reader = new ReaderClient({
    workerUrl: parts.readerUrl,
    place,
    log,
    waitMsMax: REPORT_WAIT_MS_MAX,
  });
  const lockFile: WatchedFile = {
    name: basename(toLockPath(dataDir)),
    isInPlace: () => lock.isInPlace(),
    restore: () => (lock.lockAgain() ? undefined : standDown()),
  };
  const watch = new FileWatch(
    [
      ...parts.listFiles({ lockFile, restoreDatabase: () => writer.worker.askUntilAnswered("restoreFile") }),
      {
        name: basename(journalDirectory),
        isInPlace: () => journal.isInPlace(),
        restore: () => journal.restoreFile(),
      },
    ],
    log,
  );

  const report: Ask = (name, question, options) =>
    reader.ask(name, question, {
      ...options,
      // Events that are asked for by their ids are committed. Every other report waits shortly for the newest ones.
      ...(name !== "listRecorded" && {
        before: () => isDoneWithin({ work: flush(), waitMsMax: READ_FLUSH_WAIT_MS_MAX, log }),
      }),
    });
  const flush = joinNext(async () => {
    await journal.stored();
    await writer.worker.askUntilAnswered("flush");
  });
  let watermarkCount = 0;
  const sumLimits: LimitLedger["sumLimits"] = (limits, nowUs) => {
    watermarkCount += 1;
    // Watermarks that earlier processes left in the journal have other numbers: each process begins a segment of its own, also
    // on a database that was restored, which counts its runs anew.
    const watermark = firstSegment * WATERMARKS_MAX + watermarkCount;
    const sums = writer.sumLimits({ watermark, question: { limits, nowUs } });
    journal.lines.append(encodeJournalLine({ kind: "watermark", number: watermark }));
    journal.appended();
    void flush();
    return sums;
  };
  const ageUsMax = usageRetentionDays === null ? null : usageRetentionDays * DAY_US;
  const maintain = () => writer.worker.askUntilAnswered("maintain", { nowUs: clock.nowUs(), ageUsMax });
  const maintenance = setInterval(() => void maintain(), MAINTENANCE_INTERVAL_MS);

  const flushAll = async () => {
    await flush();
    await writer.keyUseSaved();
  };
  let closing: Promise<void> | null = null;
  const closeOnce = async () => {
    clearInterval(maintenance);
    watch.stop();
    const flushed =
      !isSuperseded &&
      (writer.worker.wasReady
        ? await isDoneWithin({ work: flushAll(), waitMsMax: CLOSE_WAIT_MS_MAX, log })
        : backlog.bytes === 0);
    if (!flushed) {
      log.warn(
        "usage ledger: closed before everything was committed; the next start goes on from the journal",
        {
          lost_bytes: journal.pendingBytes,
        },
      );
    }
    await isDoneWithin({ work: journal.close(), waitMsMax: CLOSE_WAIT_MS_MAX, log });
    const stopMsMax = flushed ? undefined : STOP_WAIT_MS_MAX;
    await Promise.all([writer.stop(stopMsMax), reader.stop(stopMsMax)]);
  };
  const close = () => (closing ??= closeOnce());

  const uncommittedMs = () => backlog.ageMs;
  const ledger = new Recorder({
    journal,
    sync: ledgerSync,
    uncommittedMs,
    findEvent: (event) => report("findEvent", event),
    flush,
    close,
  });
  return {
    ledger,
    keyUse: {
      async loadLastUsed(ids: readonly string[]): Promise<ReadonlyMap<string, InstantUs>> {
        // The copy comes first: a use that is committed while the reader reads is in one of the two.
        const unsaved = new Map(writer.unsavedKeyUse);
        const merged = new Map(await reader.ask("loadLastUsed", ids));
        for (const id of ids) {
          const atUs = unsaved.get(id);
          if (atUs !== undefined) merged.set(id, Math.max(atUs, merged.get(id) ?? 0));
        }
        return merged;
      },
      saveLastUsed: (id, atUs) => writer.saveKeyUse(id, atUs),
    },
    stats: createStats(report, recorded),
    repricings: createRepricingStore(
      flush,
      (name, question, options) => reader.ask(name, question, options),
      writer,
    ),
    limitLedger: { sumLimits },
    spendLedger: { readHourSpend: (question) => report("readHourSpend", question) },
    gauges: () => ({
      ...writer.gauges(),
      journalPendingBytes: journal.pendingBytes,
      filesLost: watch.lossCount,
      filesMissing: watch.missingCount,
      journalReservedBytes: journal.reservedBytes,
      journalUncommittedBytes: backlog.bytes,
      readerWaiting: reader.waitingCount,
    }),
    uncommittedMs,
    async start() {
      await writer.worker.ready();
      void maintain();
    },
    maintain,
    superseded: superseded.promise,
    close: () => ledger.close(),
  };
}

interface LimitedWait {
  readonly work: Promise<void>;
  readonly waitMsMax: number;
  readonly log: Log;
}

/** False when the work took longer, and when it failed, which is logged here. */
function isDoneWithin({ work, waitMsMax, log }: LimitedWait): Promise<boolean> {
  const done = work.then(
    () => true,
    (cause: unknown) => {
      log.warn("usage ledger: what was recorded could not be committed yet", describeCause(cause));
      return false;
    },
  );
  return withinLimit(done, waitMsMax, () => false);
}
