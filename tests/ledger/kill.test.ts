import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openLedger } from "#storage/sqlite/ledger/ledger.ts";
import { makeFolder } from "../support/folder.ts";
import { checkLedger } from "../support/invariants.ts";
import { createManualClock, createTestLog, EVERYTHING, NEW_YEAR_US } from "./usage.ts";

let folder: ReturnType<typeof makeFolder>;
let dataDir: string;
beforeEach(() => {
  folder = makeFolder();
  dataDir = folder.path;
});
afterEach(() => folder.remove());

const ROUNDS = 5;
const ROUND_US = 1_000_000_000;

/** Records in a process of its own and kills it after so many printed lines: no clock decides where. */
async function recordUntilKilled(firstArrival: number, linesBeforeKill: number): Promise<string[]> {
  const child = Bun.spawn({
    cmd: [process.execPath, join(import.meta.dir, "child.ts"), dataDir, String(firstArrival)],
    stdout: "pipe",
    stderr: "inherit",
  });
  const decoder = new TextDecoder();
  let text = "";
  let isKilled = false;
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    if (!isKilled && text.split("\n").length > linesBeforeKill) {
      child.kill("SIGKILL");
      isKilled = true;
    }
  }
  await child.exited;
  expect(isKilled).toBe(true);
  // The last line may be cut off.
  return text.split("\n").slice(0, -1);
}

describe("a process killed at random moments", () => {
  test("loses no event whose end was confirmed, doubles none, and its open requests are recorded as unreachable", async () => {
    const confirmed = new Set<number>();
    const announced = new Set<number>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const lines = await recordUntilKilled(
        NEW_YEAR_US + round * ROUND_US,
        50 + Math.floor(Math.random() * 4000),
      );
      for (const line of lines) {
        const [word, arrival] = line.split(" ");
        (word === "done" ? confirmed : announced).add(Number(arrival));
      }
      checkLedger(dataDir);
    }

    const { log } = createTestLog();
    const opened = await openLedger({
      dataDir,
      clock: createManualClock(),
      log,
      sync: "interval",
      retentionDays: null,
    });
    await opened.ledger.flush();
    const page = await opened.stats.listRequests(EVERYTHING, { limit: 10, offset: 0 });
    await opened.close();

    const events = checkLedger(dataDir, { isAtRest: true });
    const ok = new Set(events.filter((event) => event.outcome === "ok").map(({ id }) => id));
    expect([...confirmed].filter((arrival) => !ok.has(arrival))).toEqual([]);
    // The ids are the arrivals themselves, so one that was written twice would have made an arrival nobody announced.
    // The line of the very last event of a round may have died in the pipe.
    const unannounced = events.filter(({ id }) => !announced.has(id));
    expect(unannounced.length).toBeLessThanOrEqual(ROUNDS);
    const cutOff = events.filter((event) => event.outcome !== "ok");
    expect(cutOff.length).toBeGreaterThan(0);
    expect(
      cutOff.every((event) => event.error_kind === "connection_error" && event.status_code === 502),
    ).toBe(true);
    const opens = [...announced].filter((arrival) => !confirmed.has(arrival));
    const recorded = new Set(events.map(({ id }) => id));
    // Announced right before the kill and not yet opened: at most one a round.
    expect(opens.filter((arrival) => !recorded.has(arrival)).length).toBeLessThanOrEqual(ROUNDS);
    expect(page.total).toBe(events.length);
  }, 60_000);
});
