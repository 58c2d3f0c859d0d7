import type { EventOrigin } from "#kernel/ids.ts";
import { BatchSums, toCarriedRow } from "#storage/cells/batch-sums.ts";
import type { DimensionLimits } from "#storage/cells/dimension-values.ts";
import { lowerLastSeen } from "#storage/cells/last-seen.ts";
import type { CountedEvent } from "#storage/cells/sums.ts";
import { toLastOfDay } from "#storage/cells/total-columns.ts";
import { POSTGRES } from "#storage/sql/dialect.ts";
import {
  type EventRow,
  toAddedEvent,
  toLooks,
  toLooksSql,
  toOriginKey,
  toSettled,
  toTakenEvent,
  type UnsettledEvent,
} from "#storage/writer/unsettled-events.ts";
import { drive } from "#storage/postgres/drive.ts";
import { STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import type { Settlement } from "#usage/event.ts";
import { decodeSettlement, encodeJournalLine } from "#usage/journal-line.ts";
import { readBounds } from "./bounds.ts";
import { type EndedEvent, toEnded } from "./ended-event.ts";
import { replaceEvents } from "./event-rows.ts";
import type { Interning } from "./interning.ts";
import { storeLate } from "./late-totals.ts";
import type { Value } from "./rows.ts";
import { addTotals, addUnique, CARRIED, DAY, dropEmpty, HOUR, moveLast, OPEN_CELL } from "./totals.ts";

/** Applied in one transaction, which holds up sealing. */
const SETTLED_AT_ONCE_MAX = 500;

/** Whether the usage of an event is still to come. */
export function isPending({ manner }: Pick<EndedEvent, "manner">): boolean {
  return manner.shape === "pending";
}

/** Notes events that are pending, so that they are found among millions; within the batch's transaction. */
export async function storePending(sql: Sql, lane: number, events: readonly EndedEvent[]): Promise<void> {
  if (events.length === 0) return;
  await sql.run(
    `INSERT INTO pending_event (lane, id, combination)
     SELECT $1::integer, id, combination FROM unnest($2::bigint[], $3::integer[]) AS given(id, combination)`,
    [lane, events.map(({ id }) => id), events.map(({ combinationId }) => combinationId)],
  );
}

/**
 * Puts settlements down, within the batch's transaction. They are applied by a later one: their events may be another
 * replica's, and not there yet.
 */
export async function storeSettlements(sql: Sql, settlements: readonly Settlement[]): Promise<void> {
  if (settlements.length === 0) return;
  await sql.run(
    `INSERT INTO settlement (id, lane, line)
     SELECT * FROM unnest($1::bigint[], $2::integer[], $3::text[]) AS given(id, lane, line) ORDER BY id, lane
     ON CONFLICT DO NOTHING`,
    [
      settlements.map(({ event }) => event.eventId),
      settlements.map(({ event }) => event.lane),
      settlements.map((settlement) => encodeJournalLine({ kind: "settle", settlement })),
    ],
  );
}

interface Waiting extends EventOrigin {
  readonly settlement: Settlement | null;
}

/** An event that is settled now, with what the totals have of it. */
interface Change {
  readonly unsettled: UnsettledEvent;
  readonly ended: EndedEvent;
}

/**
 * Settles events whose settlements are there, those of every lane; true when there may be more. Whichever replica comes
 * last finds both: each looks once its own commit is made.
 */
export async function applySettlements(
  postgres: Postgres,
  {
    interning,
    dimensionLimits,
  }: { readonly interning: Interning; readonly dimensionLimits?: DimensionLimits | undefined },
): Promise<boolean> {
  const rows = await postgres.all<{ id: number; lane: number; line: string }>(
    `SELECT s.id, s.lane, s.line FROM settlement AS s
     WHERE EXISTS (SELECT FROM event AS e WHERE e.id = s.id AND e.lane = s.lane) ORDER BY s.id, s.lane LIMIT $1`,
    [SETTLED_AT_ONCE_MAX],
  );
  if (rows.length === 0) return false;
  const waiting = rows.map(({ id, lane, line }): Waiting => ({
    eventId: id,
    lane,
    settlement: decodeSettlement(Buffer.from(line)),
  }));
  const planned = await planChanges(postgres, waiting);
  const unknown = planned.filter(({ ended }) => !interning.find(ended));
  // Committed before they are named, as for a batch.
  if (unknown.length > 0) await interning.intern(unknown.map(({ ended }) => ended));
  await postgres.transaction(
    async (tx) => {
      // Which days are sealed stays as it is until the end of this.
      await tx.run("LOCK TABLE spool IN ROW EXCLUSIVE MODE");
      const mine = await takeWaiting(tx, waiting);
      // Another replica may have settled some in between, which is committed by then.
      const left = new Set((await findUnsettled(tx, mine)).keys());
      const changes = planned.filter(({ unsettled }) => left.has(toOriginKey(unsettled.origin)));
      if (changes.length > 0) await apply(tx, changes, dimensionLimits);
    },
    { callMsMax: STATEMENT_MS_MAX.batch },
  );
  return rows.length === SETTLED_AT_ONCE_MAX;
}

/** Takes settlements that no other replica is at out of the table, also where there is nothing to settle any more. */
async function takeWaiting(tx: Sql, waiting: readonly Waiting[]): Promise<readonly Waiting[]> {
  const taken = await tx.all<{ id: number; lane: number }>(
    `DELETE FROM settlement AS s USING (
       SELECT id, lane FROM settlement JOIN unnest($1::bigint[], $2::integer[]) AS given(id, lane) USING (id, lane)
       FOR UPDATE OF settlement SKIP LOCKED) AS free
     WHERE s.id = free.id AND s.lane = free.lane RETURNING s.id, s.lane`,
    [waiting.map(({ eventId }) => eventId), waiting.map(({ lane }) => lane)],
  );
  const keys = new Set(taken.map(({ id, lane }) => toOriginKey({ eventId: id, lane })));
  return waiting.filter((one) => keys.has(toOriginKey(one)));
}

async function planChanges(sql: Sql, waiting: readonly Waiting[]): Promise<readonly Change[]> {
  const found = await findUnsettled(sql, waiting);
  return waiting.flatMap((one) => {
    const unsettled = found.get(toOriginKey(one)) ?? null;
    if (one.settlement === null || unsettled === null) return [];
    const { dimensions, streamed } = unsettled;
    const { ending, manner } = toSettled(unsettled, one.settlement);
    const begun = { arrivedAtUs: one.eventId, streamed, dimensions };
    return [{ unsettled, ended: toEnded(begun, ending, manner) }];
  });
}

async function findUnsettled(
  sql: Sql,
  origins: readonly EventOrigin[],
): Promise<ReadonlyMap<string, UnsettledEvent>> {
  const ids = origins.map(({ eventId }) => eventId);
  const found = await sql.all<EventRow>(toLooksSql(POSTGRES).replace("?", "$1"), [ids]);
  return new Map(
    toLooks(found, origins).flatMap(({ origin, unsettled }) =>
      unsettled === null ? [] : [[toOriginKey(origin), unsettled] as const],
    ),
  );
}

/** In the order in which batches take their locks: events, hours, days, the ledger's state, late ends. */
async function apply(
  tx: Transaction,
  changes: readonly Change[],
  dimensionLimits: DimensionLimits | undefined,
): Promise<void> {
  const byLane = Map.groupBy(changes, ({ unsettled }) => unsettled.origin.lane);
  const sums = [...byLane].map(([lane, ofLane]) => Object.assign(toSums(ofLane), { lane }));
  for (const [lane, ofLane] of byLane)
    await replaceEvents(
      tx,
      lane,
      ofLane.map(({ ended }) => ended),
    );
  await tx.run(
    `DELETE FROM pending_event AS p USING unnest($1::bigint[], $2::integer[]) AS given(id, lane)
     WHERE p.id = given.id AND p.lane = given.lane`,
    [changes.map(({ ended }) => ended.id), changes.map(({ unsettled }) => unsettled.origin.lane)],
  );
  const hours = sums.flatMap(({ lane, batch }) =>
    [...batch.hours()].map((hour) => Object.assign(hour, { lane })),
  );
  await addUnique(
    tx,
    HOUR,
    hours.map(({ hour, outcome, lane, sum }) => sum.hourMeasures<Value>(hour, outcome, lane)),
  );
  await dropEmpty(
    tx,
    HOUR,
    hours.filter(({ sum }) => sum.isReduced).map(({ hour, outcome, lane }) => [hour, outcome, lane]),
  );
  const cells = sums.flatMap(({ lane, batch }) =>
    [...batch.cells()].map((cell) => Object.assign(cell, { lane })),
  );
  await addUnique(
    tx,
    OPEN_CELL,
    cells.map(({ hour, combination, result, lane, sum }) => sum.dayMeasures(hour, combination, result, lane)),
  );
  const taken = cells.filter(({ sum }) => sum.isReduced);
  await drive(tx, { dialect: POSTGRES, subjects: new Map() }, lowerLastSeen(taken));
  const { sealedBeforeDay } = await readBounds(tx);
  const days = sums.flatMap(({ lane, batch }) =>
    [...batch.days()].map((day) => Object.assign(day, { lane })),
  );
  const open = days.filter(({ day }) => day >= sealedBeforeDay);
  await addUnique(
    tx,
    DAY,
    open.map(({ day, combination, result, lane, sum }) => sum.dayMeasures(day, combination, result, lane)),
  );
  const reduced = open
    .filter(({ sum }) => sum.isReduced)
    .map(({ day, combination, result, lane }) => [day, combination, result, lane]);
  await dropEmpty(tx, DAY, reduced);
  await moveLast(tx, DAY, { rows: reduced, last: toLastOfDay("AND e.lane = t.lane") });
  if (open.length < days.length)
    await storeLate(
      tx,
      days.filter(({ day }) => day < sealedBeforeDay),
      changes.map(({ ended }) => ended.id),
      dimensionLimits,
    );
  const carried = sums.flatMap((ofLane) => ofLane.carried.map((row) => row(ofLane.lane)));
  await addTotals(tx, CARRIED, carried);
  await dropEmpty(
    tx,
    CARRIED,
    carried.map((row) => row.slice(0, CARRIED.keys.length)),
  );
}

function toSums(changes: readonly Change[]) {
  const batch = new BatchSums();
  const carried: ((lane: number) => Value[])[] = [];
  const carry = (event: CountedEvent, sign: 1 | -1) => {
    const row = toCarriedRow(event);
    if (row === null) return;
    const { endedDay, arrivedDay, combination, unpriced, unknown, costHi, costLo, tokens } = row;
    const measures = [1, unpriced, unknown, costHi, costLo, tokens].map((measure) => measure * sign);
    carried.push((lane) => [endedDay, arrivedDay, combination, lane, ...measures]);
  };
  for (const { unsettled, ended } of changes) {
    const taken = toTakenEvent(unsettled);
    const ids = { combination: ended.combinationId, result: ended.resultId };
    const added = toAddedEvent(unsettled, ended.ending, ids);
    batch.take(taken);
    batch.add(added);
    carry(taken, -1);
    carry(added, 1);
  }
  return { batch, carried };
}
