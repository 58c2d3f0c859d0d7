import { writeSync } from "node:fs";
import type { OpenUsage, UsageLedger } from "#usage/store.ts";
import { ENDING, SUBJECT } from "./usage.ts";

const EVENTS_MAX = 200_000;
const say = (text: string) => writeSync(1, `${text}\n`);

/**
 * Records as fast as it can until the process is killed, keeps some requests open, and prints the arrival of each event after
 * its end was confirmed, and `refused` once the ledger takes no more.
 */
export async function recordEndlessly(
  ledger: Pick<UsageLedger, "open">,
  firstArrivalUs: number,
): Promise<void> {
  let arrivedAtUs = firstArrivalUs;
  for (let index = 0; index < EVENTS_MAX; index += 1) {
    arrivedAtUs += 1;
    // Said before it is opened: what was said and has no event was never opened, what has one was said.
    say(`open ${arrivedAtUs}`);
    const usage = tryOpen(ledger, arrivedAtUs, index);
    if (usage === null) {
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

function tryOpen(ledger: Pick<UsageLedger, "open">, arrivedAtUs: number, index: number): OpenUsage | null {
  try {
    return ledger.open({ ...SUBJECT, arrivedAtUs, client: `client/${index % 50}` });
  } catch {
    return null;
  }
}
