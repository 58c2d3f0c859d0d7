/** A process to be killed (`settleEndlessly`). Run: bun child-settling.ts <arrivals> <first arrival> <count> <data dir> */
import { createLog } from "#kernel/log.ts";
import { settleEndlessly } from "./endless-settling.ts";
import { createManualClock } from "./usage.ts";
import { openLedger } from "../support/ledger.ts";

const [arrivalsPath = "", first, count, dataDir = ""] = process.argv.slice(2);
const opened = await openLedger({
  dataDir,
  clock: createManualClock(Number(first)),
  log: createLog({ level: "error", json: false, timestamp: () => "", write: () => {} }),
  sync: "interval",
  retentionDays: null,
});
await settleEndlessly(opened.ledger, {
  lane: 0,
  firstArrivalUs: Number(first),
  count: Number(count),
  arrivalsPath,
});
await opened.close();
