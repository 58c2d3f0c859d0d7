import type { EventOrigin } from "#kernel/ids.ts";
import { countChanges } from "#storage/cells/counting.ts";
import { EVENT_COLUMNS, toEventRow } from "#storage/cells/event-row.ts";
import { all, dialectOf, insert, run, type Script } from "#storage/sql/script.ts";
import type { Settlement } from "#usage/event.ts";
import { decodeSettlement, encodeJournalLine } from "#usage/journal-line.ts";
import { type EndedEvent, toEnded } from "./ended-event.ts";
import type { OpenRequests } from "./open-requests.ts";
import {
  type EventRow,
  toLooks,
  toLooksSql,
  toOriginKey,
  toSettled,
  toTakenEvent,
  type UnsettledEvent,
} from "./unsettled-events.ts";

/** Applied in one transaction, for which batches of other lanes may have to wait. */
const SETTLED_AT_ONCE_MAX = 200;

const PENDING_EVENTS = {
  table: "pending_event",
  columns: [
    ["lane", "integer"],
    ["id", "bigint"],
  ],
} as const;
const SETTLEMENTS = {
  table: "settlement",
  columns: [
    ["id", "bigint"],
    ["lane", "integer"],
    ["line", "text"],
  ],
  // The first of an event stays.
  ending: "ON CONFLICT DO NOTHING",
} as const;

/** Whether the usage of an event is still to come. */
export function isPending({ manner }: Pick<EndedEvent, "manner">): boolean {
  return manner.shape === "pending";
}

/** Notes events that are pending, so that they are found among millions; within the batch's transaction. */
export function* storePending(lane: number, events: readonly EndedEvent[]): Script<void> {
  yield* insert(
    PENDING_EVENTS,
    events.map(({ id }) => [lane, id]),
  );
}

/**
 * Puts settlements down, within the batch's transaction. They are applied by a later one: their requests may be open, or
 * their events another replica's, and not there yet. One of this lane whose request is neither open nor an event is dropped:
 * no event will come, since a request stands in the journal before its settlement.
 */
export function* storeSettlements(
  settlements: readonly Settlement[],
  { lane, open }: { readonly lane: number; readonly open: OpenRequests },
): Script<void> {
  if (settlements.length === 0) return;
  const { isAnyOfKeys, toLane } = yield* dialectOf();
  const isEnded = ({ event }: Settlement) => event.lane === lane && !open.has(event.eventId);
  const rows = yield* all<{ id: number }>(
    `SELECT id FROM event WHERE ${toLane("event")} = ? AND ${isAnyOfKeys("id")}`,
    [lane, settlements.filter(isEnded).map(({ event }) => event.eventId)],
  );
  const recorded = new Set(rows.map(({ id }) => id));
  const waiting = settlements.filter((one) => !isEnded(one) || recorded.has(one.event.eventId));
  yield* insert(
    SETTLEMENTS,
    waiting
      // Two replicas that tell of the same events never wait for each other in a circle.
      .toSorted(({ event: one }, { event: other }) => one.eventId - other.eventId || one.lane - other.lane)
      .map((settlement) => {
        const { eventId, lane: ofEvent } = settlement.event;
        return [eventId, ofEvent, encodeJournalLine({ kind: "settle", settlement })];
      }),
  );
}

/** An event that is settled now, with what the totals have of it. */
interface Change {
  readonly unsettled: UnsettledEvent;
  readonly ended: EndedEvent;
}

/** Settlements whose events are there, and what becomes of these. */
export interface SettlementPlan {
  readonly origins: readonly EventOrigin[];
  readonly changes: readonly Change[];
  readonly hasMore: boolean;
}

