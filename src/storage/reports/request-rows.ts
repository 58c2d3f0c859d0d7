import type { Dialect } from "#storage/sql/dialect.ts";
import { all, dialectOf, one, type Script } from "#storage/sql/script.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { eventIdToUuid } from "#kernel/ids.ts";
import type { Unit } from "#kernel/units.ts";
import { RARE_UNITS } from "#kernel/units.ts";
import type { Page } from "#kernel/page.ts";
import type { Window } from "#stats/filter.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import type { UsageShape } from "#usage/event.ts";
import { toFailure, toPrices } from "#usage/journal-fields.ts";
import { toChosenBindings, toEventJoins, type Wanted } from "./chosen-events.ts";
import { SHAPES } from "./label-groups.ts";
import type { RawRange } from "./window-cut.ts";
import {
  HAS_OTHER_UNITS,
  QUANTITY_COLUMNS,
  type QuantityColumns,
  readQuantities,
  toQuantitySql,
} from "#storage/cells/event-row.ts";
import { joinCost } from "#storage/cells/sums.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";

/** Columns of a row of the log that are stored in another form. */
interface StoredForms extends QuantityColumns, EventKey {
  /** Null when nothing was reported. */
  readonly shape: UsageShape | null;
  readonly tier: string | null;
  readonly failure: string | null;
  readonly streamed: number;
  readonly cost_hi: number | null;
  readonly cost_lo: number | null;
  readonly prices: string;
  readonly tags: string;
}

type EventRow = StoredForms & Omit<RequestLogRow, keyof StoredForms | "arrivedAtUs" | "costPico" | "usage">;

/** Tells an event from all others; the lane is 0 where there is one server. */
export interface EventKey {
  readonly id: InstantUs;
  readonly lane: number;
}

/** The columns of an `EventKey` of `event AS e`. */
export function toKeyColumns({ eventKey }: Dialect): string {
  return eventKey.length === 1 ? "e.id, 0 AS lane" : "e.id, e.lane";
}

/** For ORDER BY, over a table or a subquery by its alias. */
export function toLogOrder({ eventKey }: Dialect, alias: string, direction: "DESC" | "ASC" = "DESC"): string {
  return eventKey.map((column) => `${alias}.${column} ${direction}`).join(", ");
}

/** Ranges of one statement: to plan one for each takes longer than to read them. */
const RANGES_MAX = 100;

/** The events of ranges that match, newest first, as the ranges are. */
export function* readRows(
  wanted: Wanted,
  ranges: readonly RawRange[],
  { limit, offset }: Page,
): Script<readonly RequestLogRow[]> {
  const dialect = yield* dialectOf();
  const joins = toEventJoins(dialect, wanted.filter);
  const rows: RequestLogRow[] = [];
  for (let at = 0; at < ranges.length && rows.length < limit; at += RANGES_MAX) {
    const part = ranges.slice(at, at + RANGES_MAX);
    const ofRange = `SELECT e.* FROM event AS e ${joins} WHERE e.id >= ? AND e.id < ?`;
    const events = `SELECT * FROM (${part.map(() => ofRange).join(" UNION ALL ")}) AS e
      ORDER BY ${toLogOrder(dialect, "e")} LIMIT ? OFFSET ?`;
    const bounds = part.flatMap(({ fromUs, toUs }) => [fromUs, toUs]);
    // Rows that are passed over lie in the first range.
    const found = yield* all<EventRow>(toRowsSql(dialect, events), [
      ...toChosenBindings(wanted),
      ...bounds,
      limit - rows.length,
      at === 0 ? offset : 0,
    ]);
    rows.push(...found.map(toRequestLogRow));
  }
  return rows;
}

/** These events in their order; one that retention has removed is left out. */
export function* readRowsByKey(keys: readonly EventKey[]): Script<readonly RequestLogRow[]> {
  const dialect = yield* dialectOf();
  const events = `SELECT * FROM event WHERE ${dialect.isAnyOfKeys("id")}`;
  const found = yield* all<EventRow>(toRowsSql(dialect, events), [keys.map(({ id }) => id)]);
  // Others of the same microsecond are among them.
  const rows = new Map(found.map((row) => [toText(row), row]));
  return keys.flatMap((key) => {
    const row = rows.get(toText(key));
    return row === undefined ? [] : [toRequestLogRow(row)];
  });
}

