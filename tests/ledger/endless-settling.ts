import { readFileSync, writeSync } from "node:fs";
import { PENDING_USAGE } from "#usage/event.ts";
import type { UsageLedger } from "#usage/store.ts";
import { ENDING, SUBJECT } from "./usage.ts";

export interface Settling {
  readonly lane: number;
  readonly firstArrivalUs: number;
  /** How many answers are begun; 0 to settle those of before alone. */
  readonly count: number;
  /** A file of arrivals of processes before, each on a line. */
  readonly arrivalsPath: string;
}

/**
 * Begins answers in the background and settles them, each twice, until the process is killed, and says each event once its
 * begin is safe. Those of processes before are settled first.
 */
export async function settleEndlessly(
  ledger: Pick<UsageLedger, "open" | "written" | "settle">,
  { lane, firstArrivalUs, count, arrivalsPath }: Settling,
): Promise<void> {
  const { statusCode, outcome, errorKind, usage, prices, costPico, unpriced } = ENDING;
  const told = { statusCode, outcome, errorKind, usage, prices, costPico, unpriced };
  const settle = (eventId: number) =>
    ledger.settle({ event: { eventId, lane }, settledAtUs: eventId + 90_000_000, ...told });
  for (const line of readFileSync(arrivalsPath, "utf8").split("\n"))
    if (line !== "") await settle(Number(line));
  const open: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const arrivedAtUs = firstArrivalUs + index * 10;
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
}