/** Plans what `settle` does, for events of every lane. Whichever replica comes last finds both: each looks once its own commit is made. */
export function* planSettlements(): Script<SettlementPlan> {
  const { toLane } = yield* dialectOf();
  const rows = yield* all<{ id: number; lane: number; line: string }>(
    `SELECT s.id, ${toLane("s")} AS lane, s.line FROM settlement AS s
     WHERE EXISTS (SELECT 1 FROM event AS e WHERE e.id = s.id AND ${toLane("e")} = ${toLane("s")}) ORDER BY 1, 2 LIMIT ?`,
    [SETTLED_AT_ONCE_MAX],
  );
  const origins = rows.map(({ id, lane }) => ({ eventId: id, lane }));
  const unsettled = yield* findUnsettled(origins);
  const changes = rows.flatMap(({ id, lane, line }): readonly Change[] => {
    const found = unsettled.get(toOriginKey({ eventId: id, lane })) ?? null;
    const settlement = decodeSettlement(Buffer.from(line));
    if (settlement === null || found === null) return [];
    const { dimensions, streamed } = found;
    const { ending, manner } = toSettled(found, settlement);
    return [{ unsettled: found, ended: toEnded({ arrivedAtUs: id, streamed, dimensions }, ending, manner) }];
  });
  return { origins, changes, hasMore: rows.length === SETTLED_AT_ONCE_MAX };
}

/**
 * Does what was planned, when the ids of the events are found, and counts it. One replica at a time: two would each take the
 * other's event for the last of its totals. Locks are taken in the order in which batches take them: events before totals.
 */
export function* settle({ origins, changes }: SettlementPlan): Script<void> {
  const dialect = yield* dialectOf();
  // Meets itself, and no batch.
  if (dialect.hasLocks) yield* run("LOCK TABLE spool IN SHARE UPDATE EXCLUSIVE MODE");
  // Another replica may have settled some in between, which is committed by then.
  const unsettled = yield* findUnsettled(origins);
  for (const [lane, ofLane] of Map.groupBy(origins, (origin) => origin.lane))
    yield* run(
      `DELETE FROM settlement WHERE ${dialect.toLane("settlement")} = ? AND ${dialect.isAnyOf("id", "number")}`,
      [lane, ofLane.map(({ eventId }) => eventId)],
    );
  const due = changes.filter((change) => unsettled.has(toOriginKey(change.unsettled.origin)));
  const byLane = [...Map.groupBy(due, (change) => change.unsettled.origin.lane)];
  for (const [lane, ofLane] of byLane) {
    for (const { ended } of ofLane) yield* replaceRow(lane, ended);
    yield* run(
      `DELETE FROM pending_event WHERE ${dialect.toLane("pending_event")} = ? AND ${dialect.isAnyOf("id", "number")}`,
      [lane, ofLane.map(({ ended }) => ended.id)],
    );
  }
  yield* countChanges(
    byLane.map(([lane, ofLane]) => ({
      lane,
      taken: ofLane.map((change) => toTakenEvent(change.unsettled)),
      added: ofLane.map(({ ended }) => ended),
    })),
  );
}

function* findUnsettled(origins: readonly EventOrigin[]): Script<ReadonlyMap<string, UnsettledEvent>> {
  const ids = origins.map(({ eventId }) => eventId);
  const rows = yield* all<EventRow>(toLooksSql(yield* dialectOf()), [ids]);
  return new Map(
    toLooks(rows, origins).flatMap(({ origin, unsettled }) =>
      unsettled === null ? [] : [[toOriginKey(origin), unsettled] as const],
    ),
  );
}

const REPLACED_SQL = EVENT_COLUMNS.slice(1)
  .map(([name]) => `${name} = ?`)
  .join(", ");

function* replaceRow(lane: number, event: EndedEvent): Script<void> {
  const { toLane } = yield* dialectOf();
  const [id = null, ...values] = toEventRow(event);
  yield* run(`UPDATE event SET ${REPLACED_SQL} WHERE ${toLane("event")} = ? AND id = ?`, [
    ...values,
    lane,
    id,
  ]);
}
