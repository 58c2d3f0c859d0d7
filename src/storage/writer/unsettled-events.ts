import type { EventOrigin } from "#kernel/ids.ts";
import {
  type FoundEvent,
  type Outcome,
  PENDING_USAGE,
  type Settlement,
  type UsageDimensions,
  type UsageShape,
} from "#usage/event.ts";
import type { UsageFigures, UsageManner } from "#usage/journal-line.ts";
import { toDuration } from "#usage/journal-fields.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import { toAmounts, type CountedEvent } from "#storage/cells/sums.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { all, dialectOf, type Script } from "#storage/sql/script.ts";

/** An event that a settlement may change, with what it takes out of the totals: a request, its duration and nothing else. */
export interface UnsettledEvent {
  readonly origin: EventOrigin;
  readonly combination: number;
  readonly result: number;
  readonly streamed: boolean;
  readonly dimensions: UsageDimensions;
  readonly ending: UsageFigures;
}

export interface EventRow {
  readonly id: number;
  readonly lane: number;
  readonly combination: number;
  readonly result: number;
  readonly streamed: number;
  readonly duration_us: number;
  readonly first_byte_us: number | null;
  readonly principal_id: string;
  readonly principal_name: string;
  readonly key_id: string | null;
  readonly relay_token_id: string | null;
  readonly provider_id: string;
  readonly model: string | null;
  readonly upstream_name: string | null;
  readonly endpoint: string;
  readonly client: string | null;
  readonly tags: string;
  readonly shape: UsageShape | null;
  readonly outcome: Outcome;
  readonly error_kind: string | null;
  readonly status_code: number;
}

/** An event of the ledger. */
export interface EventLook {
  readonly origin: EventOrigin;
  /** Null for an event that is settled, or was never pending. */
  readonly unsettled: UnsettledEvent | null;
}

/** The SELECT that `toLooks` reads, of the events whose ids are bound as a list. */
export function toLooksSql({ eventKey, isAnyOfKeys }: Dialect): string {
  const lane = eventKey.length === 1 ? "0 AS lane" : "e.lane";
  return `SELECT e.id, ${lane}, e.combination, m.result, m.streamed, e.duration_us, e.first_byte_us, c.principal_id,
       c.principal_name, c.key_id, c.relay_token_id, c.provider_id, c.model, c.upstream_name, c.endpoint, c.client, c.tags,
       c.shape, r.outcome, r.error_kind, r.status_code
     FROM event AS e JOIN combination AS c ON c.id = e.combination JOIN manner AS m ON m.id = e.manner
       JOIN result AS r ON r.id = m.result
     WHERE ${isAnyOfKeys("e.id")}`;
}

/** The events of these origins: others of the same microsecond may be among the rows. */
export function toLooks(rows: readonly EventRow[], origins: readonly EventOrigin[]): readonly EventLook[] {
  const wanted = new Set(origins.map(toOriginKey));
  return rows.flatMap((row) => {
    const origin = { eventId: row.id, lane: row.lane };
    return wanted.has(toOriginKey(origin)) ? [{ origin, unsettled: toUnsettled(origin, row) }] : [];
  });
}

/** See `UsageLedger.findEvent`. */
export function* findEvent(origin: EventOrigin): Script<FoundEvent> {
  const rows = yield* all<EventRow>(toLooksSql(yield* dialectOf()), [[origin.eventId]]);
  const [found] = toLooks(rows, [origin]);
  if (found === undefined) return { kind: "absent" };
  const { unsettled } = found;
  if (unsettled === null) return { kind: "settled" };
  const { dimensions, streamed, ending } = unsettled;
  return {
    kind: "unsettled",
    subject: { ...dimensions, arrivedAtUs: origin.eventId, streamed },
    ending: { ...ending, costPico: null, prices: {} },
  };
}

/** A key of maps: equal origins have equal texts. */
export function toOriginKey({ eventId, lane }: EventOrigin): string {
  return `${eventId} ${lane}`;
}

/** Whether a settlement may change an event. */
export function isUnsettled({
  shape,
  outcome,
  errorKind,
}: Pick<UsageManner, "shape" | "outcome" | "errorKind">): boolean {
  // A kill may come between the answer that tells its id and the end: what the ledger then has of it says nothing.
  const isCutOff = shape === null && outcome === "unreachable" && errorKind === "interrupted";
  return shape === "pending" || isCutOff;
}

function toUnsettled(origin: EventOrigin, row: EventRow): UnsettledEvent | null {
  if (!isUnsettled({ shape: row.shape, outcome: row.outcome, errorKind: row.error_kind })) return null;
  const { tags, fixedTags } = parseStoredTags(row.tags);
  return {
    origin,
    combination: row.combination,
    result: row.result,
    streamed: row.streamed === 1,
    dimensions: {
      principalId: row.principal_id,
      principalName: row.principal_name,
      keyId: row.key_id,
      relayTokenId: row.relay_token_id,
      providerId: row.provider_id,
      model: row.model,
      upstreamName: row.upstream_name,
      endpoint: row.endpoint,
      client: row.client,
      tags,
      fixedTags,
    },
    ending: {
      statusCode: row.status_code,
      outcome: row.outcome,
      errorKind: row.error_kind,
      durationUs: row.duration_us,
      timeToFirstByteUs: row.first_byte_us,
      usage: row.shape === "pending" ? PENDING_USAGE : null,
      costPico: null,
      unpriced: false,
    },
  };
}

/** The event as the totals have it until it is settled. */
export function toTakenEvent({ origin, combination, result, ending }: UnsettledEvent): CountedEvent {
  return { id: origin.eventId, combination, result, ending, cost: null, amounts: toAmounts(null) };
}

export interface SettledEvent {
  readonly ending: UsageFigures;
  readonly manner: UsageManner;
}

/** The event as it is from now on. It lasts until it is settled, so that limits, which count by the end, have it there. */
export function toSettled(
  { origin, ending: before }: UnsettledEvent,
  { settledAtUs, statusCode, outcome, errorKind, usage, tier, prices, costPico, unpriced }: Settlement,
): SettledEvent {
  const durationUs = toDuration(settledAtUs - origin.eventId);
  const { timeToFirstByteUs } = before;
  const figures = { statusCode, outcome, errorKind, usage, tier, costPico, unpriced };
  return {
    ending: { ...figures, durationUs, timeToFirstByteUs },
    manner: { statusCode, outcome, errorKind, unpriced, tier, prices, shape: usage?.shape ?? null },
  };
}
