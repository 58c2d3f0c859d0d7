import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import * as fc from "fast-check";
import { segmentPath } from "#storage/journal/segments.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { SupersededError } from "#storage/writer/writer-engine.ts";
import { checkHandedIn } from "../support/ledger-totals.ts";
import { scale } from "../support/scale.ts";
import type { RandomUsage } from "./usage.ts";
import {
  arbitraryUsage,
  DAY_US,
  ENDING,
  isPending,
  NEW_YEAR_US,
  RUN_LINE,
  SUBJECT,
  LineEncoder,
  toBeginLine,
  toEndLine,
} from "./usage.ts";

/** A journal and the writers on it, without threads: what a Worker does, step by step. */
export interface WriterBench extends AsyncDisposable {
  readonly damage: { readonly lines: number; readonly tornBytes: number }[];
  readonly journalDirectory: string;
  append(segment: number, bytes: Uint8Array): void;
  /** The next writer, as a process that starts has it. */
  openWriter(): Promise<BenchWriter> | BenchWriter;
  /** The lane of the events is known once a writer is open. */
  readonly lane: number;
  /** Compares every total with the rows that are there. */
  checkTotals(): Promise<void>;
  /** Segments that exist. */
  segments(): number;
  read<Row>(sql: string): Promise<Row[]>;
}

/** Each step tells whether there is more to do. */
export interface BenchWriter {
  writeBatch(): Promise<boolean> | boolean;
  seal(beforeDay: number): Promise<boolean> | boolean;
  prune(beforeUs: number): Promise<boolean> | boolean;
  close(): Promise<void> | void;
}

export type CreateWriterBench = (readBytesMax?: number) => Promise<WriterBench> | WriterBench;

export function toLines(usages: readonly RandomUsage[], firstSequence = 1): Buffer[] {
  return usages.flatMap(({ subject, ending }, index) => [
    toBeginLine(firstSequence + index, subject),
    toEndLine(firstSequence + index, ending),
  ]);
}

export async function drain(writer: Pick<BenchWriter, "writeBatch">): Promise<void> {
  while (await writer.writeBatch());
}

export interface WriterContract {
  /** Only every so manieth cut of a line is tried. */
  readonly cutStride: number;
  /** Random ledgers of each kind. */
  readonly runs: number;
  readonly dialect: Pick<Dialect, "toStored">;
}

