import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { drain } from "../../../ledger/contract-writer.ts";
import { ENDING, NEW_YEAR_US, SUBJECT, toBeginLine, toEndLine } from "../../../ledger/usage.ts";
import { checkPostgresTotals } from "../../../support/postgres-totals.ts";
import { postgresMissing } from "../../../support/postgres.ts";
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
});
