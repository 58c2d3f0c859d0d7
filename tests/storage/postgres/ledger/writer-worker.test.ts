import { afterAll, describe, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Limit } from "#limits/limit.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import { WATERMARKS_MAX, type Commit } from "#storage/threads/writer-tasks.ts";
import { WriterClient } from "#storage/threads/writer-client.ts";
import { encodeJournalLine } from "#usage/journal-line.ts";
import {
  createTestLog,
  DAY_US,
  ENDING,
  LineEncoder,
  NEW_YEAR_US,
  RUN_LINE,
  SUBJECT,
} from "../../../ledger/usage.ts";
import { checkPostgresTotals } from "../../../support/postgres-totals.ts";
import { postgresMissing, sharedPostgres, startPostgres } from "../../../support/postgres.ts";
import { createTcpProxy } from "../../../support/tcp-proxy.ts";
import { busyLimit, timed, until } from "../../../support/waiting.ts";
import { createDatabase, failureOf, type TestDatabase } from "../support.ts";
import { LIMIT } from "../../../limits/limit.ts";
import { dumpSchema, restoreSchema } from "./schema-dump.ts";
import { claimRun, createSource, createSpool, type TestSpool } from "./writer-bench.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-worker-"));
afterAll(() => rmSync(folder, { recursive: true }));

const MONTH: Limit = { ...LIMIT, window: "month" };

describe.skipIf(postgresMissing !== null)("the writer Worker of PostgreSQL", () => {
  test("commits what the journal holds, sums up at a watermark what stands before it, seals, and ends when another run begins", async () => {
    await using database = await createDatabase();
    const spool = await createSpool(database.postgres, join(folder, "one"), 1);
    const source = createSource(spool);
    for (let index = 0; index < 3_000; index += 1) source.add(index);
    const worker = await startWorker(database, spool);
    await worker.flush();
    expect((await checkPostgresTotals(database.postgres)).length).toBe(3_000);
    expect(worker.commits.flatMap(({ eventIds }) => [...eventIds]).length).toBe(3_000);

    for (let index = 0; index < 5; index += 1) source.add(10_000 + index);
    const watermark = worker.run * WATERMARKS_MAX + 1;
    appendFileSync(
      segmentPath(spool.journalDirectory, 1),
      encodeJournalLine({ kind: "watermark", number: watermark }),
    );
    for (let index = 0; index < 7; index += 1) source.add(20_000 + index);
    const sums = worker.client.sumLimits({
      watermark,
      question: { limits: [MONTH], nowUs: NEW_YEAR_US + DAY_US },
    });
    await worker.flush();
    expect(await sums).toMatchObject([{ limitId: "limit-1", parts: [{ amount: 3_005n }] }]);

    const today = NEW_YEAR_US / DAY_US + 5;
    await worker.client.worker.askUntilAnswered("maintain", { nowUs: today * DAY_US, ageUsMax: null });
    const [sealed] = await database.postgres.all<{ n: number; parts: number }>(
      `SELECT (SELECT count(*) FROM open_cell) AS n,
         (SELECT count(*) FROM pg_inherits WHERE inhparent = 'event'::regclass) AS parts`,
    );
    // Eight days ahead, that of the rows, and the default one.
    expect(sealed).toMatchObject({ n: 0, parts: 10 });

    await claimRun(database.postgres, 1);
    await worker.superseded;
    source.add(30_000);
    worker.client.wake();
    await worker.client.stop();
    expect((await checkPostgresTotals(database.postgres)).length).toBe(3_012);
  }, 30_000);

  test("commits on while a sum takes long, which counts what stood before its watermark alone, and gives up one that is asked for anew", async () => {
    await using database = await createDatabase();
    const spool = await createSpool(database.postgres, join(folder, "slow"), 1);
    const source = createSource(spool);
    const worker = await startWorker(database, spool);
    const path = segmentPath(spool.journalDirectory, 1);
    const ask = (number: number) => {
      const watermark = worker.run * WATERMARKS_MAX + number;
      appendFileSync(path, encodeJournalLine({ kind: "watermark", number: watermark }));
      return worker.client.sumLimits({
        watermark,
        question: { limits: [MONTH], nowUs: NEW_YEAR_US + DAY_US },
      });
    };
    for (let index = 0; index < 5; index += 1) source.add(index);
    await worker.flush();
    // Sums of a month read it, and batches do not.
    const blocked = await database.open();
    const freed = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const blocking = blocked.transaction(async (tx) => {
      await tx.run("LOCK TABLE cells IN ACCESS EXCLUSIVE MODE");
      locked.resolve();
      await freed.promise;
    });
    await locked.promise;
    const first = failureOf(ask(1));
    for (let index = 0; index < 7; index += 1) source.add(1_000 + index);
    await worker.flush();
    expect(await countEvents(database)).toBe(12);
    const second = ask(2);
    expect(String(await first)).toContain("what was used could not be added up");
    for (let index = 0; index < 3; index += 1) source.add(2_000 + index);
    await worker.flush();
    expect(await countEvents(database)).toBe(15);
    freed.resolve();
    await blocking;
    expect(await second).toMatchObject([{ limitId: "limit-1", parts: [{ amount: 12n }] }]);
    expect(worker.client.gauges().writerFailures).toBe(0);
    await worker.client.stop();
  }, 30_000);

  test("says that what was recorded is committed no sooner than it is, also while the server before may still add lines", async () => {
    await using database = await createDatabase();
    const spool = await createSpool(database.postgres, join(folder, "overtaking"), 1);
    createSource(spool).add(1);
    const encoder = new LineEncoder();
    const arrivedAtUs = NEW_YEAR_US + 2;
    for (const line of [
      RUN_LINE,
      encoder.begin(2, 1, { ...SUBJECT, arrivedAtUs }),
      encoder.end(2, 1, ENDING),
    ])
      spool.append(2, line);
    const worker = await startWorker(database, spool, { firstSegment: 2, earlierLiveMs: 500 });
    await worker.flush();
    expect(await countEvents(database)).toBe(2);
    await worker.client.stop();
  });

  test("brings back by itself what a database lost that was put back, also when nothing is recorded any more", async () => {
    await using database = await createDatabase();
    const server = await sharedPostgres();
    const spool = await createSpool(database.postgres, join(folder, "idle"), 1);
    const source = createSource(spool);
    const worker = await startWorker(database, spool);
    source.add(1);
    await worker.flush();
    const dump = await dumpSchema(server, database.target);
    for (let index = 2; index < 9; index += 1) source.add(index);
    await worker.flush();
    await restoreSchema(server, database.target, dump);
    await until(
      async () => (await countEvents(database)) >= 8,
      () => "what was lost is back",
      BACK_MS_MAX,
    );
    expect((await checkPostgresTotals(database.postgres)).length).toBe(8);
    expect(worker.lines.join("")).toContain("the database is older than it was");
    await worker.client.stop();
  }, 30_000);

  test("keeps lines in the journal while PostgreSQL is stopped, and has committed them within five seconds of its return", async () => {
    await using server = await startPostgres();
    await using database = await createDatabase(server);
    const spool = await createSpool(database.postgres, join(folder, "away"), 1);
    const source = createSource(spool);
    const worker = await startWorker(database, spool);
    source.add(1);
    await worker.flush();
    await server.stop("fast");
    for (let index = 2; index < 500; index += 1) source.add(index);
    worker.client.wake();
    await until(
      () => worker.client.gauges().writerFailures >= 3,
      () => "three attempts have failed",
    );
    await server.start();
    expect((await timed(() => worker.flush())).tookMs).toBeLessThan(busyLimit(BACK_MS_MAX));
    expect((await checkPostgresTotals(database.postgres)).length).toBe(499);
    expect(worker.commits.flatMap(({ eventIds }) => [...eventIds]).length).toBe(499);
    await worker.client.stop();
  }, 30_000);

  test("notices a connection that has died in silence by its sign of life, and goes on within five seconds", async () => {
    await using database = await createDatabase();
    const server = await sharedPostgres();
    const proxy = createTcpProxy(server.port);
    const spool = await createSpool(database.postgres, join(folder, "silent"), 1);
    const source = createSource(spool);
    const target = { ...database.target, url: proxy.toUrl(database.target.url) };
    const worker = await startWorker({ target, postgres: database.postgres }, spool);
    source.add(1);
    await worker.flush();
    proxy.silence();
    source.add(2);
    const committed = worker.flush();
    await Bun.sleep(SILENCE_MS);
    expect(await countEvents(database)).toBe(1);
    proxy.resume();
    expect((await timed(() => committed)).tookMs).toBeLessThan(busyLimit(BACK_MS_MAX + 500));
    expect((await checkPostgresTotals(database.postgres)).length).toBe(2);
    await worker.client.stop();
    proxy.stop();
  }, 30_000);
});