/** The promises of a writer, which brings journal lines into a ledger, whatever the engine. */
export function describeWriter(
  engineName: string,
  createBench: CreateWriterBench,
  { cutStride, runs, dialect }: WriterContract,
): void {
  describe(`totals of ${engineName}`, () => {
    test("are what a sum over all events gives, however they come in batches and whenever days are sealed", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(arbitraryUsage, { minLength: 1, maxLength: 40 }),
          fc.array(fc.constantFrom(-1, 0, 2, 31, 59, 61, 101), { maxLength: 4 }),
          fc.integer({ min: 600, max: 20_000 }),
          async (usages, sealing, readBytesMax) => {
            await using bench = await createBench(readBytesMax);
            const writer = await bench.openWriter();
            const perPart = Math.ceil(usages.length / (sealing.length + 1));
            for (let part = 0; part <= sealing.length; part += 1) {
              const some = usages.slice(part * perPart, (part + 1) * perPart);
              bench.append(1, Buffer.concat(toLines(some, part * perPart + 1)));
              await drain(writer);
              const days = sealing[part];
              if (days !== undefined) while (await writer.seal(NEW_YEAR_US / DAY_US + days));
            }
            await writer.close();
            await expectTotals(bench, usages);
          },
        ),
        { numRuns: runs * scale },
      );
    }, 30_000);

    test("survive retention, which removes rows and nothing else", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(arbitraryUsage, { minLength: 1, maxLength: 30 }),
          fc.array(arbitraryUsage, { maxLength: 5 }),
          fc.constantFrom(0, 1, 30, 59, 101),
          async (usages, late, days) => {
            await using bench = await createBench();
            const writer = await bench.openWriter();
            bench.append(1, Buffer.concat(toLines(usages)));
            await drain(writer);
            // Away from every arrival: events of one instant spread over the next microseconds.
            const cutUs = NEW_YEAR_US + days * DAY_US + 1_800_000_000;
            while (await writer.prune(cutUs));
            bench.append(1, Buffer.concat(toLines(late, usages.length + 1)));
            await drain(writer);
            await writer.close();
            await expectTotals(bench, [...usages, ...late], { rowsFromUs: cutUs });
          },
        ),
        { numRuns: Math.ceil(runs / 2) * scale },
      );
    }, 30_000);

    test("of money stay exact where doubles would not", async () => {
      await using bench = await createBench();
      const writer = await bench.openWriter();
      const costPico = 9_007_199_254_740_993_123_456_789n;
      const usages = Array.from({ length: 300 }, () => ({
        subject: SUBJECT,
        ending: { ...ENDING, costPico },
      }));
      bench.append(1, Buffer.concat(toLines(usages)));
      await drain(writer);
      await writer.close();
      const [row] = await bench.read<{ hi: number; lo: number }>(
        "SELECT cost_hi AS hi, cost_lo AS lo FROM open_cell",
      );
      expect(row!.lo).toBeLessThan(1e9);
      // The high half is a double: exact up to 2^53 times 10^9 pico, nine trillion currency units in one row.
      expect(BigInt(row!.lo)).toBe((costPico * 300n) % 1_000_000_000n);
    });

    test("a huge or odd quantity never stops the ledger", async () => {
      await using bench = await createBench();
      const writer = await bench.openWriter();
      const usage = {
        shape: "exclusive" as const,
        quantities: {
          input_tokens: Number.MAX_SAFE_INTEGER,
          audio_seconds: 1e300,
          cache_write_tokens: Number.MAX_SAFE_INTEGER,
          cache_write_1h_tokens: Number.MAX_SAFE_INTEGER,
        },
      };
      const ending = { ...ENDING, usage, durationUs: 1.5e300, timeToFirstByteUs: -3, costPico: 10n ** 40n };
      const arrivals = [Number.MAX_SAFE_INTEGER, 0, -5, Number.NaN, 1.5];
      const usages = Array.from({ length: 2000 }, (_, index) => ({
        subject: { ...SUBJECT, arrivedAtUs: arrivals[index % arrivals.length]! },
        ending,
      }));
      bench.append(1, Buffer.concat(toLines(usages)));
      await drain(writer);
      await writer.close();
      expect(await bench.read("SELECT sum(requests) AS n FROM open_cell")).toEqual([{ n: 2000 }]);
      expect(await bench.read("SELECT count(*) AS n FROM event")).toEqual([{ n: 2000 }]);
    });
  });

  describe(`the journal of ${engineName}`, () => {
    test("events of one instant get the next ids that are free, also after another start had used some", async () => {
      await using bench = await createBench();
      let sequence = 0;
      for (const offsets of [[0, 0, 0, 5], [0, 1, 4, 5, 5], [7], Array.from({ length: 490 }, () => 0)]) {
        const subjects = offsets.map((offset) => ({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + offset }));
        const usages = subjects.map((subject) => ({ subject, ending: ENDING }));
        bench.append(1, Buffer.concat(toLines(usages, sequence)));
        sequence += offsets.length;
        // A writer of its own each time, which remembers nothing.
        const writer = await bench.openWriter();
        await drain(writer);
        await writer.close();
      }
      const rows = await bench.read<{ id: number }>("SELECT id FROM event ORDER BY id");
      expect(rows.map(({ id }) => id - NEW_YEAR_US)).toEqual(Array.from({ length: 500 }, (_, id) => id));
    });

    test("a text that the database cannot hold as it is stops no batch, and is one label with what is stored alike", async () => {
      await using bench = await createBench();
      const names = ["a\0b", "a\ud800b", "\0", 'a"\\{},NULL', "日本\u{1f600}"];
      const usages = names.map((model, index) => ({
        subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index, model, client: model },
        ending: { ...ENDING, errorKind: index === 0 ? model : null },
      }));
      bench.append(1, Buffer.concat(toLines(usages)));
      const writer = await bench.openWriter();
      await drain(writer);
      await writer.close();
      const stored = names.map(dialect.toStored);
      const rows = await bench.read<{ model: string }>(
        "SELECT model FROM event JOIN combination c ON c.id = combination ORDER BY event.id",
      );
      expect(rows.map(({ model }) => model)).toEqual(stored);
      expect((await bench.read("SELECT 1 FROM combination")).length).toBe(new Set(stored).size);
      const kinds = await bench.read(
        `SELECT error_kind AS kind FROM event JOIN manner m ON m.id = manner JOIN result r ON r.id = result
         WHERE error_kind IS NOT NULL`,
      );
      expect(kinds).toEqual([{ kind: stored[0] }]);
      await bench.checkTotals();
    });

    test("a label set with a tier or a region is one of its own, and one without keeps its fingerprint", async () => {
      await using bench = await createBench();
      const told = [{}, { tier: "flex" }, { geo: "us" }, { tier: "flex", geo: "us" }, { geo: "flex" }];
      const usages = [...told, ...told].map((more, index) => ({
        subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index },
        ending: { ...ENDING, ...more },
      }));
      bench.append(1, Buffer.concat(toLines(usages)));
      const writer = await bench.openWriter();
      await drain(writer);
      await writer.close();
      const rows = await bench.read<{ tier: string | null; geo: string | null; fingerprint: Uint8Array }>(
        "SELECT tier, geo, fingerprint FROM event JOIN combination c ON c.id = combination ORDER BY event.id",
      );
      expect(rows.map(({ tier, geo }) => ({ tier, geo }))).toEqual(
        [...told, ...told].map((more) => Object.assign({ tier: null, geo: null }, more)),
      );
      expect((await bench.read("SELECT 1 FROM combination")).length).toBe(told.length);
      // As versions without regions, and those without tiers, have made them.
      const { principalId, principalName, keyId, relayTokenId, providerId } = SUBJECT;
      const named = [principalId, principalName, keyId, relayTokenId, providerId];
      const before = [...named, "fast", "fast-2026", "chat", "curl/8.5", '["app:checkout"]', "inclusive"];
      const toFingerprint = (row: readonly unknown[]) =>
        new Bun.CryptoHasher("sha256").update(JSON.stringify(row)).digest("hex").slice(0, 32);
      expect(rows.slice(0, 2).map(({ fingerprint }) => fingerprint.toHex())).toEqual([
        toFingerprint(before),
        toFingerprint([...before, "flex"]),
      ]);
      await bench.checkTotals();
    });

    test("the cost that a provider told is kept to the pico beside ours, and adds up apart from it", async () => {
      await using bench = await createBench();
      const reported = [0n, 999_999_999n, 1n, 10n ** 21n, undefined];
      const usages = reported.map((costReportedPico, index) => ({
        subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index },
        ending: { ...ENDING, costReportedPico },
      }));
      bench.append(1, Buffer.concat(toLines(usages)));
      const writer = await bench.openWriter();
      await drain(writer);
      await writer.close();
      const units = await bench.read<{ other: string | null }>(
        "SELECT other_units AS other FROM event ORDER BY id",
      );
      expect(units.map(({ other }) => other)).toEqual([
        '{"ch":0,"cl":0}',
        '{"ch":0,"cl":999999999}',
        '{"ch":0,"cl":1}',
        '{"ch":1000000000000,"cl":0}',
        null,
      ]);
      expect(
        await bench.read(
          `SELECT cost_reported_requests AS n, cost_reported_hi AS hi, cost_reported_lo AS lo, cost_hi * 1e9 + cost_lo AS own
           FROM hour_total`,
        ),
      ).toEqual([{ n: 4, hi: 1_000_000_000_001, lo: 0, own: 875_000_000 }]);
      await bench.checkTotals();
    });

    test("torn at any byte gives every complete event once and no other", async () => {
      const usages = [0, 1, 2].map((index) => ({
        subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index },
        ending: ENDING,
      }));
      const lines = toLines(usages);
      const whole = Buffer.concat(lines);
      const ends: number[] = [];
      for (const line of lines) ends.push((ends.at(-1) ?? 0) + line.length);
      const next = Buffer.concat([RUN_LINE, ...toLines(usages.slice(0, 1))]);
      // Every byte of the last two lines, and every line's end with its neighbours.
      const cuts = Array.from({ length: whole.length + 1 }, (_, at) => at).filter(
        (at) =>
          at % 23 === 0 || (at > ends[3]! && at % 5 === 0) || ends.some((end) => Math.abs(end - at) < 2),
      );
      for (const cut of cuts.filter((_, index) => index % cutStride === 0)) {
        await using bench = await createBench();
        bench.append(1, whole.subarray(0, cut));
        bench.append(2, next);
        const writer = await bench.openWriter();
        await drain(writer);
        await writer.close();
        const complete = ends.filter((end) => end <= cut).length;
        const counts = await bench.read<{ outcome: string; n: number }>(
          "SELECT outcome, sum(requests) AS n FROM hour_total GROUP BY outcome ORDER BY outcome",
        );
        const ok = Math.floor(complete / 2) + 1;
        expect({ cut, counts }).toEqual({
          cut,
          counts: [
            { outcome: "ok", n: ok },
            ...(complete % 2 === 1 ? [{ outcome: "unreachable", n: 1 }] : []),
          ],
        });
        expect(bench.segments()).toBe(1);
      }
    }, 60_000);

    test("a damaged line in the middle costs that line only, and is reported", async () => {
      await using bench = await createBench();
      const writer = await bench.openWriter();
      const lines = toLines(
        [0, 1].map((index) => ({
          subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index },
          ending: ENDING,
        })),
      );
      lines[1]![20]! ^= 1;
      bench.append(1, Buffer.concat(lines));
      await drain(writer);
      await writer.close();
      expect(await bench.read("SELECT id FROM event")).toEqual([{ id: NEW_YEAR_US + 1 }]);
      expect(bench.damage).toEqual([{ lines: 1, tornBytes: 0 }]);
    });

    test("a damaged block costs the requests that name its numbers for a while, and no more of the segment", async () => {
      await using bench = await createBench();
      const writer = await bench.openWriter();
      const encoder = new LineEncoder();
      const line = (stretch: number, sequence: number, client: string) => {
        const subject = { ...SUBJECT, client, arrivedAtUs: NEW_YEAR_US + sequence };
        return Buffer.concat([
          encoder.begin(stretch, sequence, subject),
          encoder.end(stretch, sequence, ENDING),
        ]);
      };
      const first = Buffer.concat([line(1, 1, "one"), line(1, 2, "one")]);
      const damaged = Buffer.concat([line(1, 3, "two"), line(1, 4, "two")]).fill(1);
      const rest = [line(1, 5, "two"), line(1, 6, "one"), line(2, 7, "two")];
      bench.append(1, Buffer.concat([first, damaged, ...rest]));
      await drain(writer);
      await writer.close();
      expect(await bench.read("SELECT id FROM event ORDER BY id")).toEqual(
        [1, 2, 6, 7].map((index) => ({ id: NEW_YEAR_US + index })),
      );
      // One line is that of the block with the begin that follows, and that request's end.
      expect(bench.damage).toEqual([{ lines: 2, tornBytes: 0 }]);
    });

    test("of recorded requests gives back who, what and at which prices, in each segment and past the numbers that are kept", async () => {
      await using bench = await createBench();
      const writer = await bench.openWriter();
      const encoder = new LineEncoder();
      const expected: unknown[] = [];
      // More different clients than numbers are kept for, and the first of them again.
      for (const [segment, count] of [
        [1, 10_050],
        [2, 20],
      ] as const) {
        const lines: Buffer[] = [];
        for (let index = 0; index < count + 20; index += 1) {
          const sequence = expected.length + 1;
          const client = `client/${index % count}`;
          const ending = { ...ENDING, prices: { input_tokens: index % 3, output_tokens: null } };
          lines.push(encoder.begin(segment, sequence, { ...SUBJECT, arrivedAtUs: sequence, client }));
          lines.push(encoder.end(segment, sequence, ending));
          expected.push({ id: sequence, client, prices: JSON.stringify(ending.prices) });
        }
        bench.append(segment, Buffer.concat(lines));
      }
      await drain(writer);
      await writer.close();
      expect(
        await bench.read(
          `SELECT event.id, client, prices FROM event JOIN combination c ON c.id = combination
         JOIN manner m ON m.id = manner JOIN price_set p ON p.id = price_set ORDER BY event.id`,
        ),
      ).toEqual(expected);
      expect(bench.damage).toEqual([]);
    }, 30_000);

    test.each([false, true])(
      "a request that begins a second time under its number is one, under the model of the second, across segments and a writer that starts anew (%p)",
      async (isReopened) => {
        await using bench = await createBench();
        let writer = await bench.openWriter();
        bench.append(1, RUN_LINE);
        bench.append(1, toBeginLine(1, { ...SUBJECT, model: null, upstreamName: null }));
        bench.append(2, toBeginLine(2, SUBJECT));
        await drain(writer);
        // The position has left the segment in which it began.
        expect(await bench.read("SELECT count(*) AS n FROM open_request")).toEqual([{ n: 1 }]);
        if (isReopened) {
          await writer.close();
          writer = await bench.openWriter();
        }
        bench.append(2, toBeginLine(1, { ...SUBJECT, model: "of the answer" }));
        bench.append(2, toEndLine(1, ENDING));
        bench.append(2, toEndLine(2, ENDING));
        bench.append(3, RUN_LINE);
        await drain(writer);
        await writer.close();
        expect(
          await bench.read(
            "SELECT model FROM event JOIN combination c ON c.id = combination ORDER BY model = 'of the answer'",
          ),
        ).toEqual([{ model: SUBJECT.model }, { model: "of the answer" }]);
        expect(await bench.read("SELECT * FROM open_request")).toEqual([]);
        expect(bench.damage).toEqual([]);
      },
    );

    test("that has lost lines which were committed counts none of their requests again, and those that were cut off once", async () => {
      await using bench = await createBench();
      const encoder = new LineEncoder();
      const begin = (sequence: number) =>
        encoder.begin(1, sequence, { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + sequence });
      for (const sequence of [1, 2, 3]) bench.append(1, begin(sequence));
      bench.append(1, encoder.end(1, 1, ENDING));
      const path = segmentPath(bench.journalDirectory, 1);
      const kept = readFileSync(path);
      const before = await bench.openWriter();
      await drain(before);
      bench.append(1, encoder.end(1, 2, ENDING));
      await drain(before);
      await before.close();
      // As after a loss of power, or in a copy of the folder: the request 2 stands in it without its end.
      writeFileSync(path, kept);
      bench.append(2, RUN_LINE);
      const after = await bench.openWriter();
      await drain(after);
      await after.close();
      const events = await bench.read<{ id: number; outcome: string }>(
        `SELECT event.id, outcome FROM event JOIN manner m ON m.id = manner JOIN result r ON r.id = result ORDER BY event.id`,
      );
      expect(events.map(({ id, outcome }) => [id - NEW_YEAR_US, outcome])).toEqual([
        [1, "ok"],
        [2, "ok"],
        [3, "unreachable"],
      ]);
      await bench.checkTotals();
    });

    test("is left alone by a writer once another one has begun, and what that one has written stays", async () => {
      await using bench = await createBench();
      const [first, later] = [0, 1].map((index) => ({
        subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index },
        ending: ENDING,
      }));
      const superseded = await bench.openWriter();
      bench.append(1, Buffer.concat(toLines([first!])));
      await drain(superseded);
      const writer = await bench.openWriter();
      bench.append(1, Buffer.concat(toLines([later!], 2)));
      expect(await drain(superseded).catch((cause: unknown) => cause)).toBeInstanceOf(SupersededError);
      expect(await bench.read("SELECT count(*) AS n FROM event")).toEqual([{ n: 1 }]);
      await drain(writer);
      expect(await bench.read("SELECT count(*) AS n FROM event")).toEqual([{ n: 2 }]);
      await superseded.close();
      await writer.close();
      await bench.checkTotals();
    });

    test("a writer that starts anew at any point goes on without losing or doubling", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(arbitraryUsage, { minLength: 1, maxLength: 12 }),
          fc.array(fc.nat(), { minLength: 24, maxLength: 24 }),
          fc.integer({ min: 600, max: 3000 }),
          async (usages, order, readBytesMax) => {
            await using bench = await createBench(readBytesMax);
            // Begins and ends interleaved, a new segment and a new writer now and then.
            const pending = usages.map((usage, index) => ({ usage, sequence: index + 1, isOpen: false }));
            const encoder = new LineEncoder();
            let segment = 1;
            bench.append(segment, RUN_LINE);
            for (const pick of order) {
              const at = pending[pick % Math.max(pending.length, 1)];
              if (at === undefined) break;
              if (at.isOpen) {
                bench.append(segment, encoder.end(segment, at.sequence, at.usage.ending));
                pending.splice(pending.indexOf(at), 1);
              } else {
                bench.append(segment, encoder.begin(segment, at.sequence, at.usage.subject));
                at.isOpen = true;
              }
              if (pick % 5 === 0) segment += 1;
              if (pick % 3 === 0) {
                const writer = await bench.openWriter();
                if (pick % 2 === 0) await drain(writer);
                else await writer.writeBatch();
                await writer.close();
              }
            }
            bench.append(segment + 1, RUN_LINE);
            const writer = await bench.openWriter();
            await drain(writer);
            await writer.close();
            const cutOff = pending.filter(({ isOpen }) => isOpen).length;
            const never = pending.filter(({ isOpen }) => !isOpen).length;
            expect(await bench.read("SELECT count(*) AS n FROM event")).toEqual([
              { n: usages.length - never },
            ]);
            expect(
              await bench.read(
                `SELECT count(*) AS n FROM event JOIN manner m ON m.id = manner JOIN result r ON r.id = result
               WHERE outcome = 'unreachable' AND error_kind = 'interrupted' AND status_code = 502`,
              ),
            ).toEqual([{ n: cutOff }]);
            expect(await bench.read("SELECT * FROM open_request")).toEqual([]);
            expect(bench.segments()).toBe(1);
            expect(bench.damage).toEqual([]);
          },
        ),
        { numRuns: runs * scale },
      );
    }, 60_000);
  });
}

async function expectTotals(
  bench: WriterBench,
  usages: readonly RandomUsage[],
  { rowsFromUs = 0 } = {},
): Promise<void> {
  const isKept = ({ subject, ending }: RandomUsage) => subject.arrivedAtUs >= rowsFromUs || isPending(ending);
  expect((await bench.read("SELECT id FROM event")).length).toBe(usages.filter(isKept).length);
  await checkHandedIn(bench, usages);
}
