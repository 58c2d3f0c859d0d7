import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { readCostReported } from "#storage/cells/event-row.ts";
import { priceUsage } from "#usage/cost.ts";
import type { Settlement, UsageEnding } from "#usage/event.ts";
import { encodeJournalLine } from "#usage/journal-line.ts";
import { scale } from "../support/scale.ts";
import { checkHandedIn, readCellRows } from "../support/ledger-totals.ts";
import { type CreateWriterBench, drain } from "./contract-writer.ts";
import {
  arbitraryEnding,
  arbitrarySubject,
  DAY_US,
  ENDING,
  NEW_YEAR_US,
  PENDING,
  type RandomUsage,
  RUN_LINE,
  SUBJECT,
  toBeginLine,
  toEndLine,
  toSettleLine,
} from "./usage.ts";

const HOUR_US = DAY_US / 24;

/** The settlement of a request's event, and what it is from then on. */
export function toSettlement(
  { subject, ending }: RandomUsage,
  told: UsageEnding,
  { settledAtUs, lane = 0 }: { readonly settledAtUs: number; readonly lane?: number },
): { readonly settlement: Settlement; readonly settled: RandomUsage } {
  const { statusCode, outcome, errorKind, usage, tier, prices, costPico, unpriced } = told;
  const figures = { statusCode, outcome, errorKind, usage, tier, prices, costPico, unpriced };
  const { arrivedAtUs } = subject;
  const { timeToFirstByteUs, costReportedPico } = ending;
  return {
    settlement: { event: { eventId: arrivedAtUs, lane }, settledAtUs, ...figures },
    settled: {
      subject,
      // A cost that was told early stays.
      ending: { ...figures, durationUs: settledAtUs - arrivedAtUs, timeToFirstByteUs, costReportedPico },
    },
  };
}

const settledEnding = arbitraryEnding
  .filter(({ usage }) => usage?.shape !== "pending")
  .map((ending) => Object.assign({}, ending, { failure: undefined }))
  .map((ending) => Object.assign(ending, priceUsage(ending.usage, ending.prices)));

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("end" as const),
      subject: arbitrarySubject,
      ending: fc.oneof(fc.constant(PENDING), arbitraryEnding),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("settle" as const),
      pick: fc.nat(),
      ending: settledEnding,
      afterUs: fc.constantFrom(0, 5_000_000, 3_600_000_000, DAY_US, 40 * DAY_US),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: "drain" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("seal" as const), days: fc.constantFrom(2, 31, 59, 101) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("prune" as const), days: fc.constantFrom(0, 1, 30, 59) }),
  },
);

