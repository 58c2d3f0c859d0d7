import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sealCells } from "#storage/cells/maintenance.ts";
import { PostgresMaintenance, runStep } from "#storage/postgres/ledger/maintenance.ts";
import type { UsageWriter } from "#storage/writer/writer.ts";
import { createChance } from "../../../support/chance.ts";
import { checkPostgresTotals } from "../../../support/postgres-totals.ts";
import { postgresMissing } from "../../../support/postgres.ts";
import { createTestLog, DAY_US, NEW_YEAR_US } from "../../../ledger/usage.ts";
import { createDatabase } from "../support.ts";
import { createSource, createSpool } from "./writer-bench.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-lanes-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe.skipIf(postgresMissing !== null)("three replicas that write one ledger", () => {
  test("beside sealing, late ends and retention are never stuck, and every total is the sum of its rows to the pico", async () => {
    await using database = await createDatabase();
    const chance = createChance(1);
    const { postgres } = database;
    const lanes = await Promise.all(
      [1, 2, 3].map(async (lane) => {
        const spool = await createSpool(postgres, join(folder, "together"), lane);
        return {
          source: createSource(spool),
          writer: await spool.openWriter(),
        };
      }),
    );
    const state = { isOver: false, round: 0 };
    const written = lanes.map(async ({ source, writer }) => {
      let count = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        for (let index = 0; index < PER_ROUND; index += 1, count += 1) {
          // Mostly the day of the round; now and then one that is sealed already, and one that retention has passed.
          const day = chance.below(5) === 0 ? chance.below(round / 2 + 1) : round / 2;
          source.add(Math.floor(day) * DAY_US + chance.below(24) * 3_600_000_000 + chance.below(50));
        }
        await writeAll(writer);
        state.round = Math.max(state.round, Math.floor(round / 2));
      }
      return count;
    });
    const { log, lines } = createTestLog();
    const maintenance = new PostgresMaintenance({ postgres, log });
    const maintain = (round: number) =>
      maintenance.run({ nowUs: NEW_YEAR_US + round * DAY_US, ageUsMax: 6 * DAY_US - 7_000_000_000 });
    const maintained = (async () => {
      while (!state.isOver) await maintain(state.round);
    })();
    const counts = await Promise.all(written);
    state.isOver = true;
    await maintained;
    await maintain(ROUNDS / 2);
    expect(lines).toEqual([]);
    await checkPostgresTotals(postgres);
    const [hours] = await postgres.all<{ n: number }>("SELECT sum(requests) AS n FROM hour_total");
    expect(hours?.n).toBe(counts.reduce((sum, count) => sum + count, 0));
    const [sealed] = await postgres.all<{ days: number; hours: number; lanes: number }>(
      `SELECT (SELECT count(*) FROM cells WHERE period = 1) AS days,
         (SELECT count(*) FROM cells WHERE period = 0) AS hours, (SELECT count(DISTINCT lane) FROM event) AS lanes`,
    );
    expect(sealed).toMatchObject({ days: ROUNDS / 2 - 1, lanes: 3 });
    expect(sealed?.hours).toBeGreaterThan(20);
    // An event that comes to an hour that is sealed is beside its cells until the next maintenance.
    lanes[0]!.source.add(9 * DAY_US + 5);
    lanes[0]!.source.add(9 * DAY_US + 6);
    await writeAll(lanes[0]!.writer);
    await checkPostgresTotals(postgres);
    while (await runStep(postgres, () => sealCells(NEW_YEAR_US / DAY_US + ROUNDS)));
    await checkPostgresTotals(postgres);
    expect(await postgres.all("SELECT 1 FROM open_cell")).toEqual([]);
    for (const { writer } of lanes) writer.close();
  }, 60_000);
});

const ROUNDS = 24;
const PER_ROUND = 60;

async function writeAll(writer: UsageWriter): Promise<void> {
  while (await writer.writeBatch());
}
