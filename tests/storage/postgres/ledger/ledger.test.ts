import { afterEach, describe, expect, test } from "bun:test";
import { createSystemIds, eventIdToUuid } from "#kernel/ids.ts";
import { openLedger, type OpenedLedger } from "#storage/threads/ledger.ts";
import { takeLedger } from "#storage/postgres/ledger/ledger.ts";
import { lockDataFolder } from "#storage/files/folder-lock.ts";
import {
  createManualClock,
  createTestLog,
  ENDING,
  EVERYTHING,
  NEW_YEAR_US,
  SUBJECT,
} from "../../../ledger/usage.ts";
import { CONTEXT } from "../../../ledger/reports.ts";
import { makeFolder } from "../../../support/folder.ts";
import { checkPostgresTotals } from "../../../support/postgres-totals.ts";
import { postgresMissing } from "../../../support/postgres.ts";
import { createDatabase, type TestDatabase } from "../support.ts";

const TEST_MS_MAX = 30_000;
const PAGE = { limit: 10, offset: 0 };

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function makeDataDir(): string {
  const folder = makeFolder();
  cleanups.push(() => folder.remove());
  return folder.path;
}

/** A replica's ledger in a data folder. */
async function serve({ target, postgres }: TestDatabase, dataDir = makeDataDir()) {
  const { log, lines } = createTestLog();
  const lock = lockDataFolder(dataDir);
  const stack = new AsyncDisposableStack();
  stack.defer(() => lock.release());
  const place = { dataDir, target: { url: target.url, schema: target.schema }, postgres };
  const { parts, spool } = await takeLedger(place, { lock, opened: stack, ids: createSystemIds(), log });
  const opened = stack.adopt(
    await openLedger(parts, {
      dataDir,
      lock,
      clock: createManualClock(),
      log,
      sync: "interval",
      retentionDays: null,
    }),
    (one) => one.close(),
  );
  const close = () => stack.disposeAsync();
  cleanups.push(close);
  return { ...opened, close, dataDir, spool, lines };
}

async function record({ ledger }: Pick<OpenedLedger, "ledger">, arrivedAtUs: number): Promise<void> {
  await ledger.open({ ...SUBJECT, arrivedAtUs }).end(ENDING);
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await Bun.sleep(10);
}

describe.skipIf(postgresMissing !== null)("a replica's ledger", () => {
  test(
    "gives the same instant of two replicas two rows and two ids, and each its own",
    async () => {
      await using database = await createDatabase();
      const [one, other] = [await serve(database), await serve(database)];
      await Promise.all([record(one, NEW_YEAR_US), record(other, NEW_YEAR_US)]);
      await Promise.all([one.ledger.flush(), other.ledger.flush()]);
      const { rows, total } = await one.stats.listRequests(EVERYTHING, PAGE);
      expect(total).toBe(2);
      expect(rows.map(({ id }) => id)).toEqual([2, 1].map((lane) => eventIdToUuid(NEW_YEAR_US, lane)));
      expect((await checkPostgresTotals(database.postgres)).length).toBe(2);
    },
    TEST_MS_MAX,
  );

  test(
    "ends a report on the server once its asker has left, and answers the next one",
    async () => {
      await using database = await createDatabase();
      const replica = await serve(database);
      await record(replica, NEW_YEAR_US);
      await replica.stats.readErrors({ ...EVERYTHING, bucket: "day", context: CONTEXT });
      const isReading = async () =>
        (
          await database.postgres.all(
            "SELECT FROM pg_stat_activity WHERE application_name = 'lockport reports' AND wait_event_type = 'Lock'",
          )
        ).length > 0;
      const leaving = new AbortController();
      await database.postgres.transaction(async (tx) => {
        // Every report takes it first.
        await tx.run("LOCK TABLE event IN ACCESS EXCLUSIVE MODE");
        const report = replica.stats.readErrors(
          { ...EVERYTHING, bucket: "day", context: CONTEXT },
          { signal: leaving.signal },
        );
        await until(isReading);
        leaving.abort(new Error("left"));
        expect(await report.catch(String)).toBe("Error: left");
        await until(async () => !(await isReading()));
      });
      expect((await replica.stats.listRequests(EVERYTHING, PAGE)).total).toBe(1);
    },
    TEST_MS_MAX,
  );
});