/** The promises of pending events, whatever the engine. */
export function describeSettlements(
  engineName: string,
  createBench: CreateWriterBench,
  { runs }: { readonly runs: number },
): void {
  const record = async (usages: readonly RandomUsage[]) => {
    const bench = await createBench();
    const writer = await bench.openWriter();
    const lines = usages.flatMap(({ subject, ending }, index) => [
      toBeginLine(index + 1, subject),
      toEndLine(index + 1, ending),
    ]);
    bench.append(1, Buffer.concat(lines));
    await drain(writer);
    return { bench, writer };
  };

  describe(`a pending event of ${engineName}`, () => {
    test("is one event before and after its settlement, at its arrival, with what it cost", async () => {
      const usage = { subject: SUBJECT, ending: PENDING };
      const { bench, writer } = await record([usage]);
      await using _ = bench;
      expect(await bench.read("SELECT id FROM pending_event")).toEqual([{ id: SUBJECT.arrivedAtUs }]);
      const { settlement, settled } = toSettlement(usage, ENDING, {
        settledAtUs: SUBJECT.arrivedAtUs + DAY_US,
        lane: bench.lane,
      });
      bench.append(1, toSettleLine(settlement));
      await drain(writer);
      await writer.close();
      expect(
        await bench.read("SELECT id, duration_us, first_byte_us, cost_hi, output_tokens FROM event"),
      ).toEqual([
        {
          id: SUBJECT.arrivedAtUs,
          duration_us: DAY_US,
          first_byte_us: ENDING.timeToFirstByteUs,
          cost_hi: 0,
          output_tokens: 20,
        },
      ]);
      expect(await bench.read("SELECT id FROM pending_event")).toEqual([]);
      // Nothing is left of what it was: no hour that counts nothing.
      expect(await bench.read("SELECT requests FROM hour_total")).toEqual([{ requests: 1 }]);
      expect(await bench.read("SELECT requests, last_seen_us FROM open_cell ORDER BY requests")).toEqual([
        { requests: 0, last_seen_us: 0 },
        { requests: 1, last_seen_us: NEW_YEAR_US },
      ]);
      expect(await bench.read("SELECT arrived_day, ended_day, requests FROM carried_total")).toEqual([
        { arrived_day: NEW_YEAR_US / DAY_US, ended_day: NEW_YEAR_US / DAY_US + 1, requests: 1 },
      ]);
      await checkHandedIn(bench, [settled]);
      await bench.checkTotals();
    });

    test("keeps a cost that was told early where its settlement tells none, and takes one that is told later", async () => {
      const early = { ...PENDING, costReportedPico: 7n };
      const subjectOf = (after: number) => ({ ...SUBJECT, arrivedAtUs: SUBJECT.arrivedAtUs + after });
      const usages = [0, 1].map((after) => ({ subject: subjectOf(after), ending: early }));
      const { bench, writer } = await record(usages);
      await using _ = bench;
      const settledAtUs = SUBJECT.arrivedAtUs + DAY_US;
      const [silent, told] = usages.map((usage) =>
        toSettlement(usage, ENDING, { settledAtUs, lane: bench.lane }),
      );
      if (silent === undefined || told === undefined) throw new Error("there is no settlement");
      bench.append(
        1,
        Buffer.concat([
          toSettleLine(silent.settlement),
          toSettleLine({ ...told.settlement, costReportedPico: 9n }),
        ]),
      );
      await drain(writer);
      await writer.close();
      await checkHandedIn(bench, [
        silent.settled,
        { ...told.settled, ending: { ...told.settled.ending, costReportedPico: 9n } },
      ]);
      await bench.checkTotals();
      const rows = await bench.read("SELECT other_units FROM event ORDER BY id");
      const toReported = (row: unknown) => readCostReported(Object.assign({ other_units: null }, row));
      expect(rows.map(toReported)).toEqual([7n, 9n]);
    });

    test("is settled once: what comes later changes nothing, nor what is told of one that is not pending", async () => {
      const usages = [
        { subject: SUBJECT, ending: PENDING },
        { subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 10 }, ending: ENDING },
      ] as const;
      const { bench, writer } = await record(usages);
      await using _ = bench;
      const first = toSettlement(usages[0], ENDING, {
        settledAtUs: NEW_YEAR_US + 5_000_000,
        lane: bench.lane,
      });
      const second = toSettlement(
        usages[0],
        { ...ENDING, costPico: 1n },
        { settledAtUs: NEW_YEAR_US + 6_000_000, lane: bench.lane },
      );
      const other = toSettlement(
        usages[1],
        { ...ENDING, costPico: 2n },
        { settledAtUs: NEW_YEAR_US + 6_000_000, lane: bench.lane },
      );
      for (const { settlement } of [first, second, first, other]) bench.append(1, toSettleLine(settlement));
      await drain(writer);
      await writer.close();
      expect(bench.damage).toEqual([]);
      await checkHandedIn(bench, [first.settled, usages[1]]);
      await bench.checkTotals();
    });

    test("that a kill has cut off is settled as well: its answer may have told its id before", async () => {
      await using bench = await createBench();
      const writer = await bench.openWriter();
      bench.append(1, Buffer.concat([RUN_LINE, toBeginLine(1, SUBJECT), RUN_LINE]));
      await drain(writer);
      const cutOff = { subject: SUBJECT, ending: { ...PENDING, timeToFirstByteUs: null } };
      const { settlement, settled } = toSettlement(cutOff, ENDING, {
        settledAtUs: NEW_YEAR_US + 5_000_000,
        lane: bench.lane,
      });
      bench.append(1, toSettleLine(settlement));
      await drain(writer);
      await writer.close();
      await checkHandedIn(bench, [settled]);
      await bench.checkTotals();
    });

    test.each(["ends as pending", "is cut off", "ends with its usage"] as const)(
      "that is settled while its request is open has that once it %s, through another segment and another start",
      async (how) => {
        await using bench = await createBench();
        const first = await bench.openWriter();
        const open = { subject: SUBJECT, ending: PENDING };
        const told = { ...ENDING, outcome: "cancelled" as const };
        const { settlement, settled } = toSettlement(open, told, {
          settledAtUs: NEW_YEAR_US + 5_000_000,
          lane: bench.lane,
        });
        bench.append(1, Buffer.concat([RUN_LINE, toBeginLine(1, SUBJECT), toSettleLine(settlement)]));
        await drain(first);
        // A second settlement changes nothing.
        bench.append(2, toSettleLine({ ...settlement, costPico: 1n, settledAtUs: NEW_YEAR_US + 6_000_000 }));
        await drain(first);
        await first.close();
        const second = await bench.openWriter();
        const ending = how === "ends as pending" ? PENDING : ENDING;
        bench.append(2, how === "is cut off" ? RUN_LINE : toEndLine(1, ending));
        await drain(second);
        if (how !== "ends with its usage") expect(await bench.read("SELECT id FROM settlement")).toEqual([]);
        expect(await bench.read("SELECT id FROM pending_event")).toEqual([]);
        await second.close();
        const cutOff = { ...settled, ending: { ...settled.ending, timeToFirstByteUs: null } };
        await checkHandedIn(bench, [
          how === "ends as pending" ? settled : how === "is cut off" ? cutOff : { subject: SUBJECT, ending },
        ]);
        await bench.checkTotals();
      },
    );

    test("is what a kill leaves of an answer in the background, through another segment, and is settled", async () => {
      await using bench = await createBench();
      const writer = await bench.openWriter();
      const { arrivedAtUs, streamed, ...dimensions } = SUBJECT;
      const begin = { kind: "begin", sequence: 1, arrivedAtUs, streamed, dimensions } as const;
      const background = Buffer.from(encodeJournalLine({ ...begin, isBackground: true }));
      bench.append(1, Buffer.concat([RUN_LINE, toBeginLine(1, SUBJECT)]));
      bench.append(2, background);
      bench.append(3, Buffer.concat([toBeginLine(2, { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 10 })]));
      await drain(writer);
      await writer.close();
      const second = await bench.openWriter();
      bench.append(3, RUN_LINE);
      await drain(second);
      expect(await bench.read("SELECT id FROM pending_event")).toEqual([{ id: NEW_YEAR_US }]);
      const left = {
        subject: SUBJECT,
        ending: { ...PENDING, durationUs: 0, timeToFirstByteUs: null },
      };
      const { settlement, settled } = toSettlement(left, ENDING, {
        settledAtUs: NEW_YEAR_US + 5_000_000,
        lane: bench.lane,
      });
      bench.append(3, toSettleLine(settlement));
      await drain(second);
      await second.close();
      expect(bench.damage).toEqual([]);
      expect(await bench.read("SELECT id FROM pending_event")).toEqual([]);
      expect(await bench.read("SELECT id FROM event WHERE output_tokens = 20")).toEqual([
        { id: settled.subject.arrivedAtUs },
      ]);
      await bench.checkTotals();
    });

    test("leaves when a sealed row was seen last, where retention has removed the rest of what it counts", async () => {
      const [earlyUs, lateUs] = [NEW_YEAR_US, NEW_YEAR_US + 10 * HOUR_US];
      await using bench = await createBench();
      const writer = await bench.openWriter();
      const begins = [earlyUs, lateUs].map((arrivedAtUs, index) =>
        toBeginLine(index, { ...SUBJECT, arrivedAtUs }),
      );
      bench.append(1, Buffer.concat([...begins, RUN_LINE]));
      await drain(writer);
      while (await writer.seal(NEW_YEAR_US / DAY_US + 1));
      while (await writer.prune(NEW_YEAR_US + 5 * HOUR_US));
      const late = { subject: { ...SUBJECT, arrivedAtUs: lateUs }, ending: ENDING };
      const settledAtUs = lateUs + HOUR_US;
      bench.append(1, toSettleLine(toSettlement(late, ENDING, { settledAtUs, lane: bench.lane }).settlement));
      await drain(writer);
      await writer.close();
      const sealed = await bench.read<{ columns: Uint8Array<ArrayBuffer> }>(
        "SELECT columns FROM cells WHERE period > 0",
      );
      const seen = sealed.flatMap(({ columns }) =>
        readCellRows(columns).map(({ last_seen_us }) => last_seen_us),
      );
      expect(seen).toEqual([lateUs, lateUs]);
    });

    test("is no row that retention removes, however many there are, and goes once it is settled", async () => {
      const usages = [0, 1, 2].map((index) => ({
        subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index },
        ending: index === 1 ? ENDING : PENDING,
      }));
      const { bench, writer } = await record(usages);
      await using _ = bench;
      const ids = async () =>
        (await bench.read<{ id: number }>("SELECT id FROM event ORDER BY id")).map(({ id }) => id);
      while (await writer.seal(NEW_YEAR_US / DAY_US + 1));
      while (await writer.prune(NEW_YEAR_US + DAY_US));
      expect(await ids()).toEqual([NEW_YEAR_US, NEW_YEAR_US + 2]);
      const [first] = usages;
      const { settlement, settled } = toSettlement(first!, ENDING, {
        settledAtUs: NEW_YEAR_US + 2 * DAY_US,
        lane: bench.lane,
      });
      bench.append(1, toSettleLine(settlement));
      await drain(writer);
      while (await writer.prune(NEW_YEAR_US + 2 * DAY_US));
      expect(await ids()).toEqual([NEW_YEAR_US + 2]);
      await writer.close();
      await checkHandedIn(bench, [settled, ...usages.slice(1)]);
      await bench.checkTotals();
    });

    test("leaves totals that are the sum of the rows, in whatever order ends, settlements, starts, sealing and retention come", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 4, maxLength: 40 }),
          fc.integer({ min: 900, max: 20_000 }),
          async (steps, readBytesMax) => {
            await using bench = await createBench(readBytesMax);
            let writer = await bench.openWriter();
            const usages: RandomUsage[] = [];
            const waiting = new Set<number>();
            for (const one of steps) {
              if (one.kind === "end") {
                // Away from every other, and from where rows are cut off.
                const subject = { ...one.subject, arrivedAtUs: one.subject.arrivedAtUs + usages.length * 10 };
                if (one.ending.usage?.shape === "pending") waiting.add(usages.length);
                usages.push({ subject, ending: one.ending });
                const begun = toBeginLine(usages.length, subject);
                bench.append(1, Buffer.concat([begun, toEndLine(usages.length, one.ending)]));
              } else if (one.kind === "settle") {
                const index = one.pick % Math.max(usages.length, 1);
                const usage = usages[index];
                if (usage === undefined) continue;
                const settledAtUs = usage.subject.arrivedAtUs + one.afterUs;
                const { settlement, settled } = toSettlement(usage, one.ending, {
                  settledAtUs,
                  lane: bench.lane,
                });
                bench.append(1, toSettleLine(settlement));
                if (waiting.delete(index)) usages[index] = settled;
              } else if (one.kind === "restart") {
                await writer.writeBatch();
                await writer.close();
                writer = await bench.openWriter();
              } else {
                await drain(writer);
                if (one.kind === "seal") while (await writer.seal(NEW_YEAR_US / DAY_US + one.days));
                if (one.kind === "prune")
                  while (await writer.prune(NEW_YEAR_US + one.days * DAY_US + 1_800_000_000));
              }
            }
            await drain(writer);
            await writer.close();
            const pending = [...waiting]
              .map((index) => usages[index]?.subject.arrivedAtUs ?? 0)
              .sort((one, other) => one - other);
            expect(
              (await bench.read<{ id: number }>("SELECT id FROM pending_event ORDER BY id")).map(
                ({ id }) => id,
              ),
            ).toEqual(pending);
            expect(
              await bench.read(
                `SELECT e.id FROM event AS e JOIN combination AS c ON c.id = e.combination WHERE shape = 'pending' ORDER BY e.id`,
              ),
            ).toEqual(pending.map((id) => ({ id })));
            await checkHandedIn(bench, usages);
            await bench.checkTotals();
          },
        ),
        { numRuns: runs * scale },
      );
    }, 60_000);
  });
}
