import { type ReportName, REPORTS } from "#storage/reports/reports.ts";
import type { EncodedReport } from "#stats/store.ts";
import type { Script } from "#storage/sql/script.ts";
import { serveWorker } from "./worker-server.ts";
import type { ReaderStart } from "./reader-client.ts";

/** What an engine's reader Worker does. */
export interface ReaderParts {
  /** Runs a report within one transaction. */
  readonly read: <Answer>(report: Script<Answer>) => Answer | Promise<Answer>;
  readonly close: () => void | Promise<void>;
}

/**
 * Serves every report of the table by its name, one at a time. `hasLeft`: no asker waits for the answer any more, and what is
 * thrown from then on has no reader.
 */
export function serveReader(open: (place: never, hasLeft: () => boolean) => ReaderParts): void {
  serveWorker((start: never) => {
    const { left }: ReaderStart = start;
    const { read, close } = open(start, () => Atomics.load(left, 0) === 1);
    const toTask = (report: (typeof REPORTS)[ReportName]) => (question: never) =>
      read<unknown>(report(question));
    return {
      tasks: Object.fromEntries(Object.entries(REPORTS).map(([name, report]) => [name, toTask(report)])),
      close,
      // Megabytes of an encoded report would be copied on the serving thread.
      listBuffers: (answer) =>
        isEncoded(answer) ? [...new Set(answer.chunks.map(({ buffer }) => buffer))] : [],
    };
  });
}

function isEncoded(answer: unknown): answer is Pick<EncodedReport, "chunks"> {
  return typeof answer === "object" && answer !== null && "chunks" in answer;
}
