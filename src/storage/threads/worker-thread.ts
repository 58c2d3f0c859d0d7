import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import type { Log } from "#kernel/log.ts";
import { withinLimit } from "#kernel/timer.ts";
import { describeWorkerFailure } from "./worker-failure.ts";

/** A Worker that dies is started again after a pause that doubles up to the longest. */
const RESTART_PAUSE_MS_MIN = 50;
const RESTART_PAUSE_MS_MAX = 30_000;
/** A Worker that lived this long starts again with the shortest pause. */
const HEALTHY_AFTER_MS = 60_000;
/** More than a Worker and its connection stay open with (4, measured). */
const WORKER_FILES_MAX = 16;
const STOP_WAIT_MS_MAX = 5_000;
const TERMINATE_WAIT_MS_MAX = 1_000;

export interface WorkerThreadOptions<Command, Reply> {
  readonly name: string;
  /** `new URL("./x-worker.ts", import.meta.url)`: the build lays every `*-worker.ts` beside the program. */
  readonly url: URL;
  readonly log: Log;
  /** The first message of every incarnation. */
  readonly start: Command;
  readonly onReply: (reply: Reply) => void;
  /** Called when it has died: no answer comes to what was asked so far. One that was never ready stays dead. */
  readonly onEnded: (willRestart: boolean) => void;
  /** Called when it was started again, before anything else is posted. */
  readonly onRestart: () => void;
}

/** A Worker that is kept alive, until it is stopped. */
export class WorkerThread<Command, Reply extends { readonly kind: string }> {
  readonly #options: WorkerThreadOptions<Command, Reply>;
  readonly #ready: Promise<void>;
  #resolveReady: () => void = () => {};
  #rejectReady: (cause: Error) => void = () => {};
  #wasReady = false;
  #worker: Worker;
  #startedMs = performance.now();
  #pauseMs = RESTART_PAUSE_MS_MIN;
  #restartTimer: ReturnType<typeof setTimeout> | null = null;
  #isRunning = true;
  #stopping: (() => void) | null = null;

  constructor(options: WorkerThreadOptions<Command, Reply>) {
    this.#options = options;
    this.#ready = new Promise((resolve, reject) => {
      this.#resolveReady = resolve;
      this.#rejectReady = reject;
    });
    // Looked at by the waiting caller; a Worker that dies before that must not end the process.
    this.#ready.catch(() => {});
    this.#worker = this.#spawn();
  }

  /** Rejects when the Worker's file cannot be loaded at all. */
  ready(): Promise<void> {
    return this.#ready;
  }

  /** False between a death and the restart: what is posted then is lost. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  post(command: Command): void {
    this.#worker.postMessage(command);
  }

  /** Asks it to finish, and ends it when it does not in time: what it has committed by then is whole. */
  async stop(command: Command, waitMsMax = STOP_WAIT_MS_MAX): Promise<void> {
    if (this.#restartTimer !== null) clearTimeout(this.#restartTimer);
    if (!this.#isRunning) return;
    const { promise: stopped, resolve } = Promise.withResolvers<void>();
    this.#stopping = resolve;
    this.#worker.postMessage(command);
    await withinLimit(stopped, waitMsMax, () => {});
    await this.#terminate();
  }

  /** Its connection closes its files only with the thread itself: statements that were not finalized hold them. */
  async #terminate(): Promise<void> {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    this.#worker.addEventListener("close", () => resolve());
    this.#worker.terminate();
    await withinLimit(ended, TERMINATE_WAIT_MS_MAX, () => {});
  }

  #spawn(): Worker {
    const { url, start } = this.#options;
    const worker = new Worker(url.href);
    this.#startedMs = performance.now();
    worker.addEventListener("message", (event: MessageEvent<Reply>) => this.#onMessage(event.data));
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#options.log.error(`${this.#options.name}: failed`, describeWorkerFailure(event.message));
    });
    worker.addEventListener("close", () => this.#onClose());
    worker.postMessage(start);
    return worker;
  }

  #onMessage(reply: Reply): void {
    if (reply.kind === "ready") {
      this.#wasReady = true;
      this.#resolveReady();
    } else if (reply.kind === "closed") {
      this.#stopping?.();
    } else {
      this.#options.onReply(reply);
    }
  }

  #onClose(): void {
    this.#isRunning = false;
    if (this.#stopping !== null) {
      this.#stopping();
      return;
    }
    if (!this.#wasReady) {
      this.#options.onEnded(false);
      this.#rejectReady(new Error(`${this.#options.name} could not be started`));
      return;
    }
    if (performance.now() - this.#startedMs > HEALTHY_AFTER_MS) this.#pauseMs = RESTART_PAUSE_MS_MIN;
    this.#options.log.error(`${this.#options.name}: ended, starting it again`, { pause_ms: this.#pauseMs });
    this.#options.onEnded(true);
    this.#restartAfterPause();
  }

  #restartAfterPause(): void {
    this.#restartTimer = setTimeout(() => {
      if (!hasRoomForWorker()) {
        this.#restartAfterPause();
        return;
      }
      this.#restartTimer = null;
      this.#isRunning = true;
      this.#worker = this.#spawn();
      this.#options.onRestart();
    }, this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, RESTART_PAUSE_MS_MAX);
  }
}

/** Whether a Worker may be started: Bun ends the whole process when one finds no file descriptor left. */
export function hasRoomForWorker(): boolean {
  const taken: number[] = [];
  try {
    while (taken.length < WORKER_FILES_MAX) taken.push(openSync(devNull, "r"));
    return true;
  } catch {
    return false;
  } finally {
    for (const fd of taken) closeSync(fd);
  }
}
