import { describe, expect, test } from "bun:test";
import { RecordedBatches } from "#storage/postgres/ledger/recorded-batches.ts";
import type { Sql } from "#storage/postgres/connection/pool.ts";
import { postgresMissing } from "../../support/postgres.ts";
import { createDatabase } from "./support.ts";

/** Does what a writer does when it commits a batch. */
async function commit(sql: Sql, lane: number, ids: readonly number[]): Promise<void> {
  await sql.run("INSERT INTO spool (lane, id) VALUES ($1::integer, $1::text) ON CONFLICT DO NOTHING", [lane]);
  await sql.run(
    `WITH s AS (UPDATE spool SET batch = batch + 1, heard_at = clock_timestamp() WHERE lane = $1 RETURNING batch)
     INSERT INTO recorded_batch (lane, number, ids) SELECT $1, batch, $2::bigint[] FROM s`,
    [lane, ids],
  );
}

describe.skipIf(postgresMissing !== null)("what replicas have recorded", () => {
  test("is told in order, of every lane, to a cursor that any replica gave, once", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    const [one, other] = [new RecordedBatches(postgres), new RecordedBatches(await database.open())];
    await commit(postgres, 1, [1, 2]);
    const start = await one.since("");
    expect(start).toMatchObject({ ids: [], hasGap: false });
    await commit(postgres, 1, [20, 10]);
    await commit(postgres, 2, [15]);
    await commit(postgres, 1, [30]);
    const found = await other.since(start.cursor);
    expect(found).toMatchObject({ ids: [20, 10, 15, 30], lanes: [1, 1, 2, 1], hasGap: false });
    expect(await one.since(found.cursor)).toMatchObject({ ids: [], hasGap: false });
    // A look is answered twice alike.
    expect(await one.since(start.cursor)).toMatchObject({ ids: [20, 10, 15, 30] });
  });

  test("that is nothing costs one small question, for all who ask together", async () => {
    await using database = await createDatabase();
    await commit(database.postgres, 1, [1]);
    const asked: string[] = [];
    const counted: Sql = {
      run: (...call) => database.postgres.run(...call),
      all: (text, bindings) => {
        asked.push(text);
        return database.postgres.all(text, bindings);
      },
    };
    const recorded = new RecordedBatches(counted);
    const { cursor } = await recorded.since("");
    await Promise.all(Array.from({ length: 20 }, () => recorded.since(cursor)));
    // The first look, one under way, and one that all who came meanwhile share.
    expect(asked).toHaveLength(3);
    expect(new Set(asked).size).toBe(1);
  });

  test("has a gap for a cursor of another database, one that is too old, and what is no cursor", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    await commit(postgres, 1, [1]);
    const recorded = new RecordedBatches(postgres);
    const { cursor } = await recorded.since("");
    const seconds = Number.parseInt(cursor.split(".")[0]!, 36);
    await commit(postgres, 1, [2]);
    const ahead = `${seconds.toString(36)}.1.z`;
    const old = `${(seconds - 15 * 60).toString(36)}.1.1`;
    const later = `${(seconds + 15 * 60).toString(36)}.1.1`;
    for (const unknown of [
      ahead,
      old,
      later,
      "garbage",
      "x",
      ".",
      "1.2",
      "lk2.-1.4",
      `${cursor}.`,
      `${cursor}.1`,
      "e.5",
    ]) {
      expect([unknown, await recorded.since(unknown)]).toEqual([
        unknown,
        { ids: [], lanes: [], cursor: expect.any(String), hasGap: true },
      ]);
    }
  });

  test("has a gap where a batch is no longer kept, and where it is too much to be read by its ids", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    await commit(postgres, 1, [1]);
    const recorded = new RecordedBatches(postgres);
    const start = await recorded.since("");
    await commit(postgres, 1, [2]);
    await commit(postgres, 1, [3]);
    await postgres.run("DELETE FROM recorded_batch WHERE number = 2");
    const gap = await recorded.since(start.cursor);
    expect(gap).toMatchObject({ ids: [], hasGap: true });
    for (let batch = 0; batch < 4; batch += 1)
      await commit(
        postgres,
        1,
        Array.from({ length: 10_000 }, (_, index) => batch * 10_000 + index),
      );
    expect(await recorded.since(gap.cursor)).toMatchObject({ ids: [], hasGap: true });
  });

  test("by a lane that had been silent for hours comes whole, though no cursor names it", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    for (const id of [1, 2, 3]) await commit(postgres, 7, [id]);
    await postgres.run("UPDATE spool SET heard_at = now() - interval '2 hours'");
    await postgres.run("DELETE FROM recorded_batch");
    const recorded = new RecordedBatches(postgres);
    const { cursor } = await recorded.since("");
    expect(cursor).not.toContain(".");
    await commit(postgres, 7, [4]);
    expect(await recorded.since(cursor)).toMatchObject({ ids: [4], lanes: [7], hasGap: false });
  });
});
