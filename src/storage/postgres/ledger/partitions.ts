import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { toDay } from "#storage/cells/calendar.ts";
import { advanceBounds } from "#storage/cells/retention.ts";
import { all, one, run, type Script } from "#storage/sql/script.ts";

/** Days that have a partition before they begin: so long may no replica come to make one. */
const DAYS_AHEAD = 7;
/** A day with more rows in the default partition stays there: to move it would keep batches waiting. */
const MOVED_ROWS_MAX = 1_000_000;

/** The days that have a partition, ascending. */
export function* listPartitions(): Script<readonly number[]> {
  const rows = yield* all<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'event'::regclass`,
  );
  return rows.flatMap(({ name }) => parseName(name)).sort((first, second) => first - second);
}

/** The name of the partition of a UTC day, such as `event_20261123`. */
function toName(day: number): string {
  return `event_${new Date((day * DAY_US) / 1000).toISOString().slice(0, 10).replaceAll("-", "")}`;
}

function parseName(name: string): number[] {
  const [, year, month, day] = /^event_(\d{4,})(\d\d)(\d\d)$/.exec(name) ?? [];
  return year === undefined ? [] : [toDay(Date.UTC(Number(year), Number(month) - 1, Number(day)) * 1000)];
}

/** A step: makes the partition of the next day that needs one, with the rows that the default partition holds of it. */
export function* makePartitions(nowUs: InstantUs): Script<boolean> {
  const made = new Set(yield* listPartitions());
  const last = toDay(nowUs) + DAYS_AHEAD;
  for (let day = toDay(nowUs); day <= last; day += 1) {
    if (!made.has(day) && (yield* makePartition(day))) return true;
  }
  for (let fromUs: InstantUs | null = 0; fromUs !== null;) {
    const first: { readonly id: number } | null = yield* one<{ id: number }>(
      "SELECT id FROM event_default WHERE id >= ? AND id < ? ORDER BY id LIMIT 1",
      [fromUs, (last + 1) * DAY_US],
    );
    fromUs = first === null ? null : (toDay(first.id) + 1) * DAY_US;
    if (first !== null && !made.has(toDay(first.id)) && (yield* makePartition(toDay(first.id)))) return true;
  }
  return false;
}

/** False when the default partition holds too many rows of the day. Waits until no batch and no report is at the default partition. */
export function* makePartition(day: number): Script<boolean> {
  const name = toName(day);
  const range = [day * DAY_US, (day + 1) * DAY_US];
  // A batch that had chosen the default partition for its rows before would be refused by it afterwards.
  yield* run("LOCK TABLE ONLY event IN SHARE ROW EXCLUSIVE MODE");
  yield* run("LOCK TABLE ONLY event_default IN ACCESS EXCLUSIVE MODE");
  const row = yield* one<{ rows: number }>(
    "SELECT count(*) AS rows FROM (SELECT 1 FROM event_default WHERE id >= ? AND id < ? LIMIT ?) AS few",
    [...range, MOVED_ROWS_MAX + 1],
  );
  const rows = row?.rows ?? 0;
  if (rows > MOVED_ROWS_MAX) return false;
  yield* run(`CREATE TABLE ${name} (LIKE event INCLUDING ALL)`);
  if (rows > 0) {
    yield* run(
      `WITH moved AS (DELETE FROM event_default WHERE id >= ? AND id < ? RETURNING *)
       INSERT INTO ${name} SELECT * FROM moved`,
      range,
    );
  }
  yield* run(`ALTER TABLE event ATTACH PARTITION ${name} FOR VALUES FROM (${range[0]}) TO (${range[1]})`);
  return true;
}

/**
 * A step: drops the oldest partition whose day lies before `beforeUs` as a whole and that holds no pending event; false when
 * there is none. The rows of the others are removed in slices.
 */
export function* dropPartition(beforeUs: InstantUs): Script<boolean> {
  if ((yield* findDropped(beforeUs)) === null) return false;
  // A batch under way may bring a pending event of the day. Lock order: event, then ledger_state, as a batch takes them.
  yield* run("LOCK TABLE ONLY event IN SHARE ROW EXCLUSIVE MODE");
  const day = yield* findDropped(beforeUs);
  if (day === null) return false;
  yield* run(`DROP TABLE ${toName(day)}`);
  yield* advanceBounds((day + 1) * DAY_US);
  return true;
}

function* findDropped(beforeUs: InstantUs): Script<number | null> {
  const pending = yield* all<{ day: number }>(
    `SELECT DISTINCT id / ${DAY_US} AS day FROM pending_event WHERE id < ?`,
    [beforeUs],
  );
  const kept = new Set(pending.map(({ day }) => day));
  const day = (yield* listPartitions()).find((each) => !kept.has(each));
  return day === undefined || (day + 1) * DAY_US > beforeUs ? null : day;
}
