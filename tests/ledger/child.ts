/**
 * A process to be killed: records as fast as it can, keeps some requests open, and prints the arrival of each event after
 * its end was confirmed, and `refused` once the ledger takes no more. Run: bun child.ts <data dir> <first arrival in microseconds>
 */
import { writeSync } from "node:fs";
import { createLog } from "#kernel/log.ts";
import { openLedger } from "#storage/sqlite/ledger/ledger.ts";
import type { OpenUsage } from "#usage/store.ts";
import { createManualClock, ENDING, SUBJECT } from "./usage.ts";

const [dataDir, firstArrival] = process.argv.slice(2);
const { log } = { log: createLog({ level: "error", json: false, timestamp: () => "", write: () => {} }) };
const opened = await openLedger({
  dataDir: dataDir!,
  clock: createManualClock(Number(firstArrival)),
  log,
  sync: "interval",
  retentionDays: null,
});

const EVENTS_MAX = 200_000;
const say = (text: string) => writeSync(1, `${text}\n`);
let arrivedAtUs = Number(firstArrival);
for (let index = 0; index < EVENTS_MAX; index += 1) {
  arrivedAtUs += 1;
  // Said before it is opened: what was said and has no event was never opened, what has one was said.
  say(`open ${arrivedAtUs}`);
  const usage = tryOpen(index);
  if (usage === null) {
    say("refused");
    break;
  }
  if (index % 10 !== 0) {
    await usage.end(ENDING);
    say(`done ${arrivedAtUs}`);
  }
  if (index % 40 === 0) await Bun.sleep(1);
}

function tryOpen(index: number): OpenUsage | null {
  try {
    return opened.ledger.open({ ...SUBJECT, arrivedAtUs, client: `client/${index % 50}` });
  } catch {
    return null;
  }
}
