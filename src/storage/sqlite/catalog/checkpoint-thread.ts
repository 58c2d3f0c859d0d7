import type { Log, LogFields } from "#kernel/log.ts";
import { toFileIdentity } from "#storage/files/file-watch.ts";
import { hasRoomForWorker, WorkerThread } from "#storage/threads/worker-thread.ts";

export type CheckpointCommand =
  /** `file` is the identity of the file that the server has open. */
  | { readonly kind: "start"; readonly path: string; readonly file: string }
  | { readonly kind: "copy" }
  | { readonly kind: "close" };

export type CheckpointReply =
  | { readonly kind: "ready" }
  | { readonly kind: "copied"; readonly isWhole: boolean }
  | { readonly kind: "failed"; readonly fields: LogFields }
  | { readonly kind: "closed" };

/** A Worker that copies the write-ahead log of a database into it: that syncs both. Started when it is first needed. */
export class CheckpointThread {
  readonly #path: string;
  readonly #file: string;
  readonly #log: Log;
  #thread: WorkerThread<CheckpointCommand, CheckpointReply> | null = null;
  /** In the order in which they are answered. */
  #waiting: PromiseWithResolvers<boolean>[] = [];

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#file = toFileIdentity(path);
    this.#log = log;
  }

  /** Whether all that the log held at the call is in the database now, and on the disk. Rejects when the disk refuses. */
  async copy(): Promise<boolean> {
    if (this.#thread === null && !hasRoomForWorker()) throw new Error("too few files may be opened");
    this.#thread ??= this.#start();
    if (!this.#thread.isRunning) throw new Error("the thread is not running");
    const waiting = Promise.withResolvers<boolean>();
    this.#waiting.push(waiting);
    this.#thread.post({ kind: "copy" });
    return waiting.promise;
  }

  async stop(): Promise<void> {
    await this.#thread?.stop({ kind: "close" });
    this.#rejectAll();
  }

  #start(): WorkerThread<CheckpointCommand, CheckpointReply> {
    return new WorkerThread({
      name: "catalog checkpoint",
      url: new URL("./checkpoint-worker.ts", import.meta.url),
      log: this.#log,
      start: { kind: "start", path: this.#path, file: this.#file },
      onReply: (reply) => {
        if (reply.kind === "copied") this.#waiting.shift()?.resolve(reply.isWhole);
        else if (reply.kind === "failed") {
          this.#log.error("catalog: its log could not be copied into the database", reply.fields);
          this.#waiting.shift()?.reject(new Error("the copy of the log failed"));
        }
      },
      onEnded: (willRestart) => {
        if (!willRestart) this.#thread = null;
        this.#rejectAll();
      },
      onRestart: () => {},
    });
  }

  #rejectAll(): void {
    for (const { reject } of this.#waiting.splice(0)) reject(new Error("the thread has ended"));
  }
}
