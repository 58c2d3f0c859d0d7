import { readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { PENDING_USAGE } from "#usage/event.ts";
import type { UsageLedger } from "#usage/store.ts";
import { ENDING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

/** So many events are said before each kill; the last process ends by itself, and settles what is left. */
const KILLS_AFTER = [40, 130, 3, 260];

/** Runs a child of `settleEndlessly` again and again, and kills it in between. Returns the arrivals that were said. */
export async function killWhileSettling(
  script: string,
  folder: string,
  place: readonly string[],
): Promise<readonly number[]> {
  const arrivalsPath = join(folder, "arrivals");
  const said: number[] = [];
  const run = async (count: number, killAfter: number) => {
    writeFileSync(arrivalsPath, said.join("\n"));
    const first = String(NEW_YEAR_US + said.length * 1_000);
    const words = [process.execPath, "--no-env-file", script, arrivalsPath, first, String(count), ...place];
    const child = Bun.spawn(words, { stdout: "pipe", stderr: "inherit" });
    const decoder = new TextDecoder();
    let [rest, left] = ["", killAfter];
    for await (const bytes of child.stdout) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      said.push(...lines.map(Number));
      left -= lines.length;
      if (left <= 0) child.kill("SIGKILL");
    }
    await child.exited;
  };
  for (const killAfter of KILLS_AFTER) await run(5_000, killAfter);
  await run(0, Number.POSITIVE_INFINITY);
  return said;
}

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
