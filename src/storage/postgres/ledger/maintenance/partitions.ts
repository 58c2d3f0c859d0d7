import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { toDay } from "#storage/cells/calendar.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { runStep, type StepResult } from "./leader.ts";

/** Days that have a partition before they begin: so long may no replica come to make one. */
const DAYS_AHEAD = 7;
/** A day with more rows in the default partition stays there: to move it would keep batches waiting. */
const MOVED_ROWS_MAX = 1_000_000;

/** The days that have a partition, ascending. */
export async function listPartitions(sql: Sql): Promise<readonly number[]> {
  const rows = await sql.all<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'event'::regclass`,
  );
  return rows.flatMap(({ name }) => parseName(name)).sort((one, other) => one - other);
}

/** The name of the partition of a UTC day, such as `event_20261123`. */
export function toPartitionName(day: number): string {
  return `event_${new Date((day * DAY_US) / 1000).toISOString().slice(0, 10).replaceAll("-", "")}`;
}

function parseName(name: string): number[] {
  const [, year, month, day] = /^event_(\d{4,})(\d\d)(\d\d)$/.exec(name) ?? [];
  return year === undefined ? [] : [toDay(Date.UTC(Number(year), Number(month) - 1, Number(day)) * 1000)];
}

/** A step: makes the partition of the next day that needs one, with the rows that the default partition holds of it. */
export function makePartitions(postgres: Postgres, nowUs: InstantUs): Promise<StepResult> {
  return runStep(postgres, async (tx) => {
    const made = new Set(await listPartitions(tx));
    const last = toDay(nowUs) + DAYS_AHEAD;
    for (let day = toDay(nowUs); day <= last; day += 1) {
      if (!made.has(day) && (await makePartition(tx, day))) return "more";
    }
    for (let fromUs: InstantUs | null = 0; fromUs !== null;) {
      const [first]: readonly { id: number }[] = await tx.all<{ id: number }>(
        "SELECT id FROM event_default WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 1",
        [fromUs, (last + 1) * DAY_US],
      );
      fromUs = first === undefined ? null : (toDay(first.id) + 1) * DAY_US;
      if (first !== undefined && !made.has(toDay(first.id)) && (await makePartition(tx, toDay(first.id))))
        return "more";
    }
    return "done";
  });
}

/** False when the default partition holds too many rows of the day. Within a transaction; waits until no batch and no report is at the default partition. */
export async function makePartition(tx: Sql, day: number): Promise<boolean> {
  const name = toPartitionName(day);
  const range = [day * DAY_US, (day + 1) * DAY_US];
  // A batch that had chosen the default partition for its rows before would be refused by it afterwards.
  await tx.run("LOCK TABLE ONLY event IN SHARE ROW EXCLUSIVE MODE");
  await tx.run("LOCK TABLE ONLY event_default IN ACCESS EXCLUSIVE MODE");
  const [row] = await tx.all<{ rows: number }>(
    "SELECT count(*) AS rows FROM (SELECT 1 FROM event_default WHERE id >= $1 AND id < $2 LIMIT $3) AS few",
    [...range, MOVED_ROWS_MAX + 1],
  );
  const rows = row?.rows ?? 0;
  if (rows > MOVED_ROWS_MAX) return false;
  await tx.run(`CREATE TABLE ${name} (LIKE event INCLUDING ALL)`);
  if (rows > 0) {
    await tx.run(
      `WITH moved AS (DELETE FROM event_default WHERE id >= $1 AND id < $2 RETURNING *)
       INSERT INTO ${name} SELECT * FROM moved`,
      range,
    );
  }
  await tx.run(`ALTER TABLE event ATTACH PARTITION ${name} FOR VALUES FROM (${range[0]}) TO (${range[1]})`);
  return true;
}