/**
 * The rare units that a row of the window tells of: some 0.3 µs a row, which takes ten times as long to
 * be read and sent.
 */
export function* findRareUnits(wanted: Wanted, { sinceUs, untilUs }: Window): Script<readonly Unit[]> {
  const dialect = yield* dialectOf();
  const counts = RARE_UNITS.map((unit) => `count(${toQuantitySql(dialect, unit)}) AS ${unit}`).join(", ");
  const found = yield* one<{ readonly [unit in Unit]?: number }>(
    `SELECT ${counts} FROM event AS e ${toEventJoins(dialect, wanted.filter)}
     WHERE e.id >= ? AND e.id < ? AND ${HAS_OTHER_UNITS}`,
    [...toChosenBindings(wanted), sinceUs ?? 0, untilUs ?? Number.MAX_SAFE_INTEGER],
  );
  return RARE_UNITS.filter((unit) => (found?.[unit] ?? 0) > 0);
}

/** Tells whether a row of the window is of a request whose usage is still to come. */
export function* hasPending(wanted: Wanted, { sinceUs, untilUs }: Window): Script<boolean> {
  const ids = yield* all<{ id: number }>("SELECT DISTINCT id FROM pending_event WHERE id >= ? AND id < ?", [
    sinceUs ?? 0,
    untilUs ?? Number.MAX_SAFE_INTEGER,
  ]);
  if (ids.length === 0) return false;
  const dialect = yield* dialectOf();
  // Another lane may have an event of the same microsecond that is not pending.
  const row = yield* one(
    `SELECT e.id FROM event AS e ${toEventJoins(dialect, wanted.filter)} AND ${dialect.isByte("?1", "e.combination", "=", SHAPES.pending)}
     WHERE ${dialect.isAnyOfKeys("e.id")} LIMIT 1`,
    [...toChosenBindings(wanted), ids.map(({ id }) => id)],
  );
  return row !== null;
}

function toText({ id, lane }: EventKey): string {
  return `${id} ${lane}`;
}

/** CROSS JOIN keeps the events outermost. */
function toRowsSql(dialect: Dialect, events: string): string {
  return `SELECT ${toKeyColumns(dialect)}, m.streamed, e.duration_us AS "durationUs", e.first_byte_us AS "timeToFirstByteUs",
         e.cost_hi, e.cost_lo, ${QUANTITY_COLUMNS.map((column) => `e.${column}`).join(", ")},
         c.principal_name AS principal, c.key_id AS "keyId", c.relay_token_id AS "relayTokenId", c.provider_id AS "providerId",
         c.model, c.upstream_name AS "upstreamName", c.endpoint, c.client, c.tags, c.shape, c.tier,
         r.status_code AS "statusCode", r.outcome, r.error_kind AS "errorKind", r.failure, p.prices
       FROM (${events}) AS e
       CROSS JOIN combination AS c ON c.id = e.combination
       CROSS JOIN manner AS m ON m.id = e.manner
       CROSS JOIN result AS r ON r.id = m.result
       CROSS JOIN price_set AS p ON p.id = m.price_set
       ORDER BY ${toLogOrder(dialect, "e")}`;
}

function toRequestLogRow(row: EventRow): RequestLogRow {
  const { id, lane, cost_hi: costHi, cost_lo: costLo, shape } = row;
  return {
    id: eventIdToUuid(id, lane),
    arrivedAtUs: id,
    principal: row.principal,
    keyId: row.keyId,
    relayTokenId: row.relayTokenId,
    providerId: row.providerId,
    model: row.model,
    upstreamName: row.upstreamName,
    endpoint: row.endpoint,
    client: row.client,
    statusCode: row.statusCode,
    outcome: row.outcome,
    errorKind: row.errorKind,
    failure: toFailure(row.failure),
    streamed: row.streamed === 1,
    durationUs: row.durationUs,
    timeToFirstByteUs: row.timeToFirstByteUs,
    costPico: costHi === null || costLo === null ? null : joinCost(costHi, costLo),
    usage: shape === null ? null : { shape, quantities: readQuantities(row) },
    tier: row.tier ?? undefined,
    prices: toPrices(JSON.parse(row.prices)),
    tags: parseStoredTags(row.tags).tags,
  };
}
