import { all, dialectOf, type Reading } from "#storage/ledger/queries/reading.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { eventIdToUuid } from "#kernel/ids.ts";
import type { Unit } from "#kernel/units.ts";
import { byUnit, UNITS } from "#kernel/units.ts";
import type { RequestLogRow } from "#stats/store.ts";
import type { Outcome, UsageShape } from "#usage/event.ts";
import { toPrices } from "#usage/journal-line.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { joinCost } from "#storage/ledger/rows/sums.ts";

type StoredQuantities = { readonly [unit in Unit]: number | null };

interface EventRow extends StoredQuantities {
  readonly id: number;
  readonly principal_name: string;
  readonly key_id: string | null;
  readonly relay_token_id: string | null;
  readonly provider_id: string;
  readonly model: string | null;
  readonly upstream_name: string | null;
  readonly endpoint: string;
  readonly client: string | null;
  readonly tags: string;
  /** Null when nothing was reported. */
  readonly shape: UsageShape | null;
  readonly status_code: number;
  readonly outcome: Outcome;
  readonly error_kind: string | null;
  readonly streamed: number;
  readonly duration_us: number;
  readonly first_byte_us: number | null;
  readonly cost_hi: number | null;
  readonly cost_lo: number | null;
  readonly prices: string;
}

export interface RowRange {
  readonly fromUs: InstantUs;
  readonly toUs: InstantUs;
  readonly limit: number;
  readonly offset: number;
}

/** The events of a range that match, newest first. */
export function* readRows(filter: ResolvedFilter, range: RowRange): Reading<readonly RequestLogRow[]> {
  const events = `SELECT * FROM event WHERE id >= ? AND id < ? ${filter.eventCondition} ORDER BY id DESC LIMIT ? OFFSET ?`;
  return (yield* all<EventRow>(toRowsSql(events), [range.fromUs, range.toUs, range.limit, range.offset])).map(
    toRequestLogRow,
  );
}

/** The events with these ids, newest first; one that retention has removed is left out. */
export function* readRowsById(ids: readonly InstantUs[]): Reading<readonly RequestLogRow[]> {
  const { isAnyOf } = yield* dialectOf();
  const rows = yield* all<EventRow>(toRowsSql(`SELECT * FROM event WHERE ${isAnyOf("id", "number")}`), [ids]);
  return rows.map(toRequestLogRow);
}

/** CROSS JOIN keeps the events outermost. */
function toRowsSql(events: string): string {
  return `SELECT e.id, m.streamed, e.duration_us, e.first_byte_us, e.cost_hi, e.cost_lo,
         ${UNITS.map((unit) => `e.${unit}`).join(", ")}, c.principal_name, c.key_id, c.relay_token_id, c.provider_id, c.model,
         c.upstream_name, c.endpoint, c.client, c.tags, c.shape, r.status_code, r.outcome, r.error_kind, p.prices
       FROM (${events}) AS e
       CROSS JOIN combination AS c ON c.id = e.combination
       CROSS JOIN manner AS m ON m.id = e.manner
       CROSS JOIN result AS r ON r.id = m.result
       CROSS JOIN price_set AS p ON p.id = m.price_set
       ORDER BY e.id DESC`;
}

function toRequestLogRow(row: EventRow): RequestLogRow {
  const quantities = byUnit(UNITS, (unit) => row[unit] ?? undefined);
  return {
    id: eventIdToUuid(row.id),
    arrivedAtUs: row.id,
    principal: row.principal_name,
    keyId: row.key_id,
    relayTokenId: row.relay_token_id,
    providerId: row.provider_id,
    model: row.model,
    upstreamName: row.upstream_name,
    endpoint: row.endpoint,
    client: row.client,
    statusCode: row.status_code,
    outcome: row.outcome,
    errorKind: row.error_kind,
    streamed: row.streamed === 1,
    durationUs: row.duration_us,
    timeToFirstByteUs: row.first_byte_us,
    costPico: row.cost_hi === null || row.cost_lo === null ? null : joinCost(row.cost_hi, row.cost_lo),
    usage: row.shape === null ? null : { shape: row.shape, quantities },
    prices: toPrices(JSON.parse(row.prices)),
    tags: toTags(JSON.parse(row.tags)),
  };
}

function toTags(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((tag) => typeof tag === "string") : [];
}
