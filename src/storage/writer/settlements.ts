import type { EventOrigin } from "#kernel/ids.ts";
import { countChanges } from "#storage/cells/counting.ts";
import { EVENT_COLUMNS, readCostReported, toEventRow } from "#storage/cells/event-row.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import { type CountedEvent, joinCost, splitCost } from "#storage/cells/sums.ts";
import { all, dialectOf, insert, run, type Script } from "#storage/sql/script.ts";
import {
  type FoundEvent,
  PENDING_USAGE,
  type Settlement,
  type UsageDimensions,
  toDuration,
} from "#usage/event.ts";
import {
  decodeSettlement,
  encodeJournalLine,
  type UsageFigures,
  type UsageManner,
} from "#usage/journal-line.ts";
import { type EndedEvent, toEnded } from "./ended-event.ts";
import type { Interning } from "./interning.ts";
import { findRecorded, type OpenRequests } from "./open-requests.ts";

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

/** Tells whether the usage of an event is still to come. */
export function isPending({ manner }: Pick<EndedEvent, "manner">): boolean {
  return manner.shape === "pending";
}

/** Tells whether a settlement may change an event. */
export function isUnsettled({
  shape,
  outcome,
  errorKind,
}: Pick<UsageManner, "shape" | "outcome" | "errorKind">): boolean {
  // A kill may come between the answer that tells its id and the end: what the ledger then has of it says nothing.
  const isCutOff = shape === null && outcome === "unreachable" && errorKind === "interrupted";
  return shape === "pending" || isCutOff;
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
  const isEnded = ({ event }: Settlement) => event.lane === lane && !open.has(event.eventId);
  const ended = settlements.filter(isEnded).map(({ event }) => event.eventId);
  const recorded = yield* findRecorded(lane, ended);
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

/**
 * Applies settlements whose events are there, of every lane: changes the rows, and counts the change. True when more may wait.
 * Whichever replica comes last finds both: each applies once its own commit is made. One replica at a time: two would each take
 * the other's event for the last of its totals. Locks are taken in the order in which batches take them: events before totals,
 * and settlements last.
 */
export function* settle(interning: Interning): Script<boolean> {
  const dialect = yield* dialectOf();
  let due = yield* findDue();
  if (due.length === 0) return false;
  if (dialect.hasLocks) {
    // Meets itself, and no batch. What another replica has settled meanwhile is committed by then.
    yield* run("LOCK TABLE spool IN SHARE UPDATE EXCLUSIVE MODE");
    due = yield* findDue();
  }
  const found = yield* findEvents(due.map(({ id, lane }) => ({ eventId: id, lane })));
  const changes = due.flatMap(({ id, lane, line }) => {
    const taken = found.get(toKey({ eventId: id, lane })) ?? null;
    const settlement = decodeSettlement(Buffer.from(line));
    if (taken === null || settlement === null) return [];
    return [{ lane, taken, added: toSettled(taken, settlement) }];
  });
  yield* interning.intern(changes.map(({ added }) => added));
  const byLane = [...Map.groupBy(changes, (change) => change.lane)].map(([lane, ofLane]) => ({
    lane,
    added: ofLane.map(({ added }) => added),
    taken: ofLane.map(({ taken }) => taken),
  }));
  for (const { lane, added } of byLane) {
    for (const event of added) yield* replaceRow(lane, event);
    yield* remove("pending_event", lane, added);
  }
  yield* countChanges(byLane);
  for (const [lane, ofLane] of Map.groupBy(due, (one) => one.lane)) yield* remove("settlement", lane, ofLane);
  return due.length === SETTLED_AT_ONCE_MAX;
}

/** See `UsageLedger.findEvent`. */
export function* findEvent(origin: EventOrigin): Script<FoundEvent> {
  const found = (yield* findEvents([origin])).get(toKey(origin));
  if (found === undefined) return { kind: "absent" };
  if (found === null) return { kind: "settled" };
  const { id, dimensions, streamed, ending } = found;
  return {
    kind: "unsettled",
    subject: { ...dimensions, arrivedAtUs: id, streamed },
    ending: { ...ending, costPico: null, prices: {} },
  };
}

function* findDue(): Script<readonly { id: number; lane: number; line: string }[]> {
  const { toLane } = yield* dialectOf();
  return yield* all(
    `SELECT s.id, ${toLane("s")} AS lane, s.line FROM settlement AS s
     WHERE EXISTS (SELECT 1 FROM event AS e WHERE e.id = s.id AND ${toLane("e")} = ${toLane("s")}) ORDER BY 1, 2 LIMIT ?`,
    [SETTLED_AT_ONCE_MAX],
  );
}

/** An event that a settlement may change, as the totals have it until then: a request, its duration and a cost that was told early. */
interface UnsettledEvent extends CountedEvent {
  readonly streamed: boolean;
  readonly dimensions: UsageDimensions;
}

type EventRow = Omit<UsageDimensions, "tags" | "fixedTags"> &
  Pick<UsageFigures, "outcome" | "errorKind" | "statusCode" | "durationUs" | "timeToFirstByteUs"> &
  Pick<UsageManner, "shape"> & {
    readonly id: number;
    readonly combination: number;
    readonly result: number;
    readonly streamed: number;
    readonly tags: string;
    readonly other_units: string | null;
  };

/** The events among some origins, by `toKey`: null for one that is settled, or was never pending. */
function* findEvents(origins: readonly EventOrigin[]): Script<ReadonlyMap<string, UnsettledEvent | null>> {
  const { isAnyOfKeys, toLane } = yield* dialectOf();
  const rows = yield* all<EventRow & { readonly lane: number }>(
    `SELECT e.id, ${toLane("e")} AS lane, e.combination, m.result, m.streamed, e.duration_us AS "durationUs",
       e.first_byte_us AS "timeToFirstByteUs", c.principal_id AS "principalId", c.principal_name AS "principalName",
       c.key_id AS "keyId", c.relay_token_id AS "relayTokenId", c.provider_id AS "providerId", c.model,
       c.upstream_name AS "upstreamName", c.endpoint, c.client, c.tags, c.shape, r.outcome, r.error_kind AS "errorKind",
       r.status_code AS "statusCode", e.other_units
     FROM event AS e JOIN combination AS c ON c.id = e.combination JOIN manner AS m ON m.id = e.manner
       JOIN result AS r ON r.id = m.result
     WHERE ${isAnyOfKeys("e.id")}`,
    [origins.map(({ eventId }) => eventId)],
  );
  // Others of the same microsecond may be among the rows.
  const wanted = new Set(origins.map(toKey));
  const found = rows.map(({ lane, ...row }) => [toKey({ eventId: row.id, lane }), toUnsettled(row)] as const);
  return new Map(found.filter(([key]) => wanted.has(key)));
}

/** A key of maps: equal origins have equal texts. */
function toKey({ eventId, lane }: EventOrigin): string {
  return `${eventId} ${lane}`;
}

function toUnsettled({
  id,
  combination,
  result,
  streamed,
  tags,
  shape,
  outcome,
  errorKind,
  statusCode,
  durationUs,
  timeToFirstByteUs,
  other_units,
  ...labels
}: EventRow): UnsettledEvent | null {
  if (!isUnsettled({ shape, outcome, errorKind })) return null;
  const usage = shape === "pending" ? PENDING_USAGE : null;
  const figures = { statusCode, outcome, errorKind, durationUs, timeToFirstByteUs, usage };
  return {
    id,
    combination,
    result,
    streamed: streamed === 1,
    dimensions: { ...labels, ...parseStoredTags(tags) },
    ending: { ...figures, costPico: null, unpriced: false },
    cost: null,
    // Told before the answer has ended, or it has no usage.
    costReported: splitCost(readCostReported({ other_units }) ?? null),
  };
}

/** The event as it is from now on, with a cost that was told early where the settlement tells none. It lasts until it is settled, so that limits, which count by the end, have it there. */
function toSettled(
  { id, streamed, dimensions, costReported, ending: { timeToFirstByteUs } }: UnsettledEvent,
  settlement: Settlement,
): EndedEvent {
  const { settledAtUs, statusCode, outcome, errorKind, usage, tier, geo, unpriced, prices } = settlement;
  const early = costReported === null ? undefined : joinCost(costReported.hi, costReported.lo);
  const { costPico, costReportedPico = early } = settlement;
  const figures = { statusCode, outcome, errorKind, usage, tier, geo, costPico, unpriced, costReportedPico };
  return toEnded(
    { arrivedAtUs: id, streamed, dimensions },
    { ...figures, durationUs: toDuration(settledAtUs - id), timeToFirstByteUs },
    { statusCode, outcome, errorKind, unpriced, tier, geo, prices, shape: usage?.shape ?? null },
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

function* remove(
  table: "pending_event" | "settlement",
  lane: number,
  rows: readonly { readonly id: number }[],
): Script<void> {
  const { isAnyOf, toLane } = yield* dialectOf();
  yield* run(`DELETE FROM ${table} WHERE ${toLane(table)} = ? AND ${isAnyOf("id", "number")}`, [
    lane,
    rows.map(({ id }) => id),
  ]);
}
