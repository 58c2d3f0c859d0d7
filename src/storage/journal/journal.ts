import { describeCause, type LogFields } from "#kernel/log.ts";
import { LineBuffer } from "#usage/plain-line.ts";
import type { UsageJournal } from "#usage/recorder.ts";
import { CurrentSegment, type CurrentSegmentOptions } from "./current-segment.ts";
import { JournalSync } from "./journal-sync.ts";

/** One write takes at most so many begins and ends, which bounds the requests that go upstream at one moment. The next line begins another turn. */
const TURN_APPENDS_MAX = 64;
/** Lines grow with the path of a request, 16 KiB at most. */
const TURN_BYTES_MAX = 64 * 1024;
const RETRY_INTERVAL_MS = 100;

export interface JournalOptions extends Omit<CurrentSegmentOptions, "onRetired"> {
  /** Called after each write that reached the file, with the segment it is in and its size. */
  readonly onWritten: (segment: number, sizeBytes: number) => void;
}

/** The lines that were appended since the last write. Its promises are made for the first that asks. */
interface Turn {
  appendedCount: number;
  written: PromiseWithResolvers<void> | null;
  synced: Promise<void> | null;
}

const HANDED_OVER = Promise.resolve();

/**
 * The append side of the journal, on the data plane's thread. The lines of requests that take a step together
 * (`kernel/turns`) go to the file in one synchronous write, to room that is reserved ahead of them. While a disk has no more
 * to reserve, new requests are refused before what is under way needs the rest. Lines that it does not take in spite of that
 * wait in order and are retried, so that the file is always a prefix of what was appended. No new segment begins while
 * something waits: lines go to the segment that was named when they were appended.
 */
export class Journal implements UsageJournal {
  readonly #options: JournalOptions;
  readonly #sync: JournalSync;
  readonly #segment: CurrentSegment;
  readonly lines = new LineBuffer(TURN_BYTES_MAX * 2);
  #turn: Turn | null = null;
  #failure: LogFields = {};
  /** Runs as long as the disk refuses lines. */
  #retryTimer: ReturnType<typeof setTimeout> | null = null;
  #storedWaiters: (() => void)[] = [];
  #isSuperseded = false;
  #closing: Promise<void> | null = null;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#segment = new CurrentSegment({ ...options, onRetired: (file) => this.#sync.retire(file) });
    this.#sync = new JournalSync({
      directory: options.directory,
      log: options.log,
      findFile: () => this.#segment.file,
      hasPending: () => this.lines.sizeBytes > 0,
      // A later success would not prove anything about these pages (the kernel may have dropped them), so a new file follows.
      onRefused: () => {
        if (this.#retryTimer === null && this.#flush()) this.#segment.rotate();
      },
    });
  }

  /** True while a request that began now might end without a place on the disk for its lines. */
  get isFull(): boolean {
    if (this.#isSuperseded || this.#retryTimer !== null) return true;
    return this.#segment.isShort();
  }

  /** Lines that wait in memory because the disk refuses them. */
  get pendingBytes(): number {
    return this.#retryTimer === null ? 0 : this.lines.sizeBytes;
  }

  /** Room that the disk has promised. */
  get reservedBytes(): number {
    return this.#segment.file.reservedBytes;
  }

  get stretch(): number {
    return this.#segment.stretch;
  }

  appended(): void {
    if (this.#retryTimer !== null) return;
    const turn = (this.#turn ??= this.#startTurn());
    turn.appendedCount += 1;
    if (turn.appendedCount >= TURN_APPENDS_MAX || this.lines.sizeBytes >= TURN_BYTES_MAX) this.#endTurn();
  }

  written(): Promise<void> {
    if (this.#turn === null) return HANDED_OVER;
    this.#turn.written ??= Promise.withResolvers();
    return this.#turn.written.promise;
  }

  /** Fulfilled when everything appended so far is in the file, however long the disk refuses it. */
  stored(): Promise<void> {
    this.#endTurn();
    if (this.#retryTimer === null) return Promise.resolve();
    return new Promise((resolve) => this.#storedWaiters.push(resolve));
  }

  synced(): Promise<void> {
    if (this.#turn !== null) return (this.#turn.synced ??= this.#sync.wait());
    const synced = this.#sync.wait();
    this.#sync.start();
    return synced;
  }

  /** False: the lines are in a file that has lost its name. */
  isInPlace(): boolean {
    return this.#segment.file.isInPlace();
  }

  /** Restores the lines of the present segment under its name. Throws what the file system does. */
  restoreFile(): void {
    this.#segment.restoreFile();
    // The copy is as little on the disk as lines that have just been written.
    this.#sync.touch();
    this.#sync.start();
  }

  /** Refuses new requests: another server has the ledger. */
  standDown(): void {
    this.#isSuperseded = true;
  }

  /** Once, however often it is called. */
  close(): Promise<void> {
    this.#closing ??= this.#closeOnce();
    return this.#closing;
  }

  async #closeOnce(): Promise<void> {
    await this.stored();
    await this.#sync.close();
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    this.#segment.close();
  }

  /** Its microtask runs behind those that were on their way already: behind the same step of all that go together. */
  #startTurn(): Turn {
    queueMicrotask(this.#endTurn);
    return { appendedCount: 0, written: null, synced: null };
  }

  /** A turn that was full has ended before its microtask runs, which then ends the turn behind it. */
  readonly #endTurn = (): void => {
    const turn = this.#turn;
    if (turn === null) return;
    this.#turn = null;
    if (!this.#flush()) {
      this.#options.log.error("usage journal: the disk refuses writes; events wait in memory", this.#failure);
      this.#retryTimer = this.#startRetryTimer();
    }
    turn.written?.resolve();
    this.#sync.startForWaiters();
  };

  /** False when something still waits. */
  #flush(): boolean {
    const { bytes, sizeBytes } = this.lines;
    if (sizeBytes === 0) return true;
    this.lines.drop(this.#tryWrite(bytes.subarray(0, sizeBytes)));
    if (this.lines.sizeBytes > 0) return false;
    // Afterwards, so that the next lines are encoded for the segment that they go to.
    this.#segment.endLines();
    return true;
  }

  #tryWrite(bytes: Uint8Array): number {
    try {
      const taken = this.#segment.file.append(bytes);
      this.#sync.touch();
      this.#options.onWritten(this.#segment.number, taken);
      return taken;
    } catch (cause) {
      this.#failure = describeCause(cause);
      return 0;
    }
  }

  #startRetryTimer(): ReturnType<typeof setTimeout> {
    // A disk that stays full must not keep a process alive that has given up waiting for it.
    return setTimeout(() => this.#retry(), RETRY_INTERVAL_MS).unref();
  }

  #retry(): void {
    this.#retryTimer = null;
    if (!this.#flush()) {
      this.#retryTimer = this.#startRetryTimer();
      return;
    }
    this.#options.log.info("usage journal: the disk takes writes again");
    for (const resolve of this.#storedWaiters.splice(0)) resolve();
    this.#sync.startForWaiters();
  }
}
