import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresWriter } from "#storage/postgres/ledger/write/postgres-writer.ts";
import { Interning } from "#storage/writer/interning.ts";
import type { UsageWriter } from "#storage/writer/writer.ts";
import { DAY_US, ENDING, NEW_YEAR_US, SUBJECT, toBeginLine, toEndLine } from "../../../ledger/usage.ts";
import { checkPostgresTotals } from "../../../support/postgres-totals.ts";
import { postgresMissing } from "../../../support/postgres.ts";
import { silentLog } from "../../support.ts";
import { createDatabase } from "../support.ts";
import { createSpool } from "./writer-bench.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-rows-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe.skipIf(postgresMissing !== null)("rows of PostgreSQL", () => {
  test("hold no NUL and no half of a character, and what a caller sends of them stops no batch", async () => {
    await using database = await createDatabase();
    const spool = await createSpool(database.postgres, join(folder, "text"), 1);
    const names = ["a\0b", "a\ud800b", "\0", 'a"\\{},NULL', "日本\u{1f600}"];
    for (const [index, model] of names.entries()) {
      const subject = { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index, model, client: model };
      const ending = { ...ENDING, errorKind: index === 0 ? "a\0b" : null };
      spool.append(1, Buffer.concat([toBeginLine(index, subject), toEndLine(index, ending)]));
    }
    const writer = await spool.openWriter();
    await drain(writer);
    writer.close();
    const rows = await database.postgres.all<{ model: string }>(
      "SELECT model FROM event JOIN combination c ON c.id = combination ORDER BY event.id",
    );
    expect(rows.map(({ model }) => model)).toEqual([
      "a\u{fffd}b",
      "a\u{fffd}b",
      "\u{fffd}",
      'a"\\{},NULL',
      "日本\u{1f600}",
    ]);
    // Two that are stored alike are one combination.
    const [combinations] = await database.postgres.all<{ n: number }>(
      "SELECT count(*) AS n FROM combination",
    );
    expect(combinations?.n).toBe(4);
    const [results] = await database.postgres.all<{ kind: string }>(
      "SELECT error_kind AS kind FROM result WHERE error_kind IS NOT NULL",
    );
    expect(results?.kind).toBe("a\u{fffd}b");
    await checkPostgresTotals(database.postgres);
  });

  test("keep the number of what they have in common when new ones empty the writer's memory", async () => {
    await using database = await createDatabase();
    const claim = { id: "spool", lane: 1, run: 1 };
    const engine = new PostgresWriter({ postgres: database.postgres, claim, log: silentLog });
    const interning = new Interning(2);
    const { usage, ...manner } = ENDING;
    const toEvent = (model: string) => ({
      dimensions: { ...SUBJECT, model },
      manner: { ...manner, shape: usage?.shape ?? null },
      streamed: false,
      combination: 0,
      result: 0,
      eventClass: 0,
    });
    const first = ["a", "b", "c"].map(toEvent);
    await engine.transact(() => interning.intern(first));
    const later = ["a", "d"].map(toEvent);
    await engine.transact(() => interning.intern(later));
    expect(later.map(({ combination }) => combination)).toEqual([first[0]?.combination ?? 0, 4]);
  });

  test("of one instant have ids of their own in each lane, also after another run had used the next ones, and may be the same in two", async () => {
    await using database = await createDatabase();
    const lanes = await Promise.all(
      [1, 2].map((lane) => createSpool(database.postgres, join(folder, "ids"), lane)),
    );
    let sequence = 0;
    const write = async (lane: number, offsets: readonly number[]) => {
      const spool = lanes[lane - 1]!;
      for (const offset of offsets) {
        sequence += 1;
        const subject = { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + offset };
        spool.append(1, Buffer.concat([toBeginLine(sequence, subject), toEndLine(sequence, ENDING)]));
      }
      // Each time a run of its own, which remembers nothing.
      const writer = await spool.openWriter();
      await drain(writer);
      writer.close();
    };
    await write(1, [0, 0, 0, 5]);
    await write(2, [0, 1]);
    await write(1, [0, 1, 4, 5, 5]);
    await write(1, [7]);
    const rows = await database.postgres.all<{ id: number; lane: number }>(
      "SELECT id, lane FROM event ORDER BY lane, id",
    );
    expect(rows.map(({ id, lane }) => [lane, id - NEW_YEAR_US])).toEqual([
      ...[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((id) => [1, id]),
      ...[0, 1].map((id) => [2, id]),
    ]);
    const batches = await database.postgres.all<{ lane: number; ids: number[] }>(
      "SELECT lane, ids FROM recorded_batch ORDER BY lane, number",
    );
    const told = batches.flatMap(({ lane, ids }) => ids.map((id) => `${lane} ${id}`));
    expect(told.toSorted()).toEqual(rows.map(({ id, lane }) => `${lane} ${id}`).toSorted());
    await checkPostgresTotals(database.postgres);
  });

  test("that ended on another day than they arrived are carried over by lane, as limits count them", async () => {
    await using database = await createDatabase();
    for (const lane of [1, 2]) {
      const spool = await createSpool(database.postgres, join(folder, "carried"), lane);
      for (let index = 0; index < 3; index += 1) {
        const subject = { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + DAY_US - 1_000 + index };
        spool.append(1, Buffer.concat([toBeginLine(index, subject), toEndLine(index, ENDING)]));
      }
      const writer = await spool.openWriter();
      await drain(writer);
      writer.close();
    }
    const rows = await database.postgres.all<Record<string, number>>(
      `SELECT lane, ended_day - arrived_day AS days, requests, unpriced_requests, unknown_requests, cost_hi, cost_lo, tokens
       FROM carried_total ORDER BY lane`,
    );
    const carried = {
      days: 1,
      requests: 3,
      unpriced_requests: 3,
      unknown_requests: 0,
      cost_hi: 0,
      cost_lo: 525_000_000,
      tokens: 360,
    };
    expect([...rows]).toEqual([
      { lane: 1, ...carried },
      { lane: 2, ...carried },
    ]);
  });
});

async function drain(writer: UsageWriter): Promise<void> {
  while (await writer.writeBatch());
}
