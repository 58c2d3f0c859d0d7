import { type ReportName, REPORTS } from "#storage/reports/reports.ts";
import type { EncodedReport } from "#stats/store.ts";
import { connection, type Script } from "#storage/sql/script.ts";
import { serveWorker } from "./worker-server.ts";
import type { ReaderStart } from "./reader-client.ts";

/** The engine's part of a reader Worker. */
export interface ReaderParts {
  /** Runs a report within one transaction. */
  readonly read: <Answer>(report: Script<Answer>) => Answer | Promise<Answer>;
  readonly close: () => void | Promise<void>;
}

/**
 * Serves every report of the table by its name, one at a time. Once no asker waits for its answer any more (`hasLeft`), a
 * report ends before its next query.
 */
export function serveReader(open: (place: never, hasLeft: () => boolean) => ReaderParts): void {
  serveWorker((start: never) => {
    const { left }: ReaderStart = start;
    const hasLeft = () => Atomics.load(left, 0) === 1;
    const { read, close } = open(start, hasLeft);
    const toTask = (report: (typeof REPORTS)[ReportName]) => (question: never) =>
      read(untilLeft<unknown>(report(question), hasLeft));
    return {
      tasks: Object.fromEntries(Object.entries(REPORTS).map(([name, report]) => [name, toTask(report)])),
      close,
      // A copy of megabytes would be made on the serving thread.
      listBuffers: (answer) =>
        isEncoded(answer) ? [...new Set(answer.chunks.map(({ buffer }) => buffer))] : [],
    };
  });
}

/** Thrown by a report whose askers have left: its answer has no reader. */
export class LeftError extends Error {
  override readonly name = "LeftError";
}

/**
 * Runs a script until its askers have left: it ends before its next query, or before the next rows of one that is read row by
 * row. The runtime cannot end a statement of SQLite that runs.
 */
export function* untilLeft<Answer>(script: Script<Answer>, hasLeft: () => boolean): Script<Answer> {
  let step = script.next(yield* connection());
  while (step.done !== true) {
    if (hasLeft()) throw new LeftError();
    step = script.next(yield step.value);
  }
  return step.value;
}

function isEncoded(answer: unknown): answer is Pick<EncodedReport, "chunks"> {
  return typeof answer === "object" && answer !== null && "chunks" in answer;
}
