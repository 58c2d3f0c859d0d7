/** A process to be killed (`recordEndlessly`). Run: bun child.ts <data dir> <first arrival in microseconds> */
import { createLog } from "#kernel/log.ts";
import { recordEndlessly } from "./endless-recording.ts";
import { createManualClock } from "./usage.ts";
import { openLedger } from "../support/ledger.ts";

const [dataDir, firstArrival] = process.argv.slice(2);
const opened = await openLedger({
  dataDir: dataDir!,
  clock: createManualClock(Number(firstArrival)),
  log: createLog({ level: "error", json: false, timestamp: () => "", write: () => {} }),
  sync: "interval",
  retentionDays: null,
});
await recordEndlessly(opened.ledger, Number(firstArrival));
