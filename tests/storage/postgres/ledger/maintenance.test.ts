import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { PostgresMaintenance } from "#storage/postgres/ledger/maintenance.ts";
import { listPartitions, makePartition } from "#storage/postgres/ledger/partitions.ts";
import { drive, readFrom } from "#storage/postgres/connection/drive.ts";
import { createTestLog, DAY_US, NEW_YEAR_US } from "../../../ledger/usage.ts";
import { toDay } from "#storage/cells/calendar.ts";
import { one } from "#storage/sql/script.ts";
import { checkPostgresTotals } from "../../../support/postgres-totals.ts";
import { postgresMissing } from "../../../support/postgres.ts";
import { silentLog } from "../../support.ts";
import { createDatabase } from "../support.ts";
import { createSource, createSpool } from "./writer-bench.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-maintenance-"));
afterAll(() => rmSync(folder, { recursive: true }));

const NEW_YEAR = NEW_YEAR_US / DAY_US;
const HOUR_US = DAY_US / 24;
/** Several times as long as maintenance waits for a lock at once. */
const REPORT_SECONDS = 1.5;

/** A ledger with a writer on it; `record` commits a request for each arrival, given in microseconds after New Year. */
async function createLedger(postgres: Postgres, name: string) {
  const spool = await createSpool(postgres, join(folder, name), 1);
  const writer = await spool.openWriter();
  const source = createSource(spool);
  return {
    async record(...arrivals: readonly number[]) {
      for (const arrival of arrivals) source.add(arrival);
      while (await writer.writeBatch());
    },
    rows: () => countRows(postgres),
    days: () => listDays(postgres),
    maintain: (nowUs: number, ageUsMax: number | null = null) =>
      new PostgresMaintenance({ postgres, log: silentLog }).run({ nowUs, ageUsMax }),
  };
}

function listDays(postgres: Postgres): Promise<readonly number[]> {
  return drive(postgres, listPartitions());
}

