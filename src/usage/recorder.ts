import type { Settlement, UsageEnding, UsageBeginning } from "./event.ts";
import { ProxyError } from "#kernel/errors.ts";
import { withinLimit } from "#kernel/timer.ts";
import { JournalEncoder } from "./journal-encoder.ts";
import { encodeJournalLine } from "./journal-line.ts";
import type { LineBuffer } from "./line-buffer.ts";
import { type OpenUsage, UnconfirmedUsage, type UsageLedger } from "./store.ts";

/** How long an end waits for the database before it is refused. */
const COMMIT_WAIT_MS_MAX = 10_000;

/**
 * How long a close waits for the ends of requests that have begun. Their callers have left by then, which is noticed within
 * a tenth of a second, and an upstream is read on for under a second after that.
 */
const ENDS_WAIT_MS_MAX = 2_000;

/** Where lines go first: a file that outlives the process. */
export interface UsageJournal {
  /** True when what could not be written has used up its buffer. */
  readonly isFull: boolean;
  /** The stretch of a file that the next lines go to: what numbers mean is spelled out in each anew. */
  readonly stretch: number;
  /** What is to be written next, and what the disk refused. Lines are put behind it. */
  readonly lines: LineBuffer;
  /** Called after each begin or end that was put there: the lines of all that goes on together go to the file in one write. Never throws. */
  appended(): void;
  /** Fulfilled when everything appended so far was handed to the operating system, or waits for a disk that refuses it. */
  written(): Promise<void>;
  /** Fulfilled when everything appended so far would survive a loss of power; rejects with `internal_error`. */
  synced(): Promise<void>;
}

export interface RecorderOptions {
  readonly journal: UsageJournal;
  /**
   * `request`: an end waits until it would survive a loss of power. `interval`: until it survives a kill. `database`: until
   * it would survive the loss of this machine, which takes a database elsewhere.
   */
  readonly sync: "interval" | "request" | "database";
  /** How long the oldest line has been waiting for the database, in milliseconds; asked with `database` alone. */
  readonly uncommittedMs?: () => number;
  /** What is asked of what is committed. */
  readonly findEvent: UsageLedger["findEvent"];
  readonly flush: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * The data plane's side of the ledger: one line before a request goes upstream, one before its response ends; what begins
 * and ends together is written together. Whoever reads the journal makes exactly one event of the
 * pair, also when the process is killed in between. While the disk refuses lines they wait in memory, and `open` refuses new requests when that is full.
 */
export function createRecorder(options: RecorderOptions): UsageLedger {
  const { journal } = options;
  const encoder = new JournalEncoder(journal.lines);
  let lastSequence = 0;
  let openCount = 0;
  const settled = Promise.withResolvers<void>();
  let closing: Promise<void> | null = null;
  let closed = false;

  const refuseFull = () => {
    if (journal.isFull) {
      throw new ProxyError(
        "internal_error",
        "Usage cannot be recorded: the disk refuses writes. Try again later.",
      );
    }
    if (options.sync === "database" && (options.uncommittedMs?.() ?? 0) > COMMIT_WAIT_MS_MAX) {
      throw new ProxyError(
        "internal_error",
        "Usage cannot be recorded: the database does not confirm it. Try again later.",
      );
    }
  };

  /** Fulfilled when what was appended last is as safe as is asked for. */
  const kept = (): Promise<void> => {
    // As long as it takes, up to a limit: the event is in the journal all the same, and is committed later.
    if (options.sync === "database")
      return withinLimit(options.flush(), COMMIT_WAIT_MS_MAX, () => {
        throw new UnconfirmedUsage();
      });
    return options.sync === "request" ? journal.synced() : journal.written();
  };

  const open = (subject: UsageBeginning): OpenUsage => {
    if (closing !== null)
      throw new ProxyError("internal_error", "The server is stopping.", { isLogged: true });
    refuseFull();
    lastSequence += 1;
    openCount += 1;
    const sequence = lastSequence;
    encoder.enter(journal.stretch);
    encoder.begin(sequence, subject);
    journal.appended();
    let ended = false;
    return {
      background(): Promise<void> {
        if (ended || closed) return Promise.resolve();
        encoder.enter(journal.stretch);
        encoder.background(sequence, subject);
        journal.appended();
        return journal.written();
      },
      end(ending: UsageEnding, named?: UsageBeginning): Promise<void> {
        if (ended) throw new Error("a usage event was ended twice");
        if (closed) throw new Error("a usage event was ended after its ledger was closed");
        ended = true;
        encoder.enter(journal.stretch);
        // A second begin under its number takes the place of the first.
        if (named !== undefined) encoder.begin(sequence, named);
        encoder.end(sequence, ending);
        journal.appended();
        openCount -= 1;
        if (closing !== null && openCount === 0) settled.resolve();
        return kept();
      },
    };
  };

  const settle = (settlement: Settlement): Promise<void> => {
    if (closed) throw new ProxyError("internal_error", "The server is stopping.", { isLogged: true });
    refuseFull();
    journal.lines.append(encodeJournalLine({ kind: "settle", settlement }));
    journal.appended();
    return kept();
  };

  const closeOnce = async () => {
    if (openCount > 0) await withinLimit(settled.promise, ENDS_WAIT_MS_MAX, () => undefined);
    closed = true;
    await options.close();
  };

  journal.lines.append(encodeJournalLine({ kind: "run" }));
  journal.appended();
  return {
    open,
    settle,
    findEvent: options.findEvent,
    written: () => journal.written(),
    flush: options.flush,
    close: () => (closing ??= closeOnce()),
  };
}
