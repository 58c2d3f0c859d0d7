import { close, closeSync, fdatasync, writeSync } from "node:fs";
import { promisify } from "node:util";
import { ProxyError } from "#kernel/errors.ts";
import type { Log, LogFields } from "#kernel/log.ts";
import { describeCause } from "#kernel/log.ts";
import { syncFolder } from "#storage/files/sync-folder.ts";
import type { UsageJournal } from "#usage/recorder.ts";
import { openPrivateFile } from "#storage/files/private-file.ts";
import { segmentPath } from "./segments.ts";

/** A segment that has grown past this is followed by a new one. */
export const SEGMENT_BYTES_MAX = 8 * 1024 * 1024;
/** What may wait in memory while the disk refuses writes: some 100,000 requests. */
export const PENDING_BYTES_MAX = 16 * 1024 * 1024;
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

interface SyncWaiter {
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

const syncData = promisify(fdatasync);

/**
 * The append side of the journal, on the data plane's thread. A line goes to the file in one synchronous write; what a
 * full disk does not take waits in order and is retried, so that the file is always a prefix of what was appended. No new
 * segment begins while something waits: lines go to the segment that was named when they were appended.
 */
export class Journal implements UsageJournal {
  readonly #options: JournalOptions;
  readonly #write: (fd: number, bytes: Uint8Array) => number;
  #segment: number;
  #fd: number;
  #segmentBytes = 0;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #failure: LogFields = {};
  #retryTimer: ReturnType<typeof setTimeout> | null = null;
  #writtenWaiters: (() => void)[] = [];
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
    return this.#pendingBytes >= (this.#options.pendingBytesMax ?? PENDING_BYTES_MAX);
  }

  /** What waits in memory because the disk refuses it. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  get segment(): number {
    return this.#segment;
  }

  append(lines: Uint8Array): void {
    if (this.#pending.length === 0) {
      const taken = this.#tryWrite(lines);
      if (taken === lines.length) {
        // Afterwards, so that the next lines are encoded for the segment that they go to.
        if (this.#segmentBytes >= (this.#options.segmentBytesMax ?? SEGMENT_BYTES_MAX)) this.#rotate();
        return;
      }
      this.#options.log.error("usage journal: the disk refuses writes; events wait in memory", this.#failure);
      this.#hold(lines.subarray(taken));
    } else {
      this.#hold(lines);
    }
    this.#retryTimer ??= this.#startRetryTimer();
  }

  /** Fulfilled when everything appended so far is in the file. */
  written(): Promise<void> {
    if (this.#pending.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#writtenWaiters.push(resolve));
  }

  synced(): Promise<void> {
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
      this.#startSync();
    });
  }

  /** Once, however often it is called. */
  close(): Promise<void> {
    this.#closing ??= this.#closeOnce();
    return this.#closing;
  }

  async #closeOnce(): Promise<void> {
    await this.written();
    if (this.#syncTimer !== null) clearTimeout(this.#syncTimer);
    this.#startSync();
    while (this.#syncing !== null) await this.#syncing;
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    closeSync(this.#fd);
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

  #hold(bytes: Uint8Array): void {
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
  }

  #startRetryTimer(): ReturnType<typeof setTimeout> {
    // A disk that stays full must not keep a process alive that has given up waiting for it.
    return setTimeout(() => this.#retry(), RETRY_INTERVAL_MS).unref();
  }

  #retry(): void {
    this.#retryTimer = null;
    const waiting = Buffer.concat(this.#pending);
    const taken = this.#tryWrite(waiting);
    if (taken < waiting.length) {
      this.#pending = [waiting.subarray(taken)];
      this.#pendingBytes = waiting.length - taken;
      this.#retryTimer = this.#startRetryTimer();
      return;
    }
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#options.log.info("usage journal: the disk takes writes again");
    for (const resolve of this.#writtenWaiters.splice(0)) resolve();
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
      if (this.#pending.length === 0 && this.#syncWaiters.length > 0) this.#startSync();
    });
  }

  async #sync(): Promise<void> {
    // While lines wait in memory no request's end is on the disk yet.
    const waiters = this.#pending.length === 0 ? this.#syncWaiters.splice(0) : [];
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
      if (this.#pending.length === 0) this.#rotate();
      for (const waiter of waiters) waiter.reject(cause);
    }
    for (const old of retired) close(old, () => {});
  }
}
