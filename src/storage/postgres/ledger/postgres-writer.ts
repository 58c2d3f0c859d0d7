import type { InstantUs } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";
import type { JournalPosition } from "#storage/journal/segments.ts";
import type { MaintenancePass } from "#storage/cells/retention.ts";
import { KEPT_MS } from "#storage/journal/segments.ts";
import { EVENT_COLUMNS, GIVEN_REQUEST, toEventRow } from "#storage/cells/event-row.ts";
import { all, insert, one, run, type Script } from "#storage/sql/script.ts";
import { STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { drive } from "#storage/postgres/connection/drive.ts";
import { type EventCosts, NO_COST } from "#storage/repricing/event-changes.ts";
import type { EndedEvent } from "#storage/writer/ended-event.ts";
import {
  PositionMovedError,
  type PositionMove,
  type StoredPosition,
  SupersededError,
  type WriterEngine,
} from "#storage/writer/writer-engine.ts";
import { PostgresMaintenance } from "./maintenance.ts";

/** Batches of a lane that are kept: a quarter of an hour at the usual pace. */
const BATCHES_KEPT_MAX = 6_000;
const BATCHES_PER_TRIM = 256;

/** The span behind a taken id in which others are looked for at once. */
const TAKEN_US = 4_096;

const EVENTS = {
  table: "event",
  columns: [["lane", "integer"] as const, ...EVENT_COLUMNS],
  ending: "ON CONFLICT DO NOTHING",
};
/** Finds which of the ids have a row that another transaction has added. */
const REFUSED_SQL = `SELECT id FROM event WHERE lane = ? AND id = ANY (?::bigint[])
  AND xmin <> pg_current_xact_id()::xid`;
const TAKEN_SQL = `SELECT DISTINCT e.id FROM unnest(?2::bigint[]) AS given(id)
  JOIN event AS e ON e.lane = ?1::integer AND e.id >= given.id AND e.id < given.id + ${TAKEN_US}`;

/** The bounds name the partition. */
const REPLACE_COSTS_SQL = `UPDATE event AS e SET manner = g.manner,
    cost_hi = nullif(g.hi, ${NO_COST}), cost_lo = nullif(g.lo, ${NO_COST}),
    other_units = CASE by_request WHEN 1 THEN ${GIVEN_REQUEST.add} WHEN -1 THEN ${GIVEN_REQUEST.remove} ELSE other_units END
  FROM unnest(?1::bigint[], ?2::integer[], ?3::integer[], ?4::integer[], ?5::double precision[], ?6::double precision[],
    ?7::integer[]) AS g(id, lane, former, manner, hi, lo, by_request)
  WHERE e.id = g.id AND e.lane = g.lane AND e.manner = g.former AND e.id >= ?8 AND e.id <= ?9`;

/** A run of a spool, as it was claimed. */
export interface SpoolClaim {
  /** The spool's own name, from its data folder. */
  readonly id: string;
  readonly lane: number;
  readonly run: number;
}

export interface PostgresWriterOptions {
  readonly postgres: Postgres;
  readonly claim: SpoolClaim;
  readonly log: Log;
}

interface SpoolRow {
  readonly id: string;
  readonly run: number;
  readonly segment: number;
  readonly offset: number;
  readonly batch: number;
}

/** PostgreSQL's own part of the writer of a spool. */
export class PostgresWriter implements WriterEngine {
  readonly isShared = true;
  /** Some 8,000 events. Twice what usage.db takes at once, since each total is sent and added to once a batch, however many events it has. */
  readonly readBytesMax = 512 * 1024;
  readonly keptMs = KEPT_MS;
  readonly #postgres: Postgres;
  readonly #claim: SpoolClaim;
  readonly #rows: EventRows;
  readonly #maintenance: PostgresMaintenance;

  constructor({ postgres, claim, log }: PostgresWriterOptions) {
    this.#postgres = postgres;
    this.#claim = claim;
    this.#rows = new EventRows(claim.lane);
    this.#maintenance = new PostgresMaintenance({ postgres, log });
  }

  get lane(): number {
    return this.#claim.lane;
  }

  async transact<Answer>(script: () => Script<Answer>): Promise<Answer> {
    const step = (tx: Transaction) => drive(tx, script());
    try {
      return await this.#postgres.transaction(step, { callMsMax: STATEMENT_MS_MAX.batch });
    } catch (cause) {
      this.#rows.clear();
      throw cause;
    }
  }

  /**
   * A database that was put back to an older state has an older run of the spool, or does not know it: its row is made to be
   * this run's, so that what is missing comes out of the segments that are kept.
   */
  *readPosition(): Script<StoredPosition> {
    const { id, lane, run: own } = this.#claim;
    const row = (yield* this.#findSpool()) ?? (yield* this.#restoreSpool());
    if (row === null || row.id !== id || row.run > own) throw new SupersededError();
    if (row.run < own) yield* run("UPDATE spool SET run = ? WHERE lane = ?", [own, lane]);
    return { position: { segment: row.segment, offsetBytes: row.offset }, batch: row.batch };
  }

  /** Holds the spool's row until the end of the transaction. The number is above that of every batch before. */
  *movePosition({ from, to, lastBatch, isRecorded }: PositionMove): Script<number> {
    const { id, lane, run: own } = this.#claim;
    const moved = yield* one<{ batch: number }>(
      `UPDATE spool SET segment = ?, "offset" = ?, batch = greatest(batch, ?) + ?, heard_at = now()
       WHERE lane = ? AND id = ? AND run = ? AND segment = ? AND "offset" = ? RETURNING batch`,
      [
        to.segment,
        to.offsetBytes,
        lastBatch,
        isRecorded ? 1 : 0,
        lane,
        id,
        own,
        from.segment,
        from.offsetBytes,
      ],
    );
    if (moved === null) throw new PositionMovedError();
    return moved.batch;
  }

  addRows(events: readonly EndedEvent[]): Script<void> {
    return this.#rows.add(events);
  }

  *replaceCosts({ ids, lanes, formers, classIds, costHi, costLo, byRequest }: EventCosts): Script<number> {
    return yield* run(REPLACE_COSTS_SQL, [
      [...ids],
      [...lanes],
      [...formers],
      [...classIds],
      [...costHi],
      [...costLo],
      [...byRequest],
      ids[0] ?? 0,
      ids.at(-1) ?? 0,
    ]);
  }

  *keepOrder(batch: number, ids: readonly InstantUs[]): Script<void> {
    const { lane } = this.#claim;
    yield* run("INSERT INTO recorded_batch (lane, number, ids) VALUES (?, ?, ?::bigint[])", [
      lane,
      batch,
      ids,
    ]);
    if (batch % BATCHES_PER_TRIM === 0)
      yield* run("DELETE FROM recorded_batch WHERE lane = ? AND number <= ?", [
        lane,
        batch - BATCHES_KEPT_MAX,
      ]);
  }

  async readOfMoment<Answer>(
    script: () => Script<Answer>,
    signal: AbortSignal,
  ): Promise<{ readonly answer: Promise<Answer> }> {
    const held = Promise.withResolvers<void>();
    const answer = this.#postgres.transaction(
      async (tx) => {
        // Retention drops no day of it meanwhile.
        await tx.run("LOCK TABLE ONLY event, ONLY event_default IN ACCESS SHARE MODE");
        // The first look is the moment that all others see.
        await tx.all("SELECT 1");
        held.resolve();
        // A connection of its own: what is read of label sets and cells is not kept by a writer.
        return await drive(tx, script());
      },
      { isReadOnly: true, isolation: "repeatable read", callMsMax: STATEMENT_MS_MAX.limitSums, signal },
    );
    answer.catch(held.reject);
    await held.promise;
    return { answer };
  }

  async beat(): Promise<JournalPosition | null> {
    const { id, lane, run: own } = this.#claim;
    const [row] = await this.#postgres.all<{ segment: number; offset: number }>(
      `UPDATE spool SET heard_at = clock_timestamp() WHERE lane = $1 AND id = $2 AND run = $3 RETURNING segment, "offset"`,
      [lane, id, own],
    );
    return row === undefined ? null : { segment: row.segment, offsetBytes: row.offset };
  }

  /** Beside batches: what it waits for holds up no event. */
  maintain(pass: MaintenancePass): Promise<void> {
    return this.#maintenance.run(pass);
  }

  stop(): void {
    this.#maintenance.stop();
  }

  close(): Promise<void> {
    return this.#postgres.close();
  }

  *#findSpool(): Script<SpoolRow | null> {
    // FOR UPDATE waits for a transaction whose COMMIT has not been answered, so that what is read is what came of it.
    return yield* one<SpoolRow>(
      'SELECT id, run, segment, "offset", batch FROM spool WHERE lane = ? FOR UPDATE',
      [this.#claim.lane],
    );
  }

  *#restoreSpool(): Script<SpoolRow | null> {
    const { id, lane, run: own } = this.#claim;
    yield* run("INSERT INTO spool (lane, id, run) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", [lane, id, own]);
    // The next new spool would be given the lane.
    yield* all("SELECT setval(pg_get_serial_sequence('spool', 'lane'), (SELECT max(lane) FROM spool))");
    return yield* this.#findSpool();
  }
}

