/**
 * A process to be killed: it begins answers in the background and settles them, each twice, and says each event once its
 * begin is safe. Those of processes before are settled first.
 * Run: bun child-settling.ts <data dir> <first arrival in microseconds> <how many, or 0 to end by itself> <file of arrivals>
 */
import { readFileSync, writeSync } from "node:fs";
import { createLog } from "#kernel/log.ts";
import { openLedger } from "#storage/sqlite/ledger/ledger.ts";
import { PENDING_USAGE } from "#usage/event.ts";
import { createManualClock, ENDING, SUBJECT } from "./usage.ts";

const [dataDir = "", first, count, arrivals = ""] = process.argv.slice(2);
const opened = await openLedger({
  dataDir,
  clock: createManualClock(Number(first)),
  log: createLog({ level: "error", json: false, timestamp: () => "", write: () => {} }),
  sync: "interval",
  retentionDays: null,
});
const { ledger } = opened;
const { statusCode, outcome, errorKind, usage, prices, costPico, unpriced } = ENDING;
const told = { statusCode, outcome, errorKind, usage, prices, costPico, unpriced };
const settle = (eventId: number) =>
  ledger.settle({ event: { eventId, lane: 0 }, settledAtUs: eventId + 90_000_000, ...told });

for (const line of readFileSync(arrivals, "utf8").split("\n")) if (line !== "") await settle(Number(line));
writeSync(1, "settled\n");
const open: number[] = [];
for (let index = 0; index < Number(count); index += 1) {
  const arrivedAtUs = Number(first) + index * 10;
  const request = ledger.open({ ...SUBJECT, arrivedAtUs, client: `client/${index % 7}` });
  await ledger.written();
  writeSync(1, `${arrivedAtUs}\n`);
  // Some are cut off by the kill: their answers have told their ids by then.
  if (index % 10 === 0) continue;
  await request.end({ ...ENDING, usage: PENDING_USAGE, prices: {}, costPico: null, unpriced: false });
  open.push(arrivedAtUs);
  const due = open.length > 5 ? open.shift() : undefined;
  if (due !== undefined) await Promise.all([settle(due), settle(due)]);
  if (index % 40 === 0) await Bun.sleep(1);
}
await opened.close();
