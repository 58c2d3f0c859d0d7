import { SILENT_LOG } from "#kernel/log.ts";
import { serveReader } from "#storage/threads/reader-server.ts";
import { openPostgres } from "#storage/postgres/connection/postgres.ts";
import { PURPOSES } from "#storage/postgres/connection/limits.ts";
import { readFrom } from "#storage/postgres/connection/drive.ts";
import type { ReaderPlace } from "./ledger.ts";

/** While a report runs the connection beside it is tried this often, so that a network partition is noticed. */
const PROBE_INTERVAL_MS = 4_000;
/** A report whose askers have left ends within this. */
const LEFT_POLL_MS = 50;

serveReader(({ target }: ReaderPlace, hasLeft) => {
  const open = async () => {
    try {
      return await openPostgres({ target, ...PURPOSES.reports, log: SILENT_LOG });
    } catch (cause) {
      // The next question tries again.
      opening = null;
      throw cause;
    }
  };
  let opening: ReturnType<typeof open> | null = null;
  return {
    async read(report) {
      const postgres = await (opening ??= open());
      // A probe that is not answered gives up the report's connection with its own: the next report would wait for it.
      const probe = setInterval(
        () => void postgres.all("SELECT 1").catch(() => undefined),
        PROBE_INTERVAL_MS,
      );
      const leaving = new AbortController();
      // Once no asker is left the statement is ended on the server: its answer has no reader.
      const poll = setInterval(() => hasLeft() && leaving.abort(), LEFT_POLL_MS);
      try {
        return await readFrom(postgres, report, leaving.signal);
      } finally {
        clearInterval(probe);
        clearInterval(poll);
      }
    },
    async close() {
      const opened = await opening?.catch(() => null);
      await opened?.close();
    },
  };
});
