import type { Log } from "#kernel/log.ts";
import { describeCause } from "#kernel/log.ts";
import type { LeftMark, ReaderCommand, ReaderReply } from "./messages.ts";
import type { Question, Turn } from "./question-queue.ts";
import { hasRoomForWorker, WorkerThread } from "./worker-thread.ts";

export interface ReaderThreadOptions<Place extends object> {
  /** The file of the engine's reader Worker. */
  readonly workerUrl: URL;
  readonly place: Place;
  readonly log: Log;
}

/** What comes back for a question. */
export type Answered = Extract<ReaderReply, { readonly id: number }>;

interface Script<Asker extends { readonly askerId: string }> extends Turn<Asker> {
  readonly isLookup: boolean;
}

interface ReaderThreadEvents<Asker extends { readonly askerId: string }> {
  /** Null: the Worker has died, and no answer comes. */
  readonly onAnswer: (question: Question<Asker>, reply: Answered | null) => void;
  /** It may be asked again. */
  readonly onFree: () => void;
}

/** One reader Worker, started at its first question, which reads one question at a time. */
export class ReaderThread<Asker extends { readonly askerId: string }, Place extends object> {
  readonly #options: ReaderThreadOptions<Place>;
  readonly #events: ReaderThreadEvents<Asker>;
  #thread: WorkerThread<ReaderCommand<Place>, ReaderReply> | null = null;
  #reading: Script<Asker> | null = null;
  readonly #left: LeftMark = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

  constructor(options: ReaderThreadOptions<Place>, events: ReaderThreadEvents<Asker>) {
    this.#options = options;
    this.#events = events;
  }

  /** What it reads; it stays until the answer comes, even when its askers have gone. */
  get reading(): Script<Asker> | null {
    return this.#reading;
  }

  /** False between a death and the restart, and while too few files may be opened to start it. */
  get isUsable(): boolean {
    return this.#thread === null ? hasRoomForWorker() : this.#thread.isRunning;
  }

  /** False when it could not be put to the Worker, which the log tells. */
  ask(reading: Script<Asker>): boolean {
    const { id, asked } = reading.question;
    try {
      this.#thread ??= this.#start();
      Atomics.store(this.#left, 0, 0);
      this.#thread.post({ kind: "ask", id, asked });
      this.#reading = reading;
      return true;
    } catch (cause) {
      this.#options.log.error("usage reader: a question could not be asked", describeCause(cause));
      return false;
    }
  }

  /** One that has left: what is read for no other asker ends before its next statement. */
  drop(asker: Asker): void {
    const askers = this.#reading?.question.askers;
    if (askers?.delete(asker) === true && askers.size === 0) Atomics.store(this.#left, 0, 1);
  }

  async stop(waitMsMax?: number): Promise<void> {
    await this.#thread?.stop({ kind: "close" }, waitMsMax);
    this.#end(null);
  }

  #start(): WorkerThread<ReaderCommand<Place>, ReaderReply> {
    const { workerUrl, place, log } = this.#options;
    return new WorkerThread<ReaderCommand<Place>, ReaderReply>({
      name: "usage reader",
      url: workerUrl,
      log,
      start: { kind: "start", left: this.#left, ...place },
      onReply: (reply) => {
        if (reply.kind !== "ready" && reply.kind !== "closed" && this.#reading?.question.id === reply.id) {
          this.#end(reply);
        }
      },
      onEnded: (willRestart) => {
        if (!willRestart) this.#thread = null;
        // What killed it may have been the question: only its askers ask it again.
        this.#end(null);
      },
      onRestart: () => this.#events.onFree(),
    });
  }

  #end(reply: Answered | null): void {
    const reading = this.#reading;
    this.#reading = null;
    if (reading !== null) this.#events.onAnswer(reading.question, reply);
    this.#events.onFree();
  }
}
