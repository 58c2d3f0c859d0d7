import { describe, expect, test } from "bun:test";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import {
  createManualClock,
  createTestLog,
  ENDING,
  EVERYTHING,
  NEW_YEAR_US,
  SUBJECT,
} from "../../../ledger/usage.ts";
import { postgresMissing } from "../../../support/postgres.ts";
import { until } from "../../../support/waiting.ts";
import { createPostgresEngine } from "../../engines/postgres.ts";
import { PAGE } from "../../support.ts";

/** A loss is looked for every second. */
const NOTICED_MS_MAX = 5_000;

describe.skipIf(postgresMissing !== null)("a replica whose data folder is removed", () => {
  test("makes it again with all that was recorded and says so, and is unready for as long as it cannot", async () => {
    await using engine = createPostgresEngine();
    const { log, lines } = createTestLog();
    const storage = await engine.serve({ clock: createManualClock(), log });
    const untilServing = (isServing: boolean) =>
      until(
        () => storage.health().isServing === isServing,
        () => lines.join(""),
        NOTICED_MS_MAX,
      );
    const record = (arrivedAtUs: number) => storage.ledger.open({ ...SUBJECT, arrivedAtUs }).end(ENDING);
    await record(NEW_YEAR_US);
    rmSync(engine.dataDir, { recursive: true });
    writeFileSync(engine.dataDir, "in the way");
    await untilServing(false);
    await record(NEW_YEAR_US + 1);
    rmSync(engine.dataDir);
    await untilServing(true);
    await record(NEW_YEAR_US + 2);
    await storage.ledger.flush();
    const { rows } = await storage.stats.listRequests(EVERYTHING, PAGE);
    expect(rows.map(({ arrivedAtUs }) => arrivedAtUs - NEW_YEAR_US)).toEqual([2, 1, 0]);
    const told = lines.filter((line) => line.includes(`file="${basename(engine.dataDir)}"`));
    expect(told.map((line) => line.trim().split(" ", 1)[0])).toEqual(["ERROR", "ERROR", "WARN"]);
    const { lane } = storage;
    await storage.close();
    expect(readdirSync(engine.dataDir).toSorted()).toEqual(["serving.lock", "spool"]);
    // It is the same spool: nothing of it is counted a second time.
    const next = await engine.serve({ clock: createManualClock() });
    await next.ledger.flush();
    expect([next.lane, (await next.stats.listRequests(EVERYTHING, PAGE)).total]).toEqual([lane, 3]);
  });
});
