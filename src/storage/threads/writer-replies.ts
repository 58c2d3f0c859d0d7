import { describeCause, type Log, type LogFields } from "#kernel/log.ts";
import type { WriterReply, WriterStart } from "./messages.ts";

/** How long another's lock, a full disk or a database that is away is left alone before the next attempt. */
export const RETRY_INTERVAL_MS = 100;
/** How soon a server that is superseded knows, also while it has nothing to write. */
export const RUN_CHECK_INTERVAL_MS = 500;
/** A cause that stays is reported at most this often. */
const REPORT_INTERVAL_MS = 30_000;

declare const self: Worker;

/** What a writer Worker tells its server, with how it fares. */
export class WriterReplies {
  readonly log: Log = {
    debug() {},
    info: (message, fields) => this.#report("info", message, fields),
    warn: (message, fields) => this.#report("warn", message, fields),
    error: (message, fields) => this.#report("error", message, fields),
  };
  #isFailing = false;
  #reportedMs = Number.NEGATIVE_INFINITY;

  send(reply: WriterReply): void {
    self.postMessage(reply);
  }

  done(id: number): void {
    this.send({ kind: "done", id });
  }

  /** Since an attempt failed and until one succeeds: the pace is the retry's then, whatever comes in. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  failed(cause: unknown): void {
    if (!this.#isFailing || performance.now() - this.#reportedMs > REPORT_INTERVAL_MS) {
      const message = "usage writer: cannot write, trying again; events wait in the journal";
      this.log.warn(message, describeCause(cause));
      this.#reportedMs = performance.now();
    }
    this.#isFailing = true;
    this.send({ kind: "failed" });
  }

  succeeded(): void {
    if (this.#isFailing) this.log.info("usage writer: goes on");
    this.#isFailing = false;
  }

  readonly damaged = ({ lines, tornBytes }: { readonly lines: number; readonly tornBytes: number }): void =>
    this.log.warn("usage journal: unreadable lines were skipped", { lines, torn_bytes: tornBytes });

  #report(level: "info" | "warn" | "error", message: string, fields: LogFields = {}): void {
    this.send({ kind: "report", level, message, fields });
  }
}

/** Whether the server before may still add lines to a segment, counted from the call. */
export function createLiveCheck({ firstSegment, earlierLiveMs }: WriterStart): (segment: number) => boolean {
  const untilMs = performance.now() + earlierLiveMs;
  return (segment) => segment < firstSegment && performance.now() < untilMs;
}
