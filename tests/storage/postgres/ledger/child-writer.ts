/** A replica's writer until it is killed: `child-writer.ts <url> <schema> <lane> <run> <journal>`. Tells of each commit. */
import { openPostgres } from "#storage/postgres/connection/postgres.ts";
import { PostgresWriter } from "#storage/postgres/ledger/postgres-writer.ts";
import { UsageWriter } from "#storage/writer/writer.ts";
import { silentLog } from "../../support.ts";

const [, , url = "", schema = "", lane = "", run = "", journalDirectory = ""] = process.argv;
const database = await openPostgres({
  target: { url, schema },
  purpose: "writer",
  connectionsMax: 2,
  callMsMax: 5_000,
  log: silentLog,
});
const writer = new UsageWriter({
  engine: new PostgresWriter({
    postgres: database,
    claim: { id: `spool-${lane}`, lane: Number(lane), run: Number(run) },
    log: silentLog,
  }),
  journalDirectory,
  onDamage: () => {},
  onCommit: ({ eventIds }) => process.stdout.write(`${eventIds.length}\n`),
  // Small batches: a kill lies between two of them, or within one.
  readBytesMax: 4_096,
});
for (;;) if (!(await writer.writeBatch())) await Bun.sleep(1);
