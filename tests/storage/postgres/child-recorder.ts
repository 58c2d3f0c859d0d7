/** A process to be killed (`recordEndlessly`). Run: bun child-recorder.ts <data dir> <url> <schema> <first arrival in microseconds> */
import { createLog } from "#kernel/log.ts";
import { postgresEngine } from "#storage/postgres/engine.ts";
import { recordEndlessly } from "../../ledger/endless-recording.ts";
import { createManualClock } from "../../ledger/usage.ts";
import { toSecrets } from "../support.ts";

const [dataDir = "", url = "", schema = "", firstArrival] = process.argv.slice(2);
const storage = await postgresEngine.serve({
  dataDir,
  database: { kind: "postgres", url, schema, graceMs: 30_000 },
  secrets: toSecrets(),
  clock: createManualClock(Number(firstArrival)),
  log: createLog({ level: "error", json: false, timestamp: () => "", write: () => {} }),
  ledgerSync: "interval",
  usageRetentionDays: null,
});
await recordEndlessly(storage.ledger, Number(firstArrival));
