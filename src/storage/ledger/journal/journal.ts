import { close, closeSync, fdatasync, writeSync } from "node:fs";
import { ProxyError } from "#kernel/errors.ts";
import type { Log, LogFields } from "#kernel/log.ts";
import { describeCause } from "#kernel/log.ts";
import { syncFolder } from "#storage/files/sync-folder.ts";
import { LineBuffer } from "#usage/line-buffer.ts";
import type { UsageJournal } from "#usage/recorder.ts";
import { openPrivateFile } from "#storage/files/private-file.ts";
import { segmentPath } from "./segments.ts";

/** A segment that has grown past this is followed by a new one. */
export const SEGMENT_BYTES_MAX = 8 * 1024 * 1024;
/** Numbers of lines are given anew after so much, so that a damaged block of a disk costs no more of a segment than this. */
const STRETCH_BYTES_MAX = 4 * 1024 * 1024;
/** What may wait in memory while the disk refuses writes: some 100,000 requests. */
export const PENDING_BYTES_MAX = 16 * 1024 * 1024;
/** One write takes at most so many begins and ends, which bounds the requests that go upstream at one moment. The next line begins another turn. */
const TURN_APPENDS_MAX = 64;
/** Lines grow with the path of a request, 16 KiB at most. */
const TURN_BYTES_MAX = 64 * 1024;
const RETRY_INTERVAL_MS = 100;
/** A loss of power costs at most this much of what the writer has not committed yet. */
const SYNC_INTERVAL_MS = 50;
/** How long an end waits for the disk in the strict setting before it is refused. */
const SYNC_WAIT_MS_MAX = 10_000;

export interface JournalOptions {
  readonly directory: string;
  readonly firstSegment: number;
  readonly log: Log;
  /** Called after each write that reached the file, with the segment it is in and its size. */
  readonly onWritten: (segment: number, sizeBytes: number) => void;
  readonly segmentBytesMax?: number;
  readonly pendingBytesMax?: number;
  /** Replaced by tests that need a disk that fails. */
  readonly write?: (fd: number, bytes: Uint8Array) => number;
}

/** What has been appended since the last write. Its promises are made for the first that asks. */
interface Turn {
  appendedCount: number;
  written: PromiseWithResolvers<void> | null;
  synced: Promise<void> | null;
}

interface SyncWaiter {
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

/** Not by `promisify`: loading node:util takes 1 ms and 2 MB of each start. */
function syncData(fd: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  fdatasync(fd, (cause) => (cause === null || cause === undefined ? resolve() : reject(cause)));
  return promise;
}

const HANDED_OVER = Promise.resolve();

/**
 * The append side of the journal, on the data plane's thread. The lines of requests that take a step together
 * (`kernel/turns`) go to the file in one synchronous write; what a full disk does not take waits in order and is retried, so
 * that the file is always a prefix of what was appended. No new segment begins while something waits: lines go to the
 * segment that was named when they were appended.
 */
export class Journal implements UsageJournal {
  readonly #options: JournalOptions;
  readonly #write: (fd: number, bytes: Uint8Array) => number;
  #segment: number;
  #fd: number;
  #segmentBytes = 0;
  #stretch = 0;
  #stretchEndBytes = STRETCH_BYTES_MAX;
  readonly lines = new LineBuffer(TURN_BYTES_MAX * 2);
  #turn: Turn | null = null;
  #failure: LogFields = {};
  /** Runs as long as the disk refuses lines. */
  #retryTimer: ReturnType<typeof setTimeout> | null = null;
  #storedWaiters: (() => void)[] = [];
  #syncTimer: ReturnType<typeof setTimeout> | null = null;
  #syncing: Promise<void> | null = null;
  #isDirty = false;
  #directoryIsDirty = true;
  #retired: number[] = [];
  #syncWaiters: SyncWaiter[] = [];
  #closing: Promise<void> | null = null;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#write = options.write ?? ((fd, bytes) => writeSync(fd, bytes));
    this.#segment = options.firstSegment;
    this.#fd = openPrivateFile(segmentPath(options.directory, this.#segment), "ax");
  }

