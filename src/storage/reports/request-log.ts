import { HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { eventIdToUuid } from "#kernel/ids.ts";
import type { Page, Paged } from "#kernel/page.ts";
import { RARE_UNITS, type Unit } from "#kernel/units.ts";
import type { Window } from "#stats/filter.ts";
import type { RequestLogRow, LogOrder } from "#stats/request-log.ts";
import type { ReportOptions, RequestListOptions, RequestLog, StatsQuery } from "#stats/store.ts";
import {
  HAS_OTHER_UNITS,
  QUANTITY_COLUMNS,
  type QuantityColumns,
  readQuantities,
  toQuantitySql,
  readCostReported,
  toCostReportedSql,
} from "#storage/cells/event-row.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import { joinCost } from "#storage/cells/sums.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { all, dialectOf, one, type Script } from "#storage/sql/script.ts";
import type { ReportedUsage, UsageShape } from "#usage/event.ts";
import { toFailure, toPrices } from "#usage/journal-line.ts";
import { toChosenBindings, toEventJoins, type Wanted } from "./chosen-events.ts";
import { groupLabelSets, SHAPES } from "./label-groups.ts";
import { countPeriods, countRows, toSpans, toWithin } from "./matches.ts";
import { hasLabel, type ResolvedFilter, resolveFilter, withConditions } from "./request-filter.ts";
import { refuseTooManyRows } from "./row-window.ts";
import { type CellSpan, cutRows, type RawRange, readEdges, type WindowCut } from "./window-cut.ts";

/** A page, in which order, and what is to be told beside it. */
export type RequestPage = Page & Omit<RequestListOptions, keyof ReportOptions>;

/**
 * A page of the request log with the exact total (specification, section 4.4). How many events match is known from cells;
 * only the two ends of the window and the hour that holds the page are read row by row. By size, and under a filter on
 * single requests, every row of the window is looked at.
 */
export function* listRequests(query: StatsQuery, page: RequestPage): Script<RequestLog> {
  const { window } = query;
  const filter = yield* resolveFilter(query);
  const wanted = { filter, groups: yield* groupLabelSets(filter, []) };
  const paged = yield* readOrdered(wanted, { window, page });
  // The log is of rows that exist: retention changes nothing about its window.
  const log = { ...paged, snapped: null, truncated: false };
  if (page.areUnitsWanted !== true) return log;
  const rare = yield* findRareUnits(wanted, window);
  return {
    ...log,
    ...rare,
    hasPending: yield* hasPending(wanted, window),
    hasGeo: yield* hasGeo(filter, window),
  };
}

interface Listing {
  readonly window: Window;
  readonly page: RequestPage;
}

function* readOrdered(wanted: Wanted, listing: Listing): Script<Paged<RequestLogRow>> {
  const { window, page } = listing;
  const { order = "newest", isTotalWanted } = page;
  if (wanted.filter.rows !== null) return yield* scanPage(wanted, listing);
  if (order === "newest") return yield* readPage(wanted, listing);
  const countAll = function* count() {
    return (yield* readPage(wanted, { window, page: { limit: 0, offset: 0 } })).total;
  };
  if (order !== "oldest") {
    const { rows } = yield* scanPage(wanted, { window, page: { ...page, isTotalWanted: false } });
    return { rows, total: isTotalWanted === false ? 0 : yield* countAll() };
  }
  // The newest of these rows has as many newer ones before it as there are behind the page.
  const total = yield* countAll();
  const end = Math.max(total - page.offset, 0);
  const offset = Math.max(end - page.limit, 0);
  const part = { limit: end - offset, offset, isTotalWanted: false };
  const { rows } = yield* readPage(wanted, { window, page: part });
  return { rows: rows.toReversed(), total: isTotalWanted === false ? 0 : total };
}

/** Newest first: what lies before the page is counted and passed over, and so is what lies behind it, for the total. */
function* readPage(wanted: Wanted, { window, page }: Listing): Script<Paged<RequestLogRow>> {
  const isTotalWanted = page.isTotalWanted !== false;
  const ranges: RawRange[] = [];
  let total = 0;
  let skip = page.offset;
  let left = page.limit;
  let offset = 0;

  const take = (range: RawRange, count: number) => {
    if (ranges.length === 0) offset = skip;
    ranges.push(range);
    left -= count - skip;
    skip = 0;
  };
  const takeSpan = function* within(span: CellSpan, isCounted: boolean): Script<void> {
    const counts = yield* countPeriods(span, wanted);
    for (const { at, requests } of counts.toReversed()) {
      if (isCounted) total += requests;
      if (left <= 0) {
        if (!isCounted || !isTotalWanted) return;
      } else if (skip >= requests) skip -= requests;
      else {
        const shorter = toWithin(span, at);
        if (shorter !== null) yield* within(shorter, false);
        else take({ fromUs: at * HOUR_US, toUs: (at + 1) * HOUR_US }, requests);
      }
    }
  };
  for (const part of listNewestFirst(cutRows(yield* readEdges(), window), wanted)) {
    if (left <= 0 && !isTotalWanted) break;
    if ("period" in part) {
      yield* takeSpan(part, true);
      continue;
    }
    const count = yield* countRows(part, wanted);
    total += count;
    if (left > 0 && skip < count) take(part, count);
    else if (left > 0) skip -= count;
  }
  const rows = yield* readRows(wanted, ranges, { limit: page.limit, offset });
  return { rows, total: isTotalWanted ? total : 0 };
}

/** The parts of a cut, newest first. */
function listNewestFirst(cut: WindowCut, { filter }: Wanted): readonly (CellSpan | RawRange)[] {
  const isBehind = ({ fromUs }: RawRange) => fromUs >= cut.hours.end * HOUR_US;
  const before = cut.raw.filter((range) => !isBehind(range));
  return [...before, ...toSpans(cut, filter), ...cut.raw.filter(isBehind)].toReversed();
}

function toOrderBy(dialect: Dialect, order: LogOrder): string {
  const newest = toLogOrder(dialect, "e");
  const orders: { readonly [known in LogOrder]: string } = {
    newest,
    oldest: toLogOrder(dialect, "e", "ASC"),
    // Without a cost a request comes last.
    cost: `e.cost_hi DESC NULLS LAST, e.cost_lo DESC NULLS LAST, ${newest}`,
    duration: `e.duration_us DESC, ${newest}`,
  };
  return orders[order];
}

/**
 * A page of the rows that a filter leaves, in any order, by looking at each row of the window; without a total no further than
 * the page goes, where the order is that of time. Throws `range_too_large` before it reads.
 */
function* scanPage(wanted: Wanted, { window, page }: Listing): Script<Paged<RequestLogRow>> {
  const rows = (yield* readEdges())?.rows ?? null;
  const fromUs = Math.max(window.sinceUs ?? 0, rows?.firstUs ?? 0);
  const toUs = Math.min(window.untilUs ?? Number.MAX_SAFE_INTEGER, (rows?.lastUs ?? 0) + 1);
  if (rows === null || fromUs >= toUs) return { rows: [], total: 0 };
  yield* refuseTooManyRows([{ fromUs, toUs }]);
  const dialect = yield* dialectOf();
  const keys = yield* all<EventKey>(
    `SELECT ${toKeyColumns(dialect)} FROM event AS e ${toEventJoins(dialect, wanted.filter)} WHERE e.id >= ? AND e.id < ?
     ORDER BY ${toOrderBy(dialect, page.order ?? "newest")} LIMIT ? OFFSET ?`,
    [...toChosenBindings(wanted), fromUs, toUs, page.limit, page.offset],
  );
  const listed = yield* readRowsByKey(keys);
  const total = page.isTotalWanted === false ? 0 : yield* countRows({ fromUs, toUs }, wanted);
  return { rows: listed, total };
}

interface RecordedPage {
  /** Its window is not looked at. */
  readonly query: StatsQuery;
  readonly ids: readonly InstantUs[];
  /** The lane of each; null: 0. */
  readonly lanes: readonly number[] | null;
  readonly page: Page;
}

/** The events with these ids that match, newest first, and how many they are; each is looked up, nothing else is read. */
export function* listRecorded({ query, ids, lanes, page }: RecordedPage): Script<Paged<RequestLogRow>> {
  const filter = yield* resolveFilter(query);
  const wanted = { filter, groups: yield* groupLabelSets(filter, []) };
  const dialect = yield* dialectOf();
  const asked = new Set(ids.map((id, index) => `${id} ${lanes?.[index] ?? 0}`));
  const found = yield* all<EventKey>(
    `SELECT ${toKeyColumns(dialect)} FROM event AS e ${toEventJoins(dialect, filter)} WHERE ${dialect.isAnyOfKeys("e.id")}
     ORDER BY ${toLogOrder(dialect, "e")}`,
    [...toChosenBindings(wanted), ids],
  );
  const keys = found.filter(({ id, lane }) => asked.has(`${id} ${lane}`));
  const rows = yield* readRowsByKey(keys.slice(page.offset, page.offset + page.limit));
  return { rows, total: keys.length };
}

/** Columns of a row of the log that are stored in another form. */
interface StoredForms extends QuantityColumns, EventKey {
  /** Null when nothing was reported. */
  readonly shape: UsageShape | null;
  readonly tier: string | null;
  readonly geo: string | null;
  readonly failure: string | null;
  readonly streamed: number;
  readonly cost_hi: number | null;
  readonly cost_lo: number | null;
  readonly prices: string;
  readonly tags: string;
}

type EventRow = StoredForms & Omit<RequestLogRow, keyof StoredForms | "arrivedAtUs" | "costPico" | "usage">;

/** Tells an event from all others; the lane is 0 where there is one server. */
interface EventKey {
  readonly id: InstantUs;
  readonly lane: number;
}

/** The columns of an `EventKey` of `event AS e`. */
function toKeyColumns({ eventKey }: Dialect): string {
  return eventKey.length === 1 ? "e.id, 0 AS lane" : "e.id, e.lane";
}

/** For ORDER BY, over a table or a subquery by its alias. */
function toLogOrder({ eventKey }: Dialect, alias: string, direction: "DESC" | "ASC" = "DESC"): string {
  return eventKey.map((column) => `${alias}.${column} ${direction}`).join(", ");
}

/** Ranges of one statement: to plan one for each takes longer than to read them. */
const RANGES_MAX = 100;

/** The events of ranges that match, newest first, as the ranges are. */
function* readRows(
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
function* readRowsByKey(keys: readonly EventKey[]): Script<readonly RequestLogRow[]> {
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
 * The rare units that a row of the window tells of, and whether a provider told a cost: some 0.3 µs a row, which takes ten
 * times as long to be read and sent.
 */
function* findRareUnits(
  wanted: Wanted,
  { sinceUs, untilUs }: Window,
): Script<Required<Pick<RequestLog, "rareUnits" | "hasCostReported">>> {
  const dialect = yield* dialectOf();
  const counts = RARE_UNITS.map((unit) => `count(${toQuantitySql(dialect, unit)}) AS ${unit}`);
  const reported = `count(${toCostReportedSql(dialect, "hi")}) AS reported`;
  const found = yield* one<{ readonly [column in Unit | "reported"]?: number }>(
    `SELECT ${[...counts, reported].join(", ")} FROM event AS e ${toEventJoins(dialect, wanted.filter)}
     WHERE e.id >= ? AND e.id < ? AND ${HAS_OTHER_UNITS}`,
    [...toChosenBindings(wanted), sinceUs ?? 0, untilUs ?? Number.MAX_SAFE_INTEGER],
  );
  return {
    rareUnits: RARE_UNITS.filter((unit) => (found?.[unit] ?? 0) > 0),
    hasCostReported: (found?.reported ?? 0) > 0,
  };
}

/** Tells whether a row of the window has a region. Most ledgers have no label set with one: no row is looked at. */
function* hasGeo(filter: ResolvedFilter, { sinceUs, untilUs }: Window): Script<boolean> {
  const groups = yield* groupLabelSets(withConditions(filter, hasLabel("geo")), []);
  if (groups.parts.size === 0) return false;
  const row = yield* one(
    `SELECT e.id FROM event AS e ${toEventJoins(yield* dialectOf(), filter)} WHERE e.id >= ? AND e.id < ? LIMIT 1`,
    [...toChosenBindings({ filter, groups }), sinceUs ?? 0, untilUs ?? Number.MAX_SAFE_INTEGER],
  );
  return row !== null;
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
         c.model, c.upstream_name AS "upstreamName", c.endpoint, c.client, c.tags, c.shape, c.tier, c.geo,
         r.status_code AS "statusCode", r.outcome, r.error_kind AS "errorKind", r.failure, p.prices
       FROM (${events}) AS e
       CROSS JOIN combination AS c ON c.id = e.combination
       CROSS JOIN manner AS m ON m.id = e.manner
       CROSS JOIN result AS r ON r.id = m.result
       CROSS JOIN price_set AS p ON p.id = m.price_set
       ORDER BY ${toLogOrder(dialect, "e")}`;
}

/** One that told no usage may have a price by the request since: it is read as if only that were told. */
function toUsage(row: EventRow): ReportedUsage | null {
  const { shape } = row;
  if (shape === null && row.other_units === null) return null;
  const quantities = readQuantities(row);
  if (shape === null && quantities.requests === undefined) return null;
  return { shape: shape ?? "begun", quantities };
}

function toRequestLogRow(row: EventRow): RequestLogRow {
  const { id, lane, cost_hi: costHi, cost_lo: costLo } = row;
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
    usage: toUsage(row),
    tier: row.tier ?? undefined,
    geo: row.geo ?? undefined,
    costReportedPico: readCostReported(row),
    prices: toPrices(JSON.parse(row.prices)),
    tags: parseStoredTags(row.tags).tags,
  };
}
