import { describe, expect, test } from "bun:test";
import { drain, type CreateWriterBench } from "./contract-writer.ts";
import { DAY_US, ENDING, LineEncoder, NEW_YEAR_US, SUBJECT } from "./usage.ts";

const DAY = NEW_YEAR_US / DAY_US;
/** Beyond three parts of label sets, and more rows than were ever added up at a stretch. */
const LABEL_SETS = 50_100;
const STEP_ROWS_MAX = 2_048;

/** The promises of sealing, whatever the engine. */
export function describeSealing(engineName: string, createBench: CreateWriterBench): void {
  describe(`sealing of ${engineName}`, () => {
    test("moves an hour of any number of label sets, step by step, and its month holds them all", async () => {
      await using bench = await createBench();
      const writer = await bench.openWriter();
      const encoder = new LineEncoder();
      const lines = Array.from({ length: LABEL_SETS }, (_, index) => {
        const subject = { ...SUBJECT, keyId: `key-${index}`, arrivedAtUs: NEW_YEAR_US + index };
        return Buffer.concat([encoder.begin(1, index, subject), encoder.end(1, index, ENDING)]);
      });
      bench.append(1, Buffer.concat(lines));
      await drain(writer);
      let steps = 0;
      while (await writer.seal(DAY + 1)) steps += 1;
      expect(steps).toBeGreaterThanOrEqual(LABEL_SETS / STEP_ROWS_MAX);
      expect(await writer.seal(DAY + 1)).toBe(false);
      await writer.close();
      expect(await bench.read("SELECT 1 FROM open_cell")).toEqual([]);
      const parts = await bench.read("SELECT period, count(*) AS parts FROM cells GROUP BY 1 ORDER BY 1");
      expect(parts).toEqual([0, 1, 2].map((period) => ({ period, parts: 4 })));
      await bench.checkTotals();
    }, 60_000);

    test("leaves the days from its bound on, and moves what comes late at the next pass", async () => {
      await using bench = await createBench();
      const writer = await bench.openWriter();
      const encoder = new LineEncoder();
      let sequence = 0;
      const record = async (...arrivals: readonly number[]) => {
        for (const arrivedAtUs of arrivals) {
          sequence += 1;
          bench.append(1, encoder.begin(1, sequence, { ...SUBJECT, arrivedAtUs }));
          bench.append(1, encoder.end(1, sequence, ENDING));
        }
        await drain(writer);
      };
      const openDays = async () =>
        (await bench.read<{ day: number }>("SELECT hour / 24 AS day FROM open_cell ORDER BY 1")).map(
          ({ day }) => day - DAY,
        );
      await record(NEW_YEAR_US, NEW_YEAR_US + DAY_US, NEW_YEAR_US + 2 * DAY_US);
      while (await writer.seal(DAY + 2));
      expect(await openDays()).toEqual([2]);
      await record(NEW_YEAR_US + 7, NEW_YEAR_US + DAY_US / 2);
      expect(await openDays()).toEqual([0, 0, 2]);
      await bench.checkTotals();
      while (await writer.seal(DAY + 2));
      expect(await openDays()).toEqual([2]);
      await writer.close();
      await bench.checkTotals();
    });
  });
}
