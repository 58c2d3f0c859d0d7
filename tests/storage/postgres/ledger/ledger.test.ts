import { afterEach, describe, expect, test } from "bun:test";
import { createSystemIds } from "#kernel/ids.ts";
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
import { postgresMissing } from "../../../support/postgres.ts";
import { createDatabase, failureOf, type TestDatabase } from "../support.ts";

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
  await using stack = new AsyncDisposableStack();
  stack.defer(() => lock.release());
  const place = { dataDir, target: { url: target.url, schema: target.schema }, postgres };
  const { parts, spool } = await takeLedger(place, { lock, opened: stack, ids: createSystemIds(), log });
  const opened = stack.adopt(
    openLedger(parts, {
      dataDir,
      lock,
      clock: createManualClock(),
      log,
      ledgerSync: "interval",
      usageRetentionDays: null,
    }),
    (one) => one.close(),
  );
  const held = stack.move();
  const close = () => held.disposeAsync();
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

  test(
    "is not served from the data folder of another installation, whose usage would be counted a second time",
    async () => {
      await using own = await createDatabase();
      await using other = await createDatabase();
      const replica = await serve(own);
      const { dataDir } = replica;
      await record(replica, NEW_YEAR_US);
      await replica.close();
      const refused = await failureOf(serve(other, dataDir));
      expect(refused).toMatchObject({
        kind: "configuration",
        message: expect.stringContaining("holds usage of another installation"),
      });
      // Restored from a dump of before installations had names, its own takes the folder's again.
      await own.postgres.run("DELETE FROM meta");
      const again = await serve(own, dataDir);
      expect((await again.stats.listRequests(EVERYTHING, PAGE)).total).toBe(1);
    },
    TEST_MS_MAX,
  );
});
