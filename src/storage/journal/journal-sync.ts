import { ProxyError } from "#kernel/errors.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { withinLimit } from "#kernel/timer.ts";
import { syncData, syncFolder } from "#storage/files/sync-folder.ts";
import type { SegmentFile } from "./segment-file.ts";

/** A loss of power costs at most this much of what the writer has not committed yet. */
const SYNC_INTERVAL_MS = 50;
/** An end waits so long for the disk in the strict setting before it is refused. */
const SYNC_WAIT_MS_MAX = 10_000;

export interface JournalSyncOptions {
  readonly directory: string;
  readonly log: Log;
  /** The segment that lines go to now. */
  readonly findFile: () => SegmentFile;
  /** True while lines wait in memory: a request's end may be among them. */
  readonly hasPending: () => boolean;
  /** Called when the disk did not confirm what it had taken. */
  readonly onRefused: () => void;
}

/** Confirms with the disk what the journal has written: at a pace, and for each request's end in the strict setting. */
export class JournalSync {
  readonly #options: JournalSyncOptions;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #running: Promise<void> | null = null;
  #isDirty = false;
  #directoryIsDirty = true;
  #retired: SegmentFile[] = [];
  #waiters: PromiseWithResolvers<void>[] = [];

  constructor(options: JournalSyncOptions) {
    this.#options = options;
  }

  /** Called after each write. */
  touch(): void {
    this.#isDirty = true;
    this.#timer ??= setTimeout(this.#begin, SYNC_INTERVAL_MS);
  }

  /** Not within `touch`, which would make a scope for it with each write. */
  readonly #begin = (): void => {
    this.#timer = null;
    this.start();
  };

  /** Called with the segment before, when lines go to another file: that one is confirmed once more, and closed. */
  retire(file: SegmentFile): void {
    this.#retired.push(file);
    this.#directoryIsDirty = true;
  }

  /** Fulfilled by a sync that begins after this call; rejects with `internal_error`. */
  wait(): Promise<void> {
    const waiter = Promise.withResolvers<void>();
    this.#waiters.push(waiter);
    return withinLimit(waiter.promise, SYNC_WAIT_MS_MAX, () => {
      throw new ProxyError("internal_error", "The disk did not confirm the usage event in time.");
    });
  }

  startForWaiters(): void {
    if (this.#waiters.length > 0) this.start();
  }

  start(): void {
    if (this.#running !== null) return;
    this.#running = this.#sync().finally(() => {
      this.#running = null;
      // Requests that came meanwhile are covered by the next sync only.
      if (!this.#options.hasPending()) this.startForWaiters();
    });
  }

  /** Confirms the last lines, and runs no more. */
  async close(): Promise<void> {
    // One that runs may have begun before the last lines, and would not confirm them.
    await this.#ended();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.start();
    await this.#ended();
  }

  async #ended(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #sync(): Promise<void> {
    const { directory, log, findFile, hasPending, onRefused } = this.#options;
    const waiters = hasPending() ? [] : this.#waiters.splice(0);
    const retired = this.#retired.splice(0);
    const { fd } = findFile();
    const wasDirty = this.#isDirty;
    const directoryWasDirty = this.#directoryIsDirty;
    this.#isDirty = false;
    this.#directoryIsDirty = false;
    try {
      // A file whose name is not on the disk is lost with all that is in it.
      if (directoryWasDirty) await syncFolder(directory);
      for (const old of retired) await syncData(old.fd);
      if (wasDirty) await syncData(fd);
      for (const waiter of waiters) waiter.resolve();
    } catch (cause) {
      log.error("usage journal: the disk did not confirm a write", describeCause(cause));
      this.#directoryIsDirty = true;
      onRefused();
      const refusal = new ProxyError("internal_error", "The disk did not confirm the usage event.", {
        cause,
      });
      for (const waiter of waiters) waiter.reject(refusal);
    }
    for (const old of retired) old.close();
  }
}