  get isFull(): boolean {
    return this.pendingBytes >= (this.#options.pendingBytesMax ?? PENDING_BYTES_MAX);
  }

  /** What waits in memory because the disk refuses it. */
  get pendingBytes(): number {
    return this.#retryTimer === null ? 0 : this.lines.sizeBytes;
  }

  get stretch(): number {
    return this.#stretch;
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
    if (this.#turn !== null) return (this.#turn.synced ??= this.#waitForSync());
    const synced = this.#waitForSync();
    this.#startSync();
    return synced;
  }

  /** Once, however often it is called. */
  close(): Promise<void> {
    this.#closing ??= this.#closeOnce();
    return this.#closing;
  }

  async #closeOnce(): Promise<void> {
    await this.stored();
    // One that runs may have begun before the last lines, and would not confirm them.
    await this.#syncsEnded();
    if (this.#syncTimer !== null) clearTimeout(this.#syncTimer);
    this.#startSync();
    await this.#syncsEnded();
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    closeSync(this.#fd);
  }

  async #syncsEnded(): Promise<void> {
    while (this.#syncing !== null) await this.#syncing;
  }

  #waitForSync(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new ProxyError("internal_error", "The disk did not confirm the usage event in time.")),
        SYNC_WAIT_MS_MAX,
      );
      this.#syncWaiters.push({
        resolve() {
          clearTimeout(timer);
          resolve();
        },
        reject(cause) {
          clearTimeout(timer);
          reject(new ProxyError("internal_error", "The disk did not confirm the usage event.", { cause }));
        },
      });
    });
  }

  /** Its microtask runs behind those that were on their way already: behind the same step of all that go together. */
  #startTurn(): Turn {
    const turn: Turn = { appendedCount: 0, written: null, synced: null };
    queueMicrotask(() => {
      if (this.#turn === turn) this.#endTurn();
    });
    return turn;
  }

  #endTurn(): void {
    const turn = this.#turn;
    if (turn === null) return;
    this.#turn = null;
    if (!this.#flush()) {
      this.#options.log.error("usage journal: the disk refuses writes; events wait in memory", this.#failure);
      this.#retryTimer = this.#startRetryTimer();
    }
    turn.written?.resolve();
    if (this.#syncWaiters.length > 0) this.#startSync();
  }

  /** False when something still waits. */
  #flush(): boolean {
    const { bytes, sizeBytes } = this.lines;
    if (sizeBytes === 0) return true;
    this.lines.drop(this.#tryWrite(bytes.subarray(0, sizeBytes)));
    if (this.lines.sizeBytes > 0) return false;
    // Afterwards, so that the next lines are encoded for the segment that they go to.
    if (this.#segmentBytes >= (this.#options.segmentBytesMax ?? SEGMENT_BYTES_MAX)) this.#rotate();
    else if (this.#segmentBytes >= this.#stretchEndBytes) this.#beginStretch();
    return true;
  }

  #beginStretch(): void {
    this.#stretch += 1;
    this.#stretchEndBytes = this.#segmentBytes + STRETCH_BYTES_MAX;
  }

  #tryWrite(bytes: Uint8Array): number {
    try {
      const taken = this.#write(this.#fd, bytes);
      this.#segmentBytes += taken;
      this.#isDirty = true;
      this.#syncTimer ??= setTimeout(() => {
        this.#syncTimer = null;
        this.#startSync();
      }, SYNC_INTERVAL_MS);
      this.#options.onWritten(this.#segment, taken);
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
    if (this.#syncWaiters.length > 0) this.#startSync();
  }

  /** Only between two lines, and only when nothing waits: the reader takes a following segment as proof of that. */
  #rotate(): void {
    try {
      const fd = openPrivateFile(segmentPath(this.#options.directory, this.#segment + 1), "ax");
      this.#retired.push(this.#fd);
      this.#fd = fd;
      this.#segment += 1;
      this.#segmentBytes = 0;
      this.#beginStretch();
      this.#directoryIsDirty = true;
    } catch (cause) {
      // The present segment goes on; asked again after as many bytes as a retry is worth.
      this.#segmentBytes = 0;
      this.#options.log.warn("usage journal: no new segment", describeCause(cause));
    }
  }

  #startSync(): void {
    if (this.#syncing !== null) return;
    this.#syncing = this.#sync().finally(() => {
      this.#syncing = null;
      // Requests that came meanwhile are covered by the next sync only.
      if (this.lines.sizeBytes === 0 && this.#syncWaiters.length > 0) this.#startSync();
    });
  }

  async #sync(): Promise<void> {
    // While lines wait in memory a request's end may be among them.
    const waiters = this.lines.sizeBytes === 0 ? this.#syncWaiters.splice(0) : [];
    const retired = this.#retired.splice(0);
    const fd = this.#fd;
    const wasDirty = this.#isDirty;
    const directoryWasDirty = this.#directoryIsDirty;
    this.#isDirty = false;
    this.#directoryIsDirty = false;
    try {
      // A file whose name is not on the disk is lost with all that is in it.
      if (directoryWasDirty) await syncFolder(this.#options.directory);
      for (const old of retired) await syncData(old);
      if (wasDirty) await syncData(fd);
      for (const waiter of waiters) waiter.resolve();
    } catch (cause) {
      // A later success would not prove anything about these pages (the kernel may have dropped them), so a new file follows.
      this.#options.log.error("usage journal: the disk did not confirm a write", describeCause(cause));
      this.#directoryIsDirty = true;
      if (this.#retryTimer === null && this.#flush()) this.#rotate();
      for (const waiter of waiters) waiter.reject(cause);
    }
    for (const old of retired) close(old, () => {});
  }
}
