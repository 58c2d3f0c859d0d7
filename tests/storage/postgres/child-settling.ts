/** A process to be killed (`settleEndlessly`). Run: bun child-settling.ts <arrivals> <first arrival> <count> <data dir> <url> <schema> */
import { createLog } from "#kernel/log.ts";
import { postgresEngine } from "#storage/postgres/engine.ts";
import { settleEndlessly } from "../../ledger/endless-settling.ts";
import { createManualClock } from "../../ledger/usage.ts";
import { toSecrets } from "../support.ts";

const [arrivalsPath = "", first, count, dataDir = "", url = "", schema = ""] = process.argv.slice(2);
const storage = await postgresEngine.serve({
  dataDir,
  database: { kind: "postgres", url, schema, graceMs: 30_000 },
  secrets: toSecrets(),
  clock: createManualClock(Number(first)),
  log: createLog({ level: "error", json: false, timestamp: () => "", write: () => {} }),
  ledgerSync: "interval",
  usageRetentionDays: null,
});
await settleEndlessly(storage.ledger, {
  lane: storage.lane,
  firstArrivalUs: Number(first),
  count: Number(count),
  arrivalsPath,
});
await storage.ledger.flush();
await storage.close();
