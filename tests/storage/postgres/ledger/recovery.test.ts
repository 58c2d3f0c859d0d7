import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UsageWriter } from "#storage/writer/writer.ts";
import { SupersededError } from "#storage/writer/writer-engine.ts";
import type { Commit } from "#storage/threads/writer-tasks.ts";
import { RUN_LINE } from "../../../ledger/usage.ts";
import { checkPostgresTotals } from "../../../support/postgres-totals.ts";
import { postgresMissing, sharedPostgres } from "../../../support/postgres.ts";
import { createDatabase } from "../support.ts";
import { createCommitCutter } from "./commit-cutter.ts";
import { dumpSchema, restoreSchema } from "./schema-dump.ts";
import { createSource, createSpool } from "./writer-bench.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-recovery-"));
afterAll(() => rmSync(folder, { recursive: true }));

let counter = 0;
const nextFolder = () => join(folder, String((counter += 1)));

/** Segments stay: the writer may have to read them again. */
const KEPT = { keptMs: 60_000 };

describe.skipIf(postgresMissing !== null)("a writer on PostgreSQL", () => {
  test("whose answer to COMMIT is cut off counts each event once, whether the commit was made or not, and tells of each once", async () => {
    await using database = await createDatabase();
    const server = await sharedPostgres();
    const { postgres, target } = database;
    const spool = await createSpool(postgres, nextFolder(), 1);
    await using cutter = createCommitCutter(server.port);
    const cut = await database.open({ target: { ...target, url: cutter.toUrl(target.url) } });
    const told: number[] = [];
    const writer = await spool.openWriter({
      postgres: cut,
      onCommit: ({ eventIds }) => told.push(...eventIds),
    });
    const source = createSource(spool);
    for (let round = 0; round < 15; round += 1) {
      for (let index = 0; index < 20; index += 1) source.add(round * 1_000 + index);
      if (round % 3 === 1) cutter.cutNext("after");
      if (round % 3 === 2) cutter.cutNext("before");
      await writeUntilDone(writer);
    }
    expect(cutter.cuts).toBe(10);
    const events = await checkPostgresTotals(postgres);
    expect(events.length).toBe(300);
    expect(told.toSorted((one, other) => one - other)).toEqual(events.map(({ id }) => id));
    writer.close();
  }, 30_000);

  test("brings back what a database lost that was put back to an older state, once, and gives no batch a number twice", async () => {
    await using database = await createDatabase();
    const server = await sharedPostgres();
    const { postgres, target } = database;
    const spool = await createSpool(postgres, nextFolder(), 3);
    const commits: Commit[] = [];
    const setBack: boolean[] = [];
    const writer = await spool.openWriter({
      ...KEPT,
      onCommit: (commit) => commits.push(commit),
      onSetBack: ({ isKept }) => setBack.push(isKept),
    });
    const source = createSource(spool);
    for (let index = 0; index < 50; index += 1) source.add(index);
    await writeUntilDone(writer);
    const dump = await dumpSchema(server, target);
    // Other dimensions than before: their ids are given anew after the restore.
    for (let index = 0; index < 40; index += 1) source.add(1_000 + index, `later/${index % 7}`);
    await writeUntilDone(writer);
    const [before] = await postgres.all<{ batch: number }>("SELECT batch FROM spool");
    await restoreSchema(server, target, dump);
    await postgres.run("INSERT INTO price_set (prices) VALUES ('{\"taken\":1}')");
    for (let index = 0; index < 10; index += 1) source.add(2_000 + index, "last");
    await writeUntilDone(writer);
    expect(setBack).toEqual([true]);
    const events = await checkPostgresTotals(postgres);
    expect(events.length).toBe(100);
    const clients = await postgres.all<{ client: string; n: number }>(
      `SELECT client, count(*) AS n FROM event JOIN combination c ON c.id = combination
       WHERE client LIKE 'la%' GROUP BY client ORDER BY client`,
    );
    expect(clients.map(({ client }) => client)).toEqual([
      "last",
      ...[0, 1, 2, 3, 4, 5, 6].map((index) => `later/${index}`),
    ]);
    const [batches] = await postgres.all<{ least: number }>(
      "SELECT min(number) AS least FROM recorded_batch WHERE number > 1",
    );
    expect(batches?.least).toBeGreaterThan(before?.batch ?? 0);
    writer.close();
  }, 30_000);

  test("that a database put back to before its spool does not know is taken up under its lane, with all that its journal keeps", async () => {
    await using database = await createDatabase();
    const server = await sharedPostgres();
    const { postgres, target } = database;
    const dump = await dumpSchema(server, target);
    const spool = await createSpool(postgres, nextFolder(), 5);
    const writer = await spool.openWriter(KEPT);
    const source = createSource(spool);
    for (let index = 0; index < 30; index += 1) source.add(index);
    await writeUntilDone(writer);
    await restoreSchema(server, target, dump);
    source.add(100);
    await writeUntilDone(writer);
    const events = await checkPostgresTotals(postgres);
    expect(events.map(({ lane }) => lane)).toEqual(Array.from({ length: 31 }, () => 5));
    // A replica that comes new gets another lane.
    const [other] = await postgres.all<{ lane: number }>(
      "INSERT INTO spool (id) VALUES ('new') RETURNING lane",
    );
    expect(other?.lane).toBeGreaterThan(5);
    writer.close();
  }, 30_000);

  test.each([
    [{ segment: 0, first: 1 }, []],
    [{ segment: 3, first: 3 }, []],
    [{ segment: 0, first: 3 }, [false]],
    [{ segment: 2, first: 3 }, [false]],
  ])(
    "that starts says when its journal does not reach back to what is committed: %j",
    async (found, said) => {
      await using database = await createDatabase();
      const { postgres } = database;
      const spool = await createSpool(postgres, nextFolder(), 1);
      await postgres.run("UPDATE spool SET segment = $1", [found.segment]);
      spool.append(found.first, RUN_LINE);
      spool.append(found.first + 1, RUN_LINE);
      const setBack: boolean[] = [];
      const writer = await spool.openWriter({ ...KEPT, onSetBack: ({ isKept }) => setBack.push(isKept) });
      await writeUntilDone(writer);
      writer.close();
      expect(setBack).toEqual(said);
    },
  );
});

/** As the Worker does: what fails is tried again, but for a writer that is superseded. */
async function writeUntilDone(writer: UsageWriter): Promise<void> {
  for (let failures = 0; ;) {
    try {
      if (!(await writer.writeBatch())) return;
    } catch (cause) {
      failures += 1;
      if (cause instanceof SupersededError || failures > 200) throw cause;
      await Bun.sleep(20);
    }
  }
}
