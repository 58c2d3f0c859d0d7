import { PURPOSES } from "#storage/postgres/connection/limits.ts";
import { openPostgres } from "#storage/postgres/connection/postgres.ts";
import type { PostgresTarget } from "#storage/postgres/connection/target.ts";
import type { WriterStart } from "#storage/threads/writer-tasks.ts";
import { serveWriter } from "#storage/writer/writer-loop.ts";
import { PostgresWriter } from "./postgres-writer.ts";

/** Where a spool is brought to. */
export interface WriterPlace {
  readonly target: PostgresTarget;
  readonly spool: { readonly id: string; readonly lane: number };
}

serveWriter(async ({ serverRun, spool, target }: WriterStart & WriterPlace, log) => {
  const postgres = await openPostgres({ target, ...PURPOSES.writer, log });
  return new PostgresWriter({ postgres, claim: { ...spool, run: serverRun }, log });
});
