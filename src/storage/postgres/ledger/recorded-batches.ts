import { joinNext } from "#kernel/turns.ts";
import type { Sql } from "#storage/postgres/connection/pool.ts";
import type { RecordedOrder, RecordedSince } from "#storage/threads/stats.ts";

/** As many as a single server keeps: more is read anew. */
const EVENTS_MAX = 32_768;
/** Batches are kept a quarter of an hour. A cursor that is older may have missed one of a lane that it does not name. */
const CURSOR_SECONDS_MAX = 14 * 60;
/** Lanes that were silent for longer are in no cursor: all that they still have in the table came after it. */
const LANES_HEARD_SECONDS_MAX = 60 * 60;

/** A point in the order of recording: the number of the last batch of each lane. */
interface Cursor {
  /** By the database's clock. */
  readonly seconds: number;
  readonly batches: ReadonlyMap<number, number>;
}

interface CursorRow {
  readonly seconds: number;
  readonly lane: number | null;
  readonly batch: number | null;
}

interface BatchRow {
  readonly lane: number;
  readonly number: number;
  readonly ids: readonly number[];
}

/**
 * The order in which all replicas have recorded their newest events. A cursor is a vector of lanes, so that every replica
 * answers it. Looks that come together ask the database once where the lanes are, and no more unless one has moved.
 */
export class RecordedBatches implements RecordedOrder {
  readonly #sql: Sql;
  #now: Cursor = { seconds: 0, batches: new Map() };
  readonly #look = joinNext(async () => {
    this.#now = toCursor(await this.#sql.all<CursorRow>(CURSOR, [LANES_HEARD_SECONDS_MAX]));
  });

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async since(cursor: string): Promise<RecordedSince> {
    await this.#look();
    const now = this.#now;
    const next = encodeCursor(now);
    const from = cursor === "" ? now : parseCursor(cursor);
    const hasGap = { ids: [], lanes: [], cursor: next, hasGap: true };
    if (from === null) return hasGap;
    const moved = [...now.batches].filter(([lane, batch]) => from.batches.get(lane) !== batch);
    if (moved.length === 0) return { ids: [], lanes: [], cursor: next, hasGap: false };
    // Numbers that went back are of a database that was restored.
    const isBack = moved.some(([lane, batch]) => (from.batches.get(lane) ?? 0) > batch);
    // One from the future is no cursor of this database: lanes that it does not name would be new to it.
    const isOld = Math.abs(now.seconds - from.seconds) > CURSOR_SECONDS_MAX;
    if (isBack || isOld) return hasGap;
    const found = await this.#read(moved, from);
    return found === null ? hasGap : { ...found, cursor: next, hasGap: false };
  }

  /** Null when a batch is gone, or they are too many. */
  async #read(moved: readonly (readonly [lane: number, batch: number])[], from: Cursor) {
    const lanes = moved.map(([lane]) => lane);
    const rows = await this.#sql.all<BatchRow>(BATCHES, [
      lanes,
      lanes.map((lane) => from.batches.get(lane) ?? 0),
      moved.map(([, batch]) => batch),
      EVENTS_MAX,
    ]);
    const counts = new Map<number, number>();
    const ids: number[] = [];
    const idLanes: number[] = [];
    for (const row of rows) {
      counts.set(row.lane, (counts.get(row.lane) ?? 0) + 1);
      for (const id of row.ids) {
        ids.push(id);
        idLanes.push(row.lane);
      }
    }
    const isWhole = moved.every(([lane, batch]) => {
      const after = from.batches.get(lane);
      return after === undefined || counts.get(lane) === batch - after;
    });
    return isWhole && ids.length <= EVENTS_MAX ? { ids, lanes: idLanes } : null;
  }
}

const CURSOR = `
  SELECT floor(extract(epoch FROM clock_timestamp()))::bigint AS seconds, lane, batch
  FROM (SELECT 1) AS one LEFT JOIN spool ON heard_at > now() - $1 * interval '1 second'`;

/** Up to the batch that makes them too many: days of a fast ledger are not sent for nothing. */
const BATCHES = `
  SELECT lane, number, ids FROM (
    SELECT b.*, sum(cardinality(b.ids)) OVER (ORDER BY b.recorded_at, b.lane, b.number) AS events
    FROM unnest($1::integer[], $2::bigint[], $3::bigint[]) AS moved(lane, after, until)
    JOIN recorded_batch AS b ON b.lane = moved.lane AND b.number > moved.after AND b.number <= moved.until
  ) AS b WHERE events - cardinality(ids) <= $4 ORDER BY recorded_at, lane, number`;

function toCursor(rows: readonly CursorRow[]): Cursor {
  const batches = new Map<number, number>();
  for (const { lane, batch } of rows) if (lane !== null && batch !== null) batches.set(lane, batch);
  return { seconds: rows[0]?.seconds ?? 0, batches };
}

/** Numbers in base 36, joined by points. */
function encodeCursor({ seconds, batches }: Cursor): string {
  const lanes = [...batches].sort(([one], [other]) => one - other);
  return [seconds, ...lanes.flat()].map((number) => number.toString(36)).join(".");
}

/** Null for what is no cursor of ours. */
function parseCursor(cursor: string): Cursor | null {
  const parts = cursor.split(".");
  const numbers = parts.map((part) => Number.parseInt(part, 36));
  const isOurs = numbers.every((number, index) => number.toString(36) === parts[index] && number >= 0);
  const [seconds, ...lanes] = numbers;
  if (!isOurs || seconds === undefined || lanes.length % 2 !== 0) return null;
  const batches = new Map<number, number>();
  for (let index = 0; index < lanes.length; index += 2) batches.set(lanes[index] ?? 0, lanes[index + 1] ?? 0);
  return { seconds, batches };
}
