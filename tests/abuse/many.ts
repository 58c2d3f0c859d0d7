import { afterEach, beforeEach } from "bun:test";
import { createChance } from "../support/chance.ts";
import { readNumber, scale } from "../support/scale.ts";
import { forEach, SETUP_MS_MAX, startAbuseSite, type AbuseSite } from "./abuse-site.ts";
import { Lane } from "./lane.ts";

/** As many mistakes as are worth reading. */
const WRONG_MAX = 20;

/** The cases that a file tries very many of: a variable tells the number, and `LOCKPORT_SEED` repeats them. */
export interface Many {
  readonly count: number;
  readonly testMsMax: number;
  /** The server of the test that runs: each has its own. */
  readonly site: () => AbuseSite;
  /** The seed of this run, which is told. */
  begin(): ReturnType<typeof createChance>;
}

/** Called once in a file: each of its tests has an executable of its own. */
export function tryMany(what: string, { variable, usual }: { variable: string; usual: number }): Many {
  const count = readNumber(variable) ?? usual * scale;
  let site: AbuseSite;
  beforeEach(async () => {
    site = await startAbuseSite();
  }, SETUP_MS_MAX);
  afterEach(() => site.stop());
  return {
    count,
    testMsMax: 120_000 + count * 10,
    site: () => site,
    begin() {
      const chance = createChance(readNumber("LOCKPORT_SEED"));
      console.log(`${what}: ${count}, seed ${chance.seed}`);
      return chance;
    },
  };
}

/** Takes note of what was wrong, the first of many. */
export function noteWrong(wrong: string[], text: string): void {
  if (wrong.length < WRONG_MAX) wrong.push(text);
}

/** Takes each of so many on one of `width` kept connections. */
export async function forEachLane(
  { port, lanes }: { readonly port: number; readonly lanes: Lane[] },
  { count, width }: { readonly count: number; readonly width: number },
  take: (lane: Lane, index: number) => Promise<unknown>,
): Promise<void> {
  await forEach(count, width, async (index) => {
    const lane = lanes.pop() ?? new Lane(port);
    await take(lane, index);
    lanes.push(lane);
  });
}