/** The request log of a lane. Only within the writer's transaction. */
class EventRows {
  readonly #lane: number;
  /** Many at one instant (a coarse clock) start where the last of them ended. */
  #clash = { arrivedAtUs: -1, nextId: 0 };

  constructor(lane: number) {
    this.#lane = lane;
  }

  /** Gives each its id, its arrival or the next that is free, and adds the rows. */
  *add(events: readonly EndedEvent[]): Script<void> {
    const taken = new Set<InstantUs>();
    let rest = events;
    for (const event of events) event.id = event.arrivedAtUs;
    while (rest.length > 0) {
      for (const event of rest) event.id = this.#toFree(event, taken);
      const added = yield* insert(
        EVENTS,
        rest.map((event) => [this.#lane, ...toEventRow(event)]),
      );
      if (added === rest.length) return;
      const refused = yield* this.#find(REFUSED_SQL, rest);
      rest = rest.filter(({ id }) => refused.has(id));
      for (const id of yield* this.#find(TAKEN_SQL, rest)) taken.add(id);
    }
  }

  /** Forgets what a rolled back transaction has added. */
  clear(): void {
    this.#clash = { arrivedAtUs: -1, nextId: 0 };
  }

  #toFree({ arrivedAtUs, id: from }: EndedEvent, taken: Set<InstantUs>): InstantUs {
    let id = this.#clash.arrivedAtUs === arrivedAtUs ? Math.max(from, this.#clash.nextId) : from;
    while (taken.has(id)) id += 1;
    taken.add(id);
    this.#clash = { arrivedAtUs, nextId: id + 1 };
    return id;
  }

  *#find(sql: string, events: readonly EndedEvent[]): Script<ReadonlySet<InstantUs>> {
    const rows = yield* all<{ id: number }>(sql, [this.#lane, events.map(({ id }) => id)]);
    return new Set(rows.map(({ id }) => id));
  }
}
