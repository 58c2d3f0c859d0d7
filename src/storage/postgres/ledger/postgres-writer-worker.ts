import { PURPOSES } from "#storage/postgres/connection/limits.ts";
import { openPostgres } from "#storage/postgres/connection/postgres.ts";
import type { PostgresTarget } from "#storage/postgres/connection/target.ts";
import { serveWorker, type WorkerChannel } from "#storage/threads/worker-server.ts";
import type { WriterEvent, WriterStart } from "#storage/threads/writer-tasks.ts";
import { WriterLoop } from "#storage/writer/writer-loop.ts";
import { PostgresWriter } from "./postgres-writer.ts";

/** Where a spool is brought to. */
export interface WriterPlace {
  readonly target: PostgresTarget;
  readonly spool: { readonly id: string; readonly lane: number };
}

serveWorker((start: WriterStart & WriterPlace, channel: WorkerChannel<WriterEvent>) => {
  const { serverRun, spool, target } = start;
  const { log } = channel;
  const open = async () => {
    const postgres = await openPostgres({ target, ...PURPOSES.writer, log });
    return new PostgresWriter({ postgres, claim: { ...spool, run: serverRun }, log });
  };
  const onSetBack = ({ isKept }: { readonly isKept: boolean }) => {
    if (isKept)
      log.warn("usage writer: the database is older than it was, its usage is brought back from the journal");
    else
      log.error(
        "usage writer: the journal does not reach back to what the database has; usage in between, if there was any, is lost",
      );
  };
  const loop = new WriterLoop({ start, channel, open, onSetBack });
  return { tasks: loop.tasks, close: () => loop.close() };
});
