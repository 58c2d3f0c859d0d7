import { basename } from "node:path";
import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { joinNext } from "#kernel/join-next.ts";
import type { LimitLedger } from "#limits/limit-sums.ts";
import { encodeJournalLine } from "#usage/journal-line.ts";
import { createRecorder } from "#usage/recorder.ts";
import { FileWatch } from "#storage/files/file-watch.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { JournalBacklog } from "#storage/journal/backlog.ts";
import { Journal } from "#storage/journal/journal.ts";
import {
  ensureJournalFolder,
  isBefore,
  measureSegments,
  removeUnfinished,
} from "#storage/journal/segments.ts";
import type { LedgerOptions, LedgerParts, OpenedLedger } from "./ledger-parts.ts";
import { isDoneWithin } from "./limited-wait.ts";
import { ReaderClient } from "./reader-client.ts";
import { type Ask, createStats } from "./readings.ts";
import { WriterClient } from "./writer-client.ts";
import { MARKS_MAX } from "./writer-tasks.ts";
import { toSealBeforeDay } from "#storage/cells/calendar.ts";

/** Sealing and retention are looked at this often. */
const MAINTENANCE_INTERVAL_MS = 10 * 60 * 1000;
/** How long a report may take, its wait included: a connection on which nothing moves is closed after 75 s. */
const REPORT_WAIT_MS_MAX = 60_000;
/** Reports first wait for what has just ended; not longer than this when the writer cannot commit. */
const READ_FLUSH_WAIT_MS_MAX = 500;
/** How long closing waits for a disk or a lock; what is in the journal then is replayed at the next start. */
const CLOSE_WAIT_MS_MAX = 5_000;
/** How long closing waits for Workers whose disk, lock or server has just been waited for in vain. */
const STOP_WAIT_MS_MAX = 500;
/** How long a server that another one has superseded may still add to its own segment: it knows within half a second. */
const EARLIER_LIVE_MS = 3_000;

/**
 * Puts a ledger together: the journal, which requests are written to, the Worker that brings it into the database, and those
 * that read reports from there. What a killed process left in the journal is replayed in the background. The caller releases
 * the data folder when this throws.
 */
export async function openLedgerOf<Place extends object>(
  parts: LedgerParts<Place>,
  options: LedgerOptions,
): Promise<OpenedLedger> {
  const { journalDirectory, place, committed, recorded, run } = parts;
  const { clock, log } = options;
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
  // Never one that was written to: its end may be torn.
  const firstSegment = Math.max(committed.segment, ...found.keys()) + 1;
  const journal = inJournal(() => new Journal({ directory: journalDirectory, firstSegment, log, onWritten }));
  const writer = new WriterClient<Place>({
    workerUrl: parts.writerUrl,
    start: {
      ...place,
      journalDirectory,
      serverRun: run.number,
      firstSegment,
      earlierLiveMs: run.isOvertaking ? EARLIER_LIVE_MS : 0,
    },
    log,
    onCommit({ position, eventIds }) {
      // A database that was put back to an older state reads again what is kept.
      if (isBefore(position, backlog.committed))
        backlog = new JournalBacklog(measureSegments(journalDirectory), position, () => clock.monotonicMs());
      backlog.commit(position);
      recorded.add(eventIds);
    },
    onEnded: () => recorded.interrupt(),
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
  const watch = new FileWatch(
    [
      ...parts.watch({ putBack: () => writer.putBack(), standDown }),
      {
        name: basename(journalDirectory),
        isInPlace: () => journal.isInPlace(),
        putBack: () => journal.restoreFile(),
      },
      ...(options.watched ?? []),
    ],
    log,
  );

  const report: Ask = (name, question, asking) =>
    reader.ask(name, question, {
      ...asking,
      // What is asked for by its id is committed. All else is answered in any case, if need be with what is committed.
      ...(name !== "listRecorded" && {
        before: () => isDoneWithin({ work: flush(), waitMsMax: READ_FLUSH_WAIT_MS_MAX, log }),
      }),
    });
  const flush = joinNext(async () => {
    await journal.stored();
    await writer.flush();
  });
  let markCount = 0;
  const sumLimits: LimitLedger["sumLimits"] = (limits, nowUs) => {
    markCount += 1;
    // Differs from those that processes before have left in the journal.
    const mark = run.number * MARKS_MAX + markCount;
    const sums = writer.sumLimits({ mark, question: { limits, nowUs } });
    journal.lines.append(encodeJournalLine({ kind: "mark", number: mark }));
    journal.appended();
    void flush();
    return sums;
  };
  const maintain = () => {
    const nowUs = clock.nowUs();
    const days = options.retentionDays;
    return writer.maintain({
      sealBeforeDay: toSealBeforeDay(nowUs),
      retention: { nowUs, ageUsMax: days === null ? null : days * DAY_US },
    });
  };
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
      writer.isRunning &&
      (await isDoneWithin({ work: flushAll(), waitMsMax: CLOSE_WAIT_MS_MAX, log }));
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
    await parts.release();
  };
  const close = () => (closing ??= closeOnce());

  const uncommittedMs = () => backlog.ageMs;
  const ledger = createRecorder({
    journal,
    sync: options.sync,
    uncommittedMs,
    findEvent: (event) => report("findEvent", event),
    flush,
    close,
  });
  try {
    await writer.ready();
  } catch (cause) {
    await ledger.close();
    throw cause;
  }
  void maintain();
  return {
    ledger,
    keyUse: {
      async loadLastUsed(ids: readonly string[]): Promise<ReadonlyMap<string, InstantUs>> {
        // Taken first: what is committed while the reader reads is in one of the two.
        const unsaved = writer.findUnsavedKeyUse(ids);
        const merged = new Map(await reader.ask("loadLastUsed", ids));
        for (const [id, atUs] of unsaved) merged.set(id, Math.max(atUs, merged.get(id) ?? 0));
        return merged;
      },
      saveLastUsed: (id, atUs) => writer.saveKeyUse(id, atUs),
    },
    stats: createStats(report, recorded),
    limitLedger: { sumLimits },
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
    maintain,
    superseded: superseded.promise,
    close: () => ledger.close(),
  };
}
