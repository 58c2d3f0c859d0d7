import { SILENT_LOG } from "#kernel/log.ts";
import { serveReader } from "#storage/threads/reader-protocol.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import { PURPOSES } from "#storage/postgres/connection/limits.ts";
import type { ReaderPlace } from "./ledger.ts";
import { answerFrom, openReportConnection, type ReportConnection } from "#storage/postgres/answer.ts";

/** How soon a report that a partition has cut off is looked after. */
const LOOK_INTERVAL_MS = 4_000;
/** How soon a report ends whose askers have left. */
const LEFT_LOOK_MS = 50;

let opening: Promise<{ readonly postgres: Postgres; readonly reports: ReportConnection }> | null = null;

serveReader<ReaderPlace>({
  async answer(asked, place, hasLeft) {
    const { postgres, reports } = await (opening ??= open(place));
    // One that is not answered gives up the report's connection with its own: the next report would wait for it.
    const look = setInterval(() => void postgres.all("SELECT 1").catch(() => undefined), LOOK_INTERVAL_MS);
    const leaving = new AbortController();
    // Once no asker is left the statement is ended on the server: its answer has no reader.
    const watch = setInterval(() => hasLeft() && leaving.abort(), LEFT_LOOK_MS);
    try {
      return await answerFrom(reports, asked, leaving.signal);
    } finally {
      clearInterval(look);
      clearInterval(watch);
    }
  },
  async close() {
    const opened = await opening?.catch(() => null);
    await opened?.postgres.close();
  },
});

async function open({ target }: ReaderPlace) {
  try {
    const postgres = await openPostgres({ target, ...PURPOSES.reports, log: SILENT_LOG });
    return { postgres, reports: openReportConnection(postgres) };
  } catch (cause) {
    // The next question tries again.
    opening = null;
    throw cause;
  }
}