const BACK_MS_MAX = 5_000;
const SILENCE_MS = 1_000;

async function countEvents({ postgres }: TestDatabase): Promise<number> {
  const [row] = await postgres.all<{ n: number }>("SELECT count(*) AS n FROM event");
  return row?.n ?? 0;
}

async function startWorker(
  { target, postgres }: Pick<TestDatabase, "target" | "postgres">,
  spool: TestSpool,
  earlier = { firstSegment: 1, earlierLiveMs: 0 },
) {
  const commits: Commit[] = [];
  const superseded = Promise.withResolvers<void>();
  const claim = await claimRun(postgres, spool.lane);
  const { log, lines } = createTestLog();
  const client = new WriterClient({
    workerUrl: new URL("../../../../src/storage/postgres/ledger/postgres-writer-worker.ts", import.meta.url),
    place: {
      target: { url: target.url, schema: target.schema },
      spool: { id: claim.id, lane: claim.lane },
    },
    start: {
      journalDirectory: spool.journalDirectory,
      serverRun: claim.run,
      ...earlier,
    },
    log,
    onCommit: (commit) => commits.push(commit),
    onEnded: () => {},
    onSuperseded: () => superseded.resolve(),
  });
  await client.worker.ready();
  const flush = () => client.worker.askUntilAnswered("flush");
  return { client, flush, commits, lines, run: claim.run, superseded: superseded.promise };
}
