/**
 * A server's ledger in a process to be killed. Run: bun child.ts <place as JSON> record <first arrival>,
 * bun child.ts <place as JSON> settle <first arrival> <count> <arrivals of before>, or
 * bun child.ts <place as JSON> reprice <instant> <steps> <apply, revert or go on> <id>
 */
import { writeSync } from "node:fs";
import { createSystemIds } from "#kernel/ids.ts";
import { createLog } from "#kernel/log.ts";
import { Repricings } from "#stats/repricings.ts";
import type { Storage } from "#storage/engine.ts";
import { postgresEngine } from "#storage/postgres/engine.ts";
import { sqliteEngine } from "#storage/sqlite/engine.ts";
import type { OpenUsage } from "#usage/store.ts";
import { createManualClock, ENDING, PENDING, SUBJECT } from "../../ledger/usage.ts";
import { silentLog, toSecrets } from "../support.ts";

const EVENTS_MAX = 200_000;
const say = (text: string) => writeSync(1, `${text}\n`);

const [, , place = "", task = "", first = "", count = "0", before = "[]"] = process.argv;
const { dataDir, database } = JSON.parse(place);
const engine = database.kind === "postgres" ? postgresEngine : sqliteEngine;
const storage = await engine.serve({
  dataDir,
  database,
  secrets: toSecrets(),
  clock: createManualClock(Number(first)),
  log: createLog({ level: "error", json: false, timestamp: () => "", write: () => {} }),
  ledgerSync: "interval",
  usageRetentionDays: null,
});
await storage.start();
if (task === "record") await recordEndlessly(storage, Number(first));
else if (task === "reprice") await reprice(storage, Number(count));
else {
  const settle = createSettling(storage);
  for (const arrivedAtUs of JSON.parse(before)) await settle(arrivedAtUs);
  await settleEndlessly(storage, settle);
  await storage.ledger.flush();
  await storage.close();
}

/**
 * Records as fast as it can until the process is killed, keeps some requests open, and prints the arrival of each event after
 * its end was confirmed, and `refused` once the ledger takes no more.
 */
async function recordEndlessly({ ledger }: Storage, firstArrivalUs: number): Promise<void> {
  for (let index = 0; index < EVENTS_MAX; index += 1) {
    const arrivedAtUs = firstArrivalUs + index + 1;
    // Said before it is opened: what was said and has no event was never opened, what has one was said.
    say(`open ${arrivedAtUs}`);
    let usage: OpenUsage;
    try {
      usage = ledger.open({ ...SUBJECT, arrivedAtUs, client: `client/${index % 50}` });
    } catch {
      say("refused");
      return;
    }
    if (index % 10 !== 0) {
      await usage.end(ENDING);
      say(`done ${arrivedAtUs}`);
    }
    if (index % 40 === 0) await Bun.sleep(1);
  }
}

/** Says `begun` and, before the step behind so many, `held`: it makes no more then. Without a kill it stays. */
async function reprice(served: Storage, stepsMax: number): Promise<void> {
  const [, , , , , , change, id = ""] = process.argv;
  let steps = 0;
  const held = Promise.withResolvers<never>();
  const beforeStep = () => {
    steps += 1;
    if (steps <= stepsMax) return Promise.resolve();
    say("held");
    return held.promise;
  };
  const { repricings: store, audit, limitBoard } = served;
  const repricings = new Repricings({
    store: {
      ...store,
      applyStep: (...asked) => beforeStep().then(() => store.applyStep(...asked)),
      revertStep: (...asked) => beforeStep().then(() => store.revertStep(...asked)),
    },
    audit,
    clock: createManualClock(Number(first)),
    ids: createSystemIds(),
    log: silentLog,
    isShared: limitBoard !== null,
    onCosts: async () => {},
  });
  const actor = { principalId: "root" };
  if (change === "apply") await repricings.apply(id, actor);
  else if (change === "revert") await repricings.revert(id, actor);
  else repricings.start();
  say("begun");
  await held.promise;
}

/**
 * Begins answers in the background and settles them, each twice, until the process is killed, and says each event once its
 * begin is safe.
 */
async function settleEndlessly(
  { ledger }: Storage,
  settle: (eventId: number) => Promise<unknown>,
): Promise<void> {
  const open: number[] = [];
  for (let index = 0; index < Number(count); index += 1) {
    const arrivedAtUs = Number(first) + index * 10;
    const request = ledger.open({ ...SUBJECT, arrivedAtUs, client: `client/${index % 7}` });
    await ledger.written();
    say(String(arrivedAtUs));
    // Some are cut off by the kill: their answers have told their ids by then.
    if (index % 10 === 0) continue;
    await request.end(PENDING);
    open.push(arrivedAtUs);
    const due = open.length > 5 ? open.shift() : undefined;
    if (due !== undefined) await Promise.all([settle(due), settle(due)]);
    if (index % 40 === 0) await Bun.sleep(1);
  }
}

function createSettling({ ledger, lane }: Storage) {
  const { statusCode, outcome, errorKind, usage, prices, costPico, unpriced } = ENDING;
  const told = { statusCode, outcome, errorKind, usage, prices, costPico, unpriced };
  return (eventId: number) =>
    ledger.settle({ event: { eventId, lane }, settledAtUs: eventId + 90_000_000, ...told });
}