async function countRows(postgres: Postgres): Promise<Record<string, number>> {
  const rows = await postgres.all<{ name: string; n: number }>(
    "SELECT tableoid::regclass::text AS name, count(*) AS n FROM event GROUP BY 1 ORDER BY 1",
  );
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

describe.skipIf(postgresMissing !== null)("maintenance of the ledger in PostgreSQL", () => {
  test("makes a partition for each of the next seven days, and moves what the default one holds of any day", async () => {
    await using database = await createDatabase();
    const ledger = await createLedger(database.postgres, "partitions");
    // A year that no replica was there to make a partition for, and days to come.
    await ledger.record(5, 6, 40 * DAY_US, 43 * DAY_US, 60 * DAY_US);
    expect(await ledger.rows()).toEqual({ event_default: 5 });
    await ledger.maintain(NEW_YEAR_US + 40 * DAY_US);
    expect(await ledger.rows()).toEqual({
      event_20260101: 2,
      event_20260210: 1,
      event_20260213: 1,
      event_default: 1,
    });
    const days = [0, 40, 41, 42, 43, 44, 45, 46, 47].map((day) => NEW_YEAR + day);
    expect(await ledger.days()).toEqual(days);
    await ledger.record(41 * DAY_US);
    expect(await ledger.rows()).toMatchObject({ event_20260211: 1, event_default: 1 });
    await checkPostgresTotals(database.postgres);
  });

  test("drops whole days with their partition, removes the rest of the boundary day in slices, and keeps every total", async () => {
    await using database = await createDatabase();
    const ledger = await createLedger(database.postgres, "retention");
    await ledger.maintain(NEW_YEAR_US);
    await ledger.record(1, 2, DAY_US + 1, 20 * DAY_US);
    await ledger.record(...Array.from({ length: 6_000 }, (_, index) => 2 * DAY_US + index));
    await ledger.record(2 * DAY_US + 5 * HOUR_US);
    await ledger.maintain(NEW_YEAR_US + 3 * DAY_US, DAY_US - HOUR_US);
    expect(await ledger.rows()).toEqual({ event_20260103: 1, event_default: 1 });
    expect((await ledger.days())[0]).toBe(NEW_YEAR + 2);
    await checkPostgresTotals(database.postgres);
    // An event that comes late to a day that is gone is counted and gets no row.
    await ledger.record(3, 2 * DAY_US + 10);
    expect(await ledger.rows()).toEqual({ event_20260103: 1, event_default: 1 });
    const [total] = await database.postgres.all<{ n: number }>("SELECT sum(requests) AS n FROM hour_total");
    expect(total?.n).toBe(6_007);
    await checkPostgresTotals(database.postgres);
  });

  test("goes by the database's clock where a replica's is ahead, which would remove the log of all", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    const ledger = await createLedger(postgres, "ahead");
    const nowUs = Date.now() * 1000;
    await ledger.record(nowUs - 6 * DAY_US - NEW_YEAR_US, nowUs - NEW_YEAR_US);
    const { log, lines } = createTestLog();
    const aheadUs = nowUs + 30 * DAY_US;
    await new PostgresMaintenance({ postgres, log }).run({ nowUs: aheadUs, ageUsMax: 5 * DAY_US });
    expect(lines).toEqual([]);
    expect(Object.values(await ledger.rows())).toEqual([1]);
    const days = await postgres.all<{ day: number }>("SELECT at AS day FROM cells WHERE period = 1");
    expect(days).toEqual([{ day: toDay(nowUs) - 6 }]);
    await checkPostgresTotals(postgres);
  });

  test("waits for an open report no longer than its limit, lets batches through meanwhile, and goes on once it has ended", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    const ledger = await createLedger(postgres, "report");
    await ledger.maintain(NEW_YEAR_US);
    await ledger.record(1, DAY_US);
    const isOpen = Promise.withResolvers<void>();
    const report = readFrom(
      postgres,
      (function* read() {
        // Its moment is that of its first query.
        yield* one("SELECT 1 FROM ledger_state");
        isOpen.resolve();
        yield* one(`SELECT pg_sleep(${REPORT_SECONDS})`);
        return yield* one<{ n: number }>("SELECT count(*) AS n FROM event");
      })(),
    );
    await isOpen.promise;
    let isPruned = false;
    const pruned = ledger.maintain(NEW_YEAR_US + 2 * DAY_US, DAY_US).then(() => (isPruned = true));
    await ledger.record(DAY_US + 1);
    await ledger.record(DAY_US + 2);
    expect(isPruned).toBe(false);
    expect((await report)?.n).toBe(2);
    await pruned;
    expect(await ledger.rows()).toEqual({ event_20260102: 3 });
  }, 30_000);

  test("moves rows into their day before the moment of a report that waits for it, which has them all", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    const ledger = await createLedger(postgres, "moved");
    await ledger.record(1, 2, 3);
    const report = await postgres.transaction(async (tx) => {
      await drive(tx, makePartition(NEW_YEAR));
      const count = one<{ n: number }>("SELECT count(*) AS n FROM event WHERE id BETWEEN ? AND ?", [
        NEW_YEAR_US,
        NEW_YEAR_US + 3,
      ]);
      const asked = readFrom(postgres, count, new AbortController().signal);
      const isWaiting = "SELECT FROM pg_locks WHERE relation = 'event_default'::regclass AND NOT granted";
      while ((await tx.all(isWaiting)).length === 0);
      return { asked };
    });
    expect(await report.asked).toEqual({ n: 3 });
  }, 30_000);

  test("of a role that may not define tables keeps rows in the default partition and removes old ones in slices", async () => {
    await using database = await createDatabase();
    const { postgres, target } = database;
    const role = "writer_of_tables_made";
    const url = Object.assign(new URL(target.url), { username: role, password: "secret" }).href;
    const ledger = await createLedger(postgres, "made");
    await ledger.record(1, DAY_US + 1);
    await ledger.maintain(NEW_YEAR_US);
    await postgres.run(
      `CREATE ROLE ${role} LOGIN PASSWORD 'secret'; GRANT USAGE ON SCHEMA ${target.schema} TO ${role};
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${target.schema} TO ${role};
       GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA ${target.schema} TO ${role}`,
    );
    try {
      const limited = await database.open({ target: { ...target, url } });
      const { log, lines } = createTestLog();
      const maintenance = new PostgresMaintenance({ postgres: limited, log });
      await maintenance.run({ nowUs: NEW_YEAR_US + 30 * DAY_US, ageUsMax: 29 * DAY_US });
      expect(await countRows(postgres)).toEqual({ event_20260102: 1 });
      expect((await ledger.days()).length).toBe(8);
      const open = await postgres.all<{ day: number }>("SELECT hour / 24 AS day FROM open_cell");
      expect(open.filter(({ day }) => day < NEW_YEAR + 29)).toEqual([]);
      expect(lines.join("")).not.toContain("does not come forward");
      await checkPostgresTotals(postgres);
      await limited.close();
    } finally {
      await postgres.run(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  }, 30_000);

  test("is done by one of several replicas that begin at once, and tells of a spool that is silent for an hour, once", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    const ledger = await createLedger(postgres, "several");
    await ledger.record(1, 2, DAY_US, 2 * DAY_US, 50 * DAY_US);
    await postgres.run(
      "INSERT INTO spool (lane, id, heard_at) VALUES (9, 'gone', now() - interval '5 hours 1 minute')",
    );
    const { log, lines } = createTestLog();
    const replicas = [1, 2, 3, 4].map(() => new PostgresMaintenance({ postgres, log }));
    const pass = { nowUs: NEW_YEAR_US + 51 * DAY_US, ageUsMax: null };
    for (let round = 0; round < 2; round += 1)
      await Promise.all(replicas.map((replica) => replica.run(pass)));
    // Steps that one of them left to another that had just ended.
    await replicas[0]?.run(pass);
    await checkPostgresTotals(postgres);
    const sealed = await postgres.all("SELECT period, count(*) AS count FROM cells GROUP BY 1 ORDER BY 1");
    expect(sealed).toEqual([3, 3, 1].map((count, period) => ({ period, count })));
    expect(lines.filter((line) => line.includes("lane=9") && line.includes("hours=5")).length).toBe(4);
    expect((await postgres.all("SELECT 1 FROM spool")).length).toBe(2);
  }, 30_000);
});
