import { toCounted } from "#kernel/text.ts";
import { sleep } from "#kernel/timer.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { openLogTail, type ReadRequests, type RequestRow } from "#cli/installation/log-tail.ts";
import type { ReportQuery } from "#cli/installation/report.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

/** Between two looks at the log. */
export const POLL_MS = 2_000;

export interface Following {
  readonly terminal: Terminal;
  readonly read: ReadRequests;
  /** The filters. */
  readonly query: ReportQuery;
  /** How many rows are shown at first. */
  readonly lines: number;
  readonly end: AbortSignal;
  readonly write: (rows: readonly RequestRow[]) => void;
}

/** Shows the newest rows and then every row that comes into the log, until `end`. Outages of a server are waited out. */
export async function followRequests(following: Following): Promise<void> {
  const { terminal, read, query, lines, end, write } = following;
  try {
    const log = await openLogTail(read, query);
    for (const notice of log.notices) terminal.writeMessage(`${notice}\n`);
    write(log.newest.slice(0, lines).toReversed());
    let isReached = true;
    while (!end.aborted) {
      await sleep(POLL_MS, end);
      if (end.aborted) break;
      try {
        const { rows, leftOutCount } = await log.readNew();
        write(rows);
        if (leftOutCount > 0)
          terminal.writeMessage(
            `${toCounted(leftOutCount, "more request")} ended meanwhile than can be shown here; the log has them.\n`,
          );
        if (!isReached) terminal.writeMessage("The server answers again.\n");
        isReached = true;
      } catch (cause) {
        if (!(cause instanceof CommandError) || cause.kind !== "unreachable") throw cause;
        if (isReached) terminal.writeMessage(`${cause.message} Trying again.\n`);
        isReached = false;
      }
    }
  } catch (cause) {
    // What was under way when the end came was cut off on purpose.
    if (!end.aborted) throw cause;
  }
}
