import { type BodyReader, WRITE_STALL_MS_MAX, createTee } from "#forward/tee.ts";
import { type Caller, Cancellation, type Deadlines } from "#kernel/cancellation.ts";
import { formatInstant } from "#kernel/clock.ts";
import { type Log, describeCause } from "#kernel/log.ts";
import {
  DETAIL_UNITS,
  RARE_UNITS,
  REPORT_UNITS,
  UNITS,
  type Unit,
  isRareUnit,
  isReportUnit,
} from "#kernel/units.ts";
import { type CsvCell, toCsvRow } from "#stats/csv.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import type { ReportNotes, StatsQuery, StatsStore } from "#stats/store.ts";
import { isUnmetered } from "#usage/event.ts";
import { type NamedRequestRow, findUnpricedReason } from "#views/reports.ts";
import { toBilledUnits, toRequestUnits } from "#views/request-units.ts";

/** The request log as CSV. */

interface CsvRow extends NamedRequestRow {
  readonly billed: ReturnType<typeof toBilledUnits>;
}

type Column = readonly [name: string, toCell: (row: CsvRow) => CsvCell];

/**
 * The keys of the request view in its order, `units` and `unit_prices` flattened; then what was billed, with the prices that
 * `unit_prices` does not have, and what most requests have none of.
 */
const USUAL_COLUMNS: readonly Column[] = [
  ["id", ({ row }) => row.id],
  ["ts", ({ row }) => formatInstant(row.arrivedAtUs)],
  ["principal", ({ row }) => row.principal],
  ["key_id", ({ row }) => row.keyId],
  ["key_label", ({ keyLabel }) => keyLabel],
  ["relay_token_id", ({ row }) => row.relayTokenId],
  ["provider", ({ providerName }) => providerName],
  ["model", ({ row }) => row.model],
  ["upstream_name", ({ row }) => row.upstreamName],
  ["endpoint", ({ row }) => row.endpoint],
  ["client", ({ row }) => row.client],
  ["status_code", ({ row }) => row.statusCode],
  ["outcome", ({ row }) => row.outcome],
  ["error_kind", ({ row }) => row.errorKind],
  ["cancelled", ({ row }) => String(row.outcome === "cancelled")],
  ["streamed", ({ row }) => String(row.streamed)],
  ["duration_ms", ({ row }) => row.durationUs / 1000],
  [
    "time_to_first_byte_ms",
    ({ row }) => (row.timeToFirstByteUs === null ? null : row.timeToFirstByteUs / 1000),
  ],
  ["cost", ({ row }) => row.costPico],
  ...REPORT_UNITS.filter(isUsual).map(toQuantityColumn),
  ...REPORT_UNITS.filter(isUsual).map(toPriceColumn),
  ["tags", ({ row }) => row.tags.join(",")],
  ...UNITS.filter(isUsual).map(toBilledColumn),
  ...DETAIL_UNITS.filter(isUsual).map(toPriceColumn),
  ["failure", ({ row }) => row.failure ?? null],
  ["tier", ({ row }) => row.tier ?? null],
  ["unpriced_reason", ({ row }) => findUnpricedReason(row) ?? null],
  ["unmetered", ({ row }) => (isUnmetered(row) ? "true" : null)],
];

/** Columns that only some logs have. */
interface RareContent {
  readonly rareUnits?: readonly Unit[];
  readonly hasPending?: boolean;
  readonly hasGeo?: boolean;
  readonly hasCostReported?: boolean;
}

const PENDING_COLUMN: Column = ["pending", ({ row }) => (isPending(row) ? "true" : null)];

const GEO_COLUMN: Column = ["geo", ({ row }) => row.geo ?? null];
const COST_REPORTED_COLUMN: Column = ["cost_reported", ({ row }) => row.costReportedPico ?? null];

export function findRareContent(rows: readonly NamedRequestRow[]): RareContent {
  return {
    rareUnits: RARE_UNITS.filter((unit) => rows.some(({ row }) => row.usage?.quantities[unit] !== undefined)),
    hasPending: rows.some(({ row }) => isPending(row)),
    hasGeo: rows.some(({ row }) => row.geo !== undefined),
    hasCostReported: rows.some(({ row }) => row.costReportedPico !== undefined),
  };
}

/** Spells rows of a log that tells of this: it has columns behind all others, and what the log does not tell of has none. */
export function createRequestCsv(content: RareContent) {
  const { rareUnits = [], hasPending = false, hasGeo = false, hasCostReported = false } = content;
  const columns = [
    ...USUAL_COLUMNS,
    ...rareUnits.flatMap(toRareColumns),
    ...(hasPending ? [PENDING_COLUMN] : []),
    ...(hasGeo ? [GEO_COLUMN] : []),
    ...(hasCostReported ? [COST_REPORTED_COLUMN] : []),
  ];
  return {
    header: toCsvRow(columns.map(([name]) => name)),
    toRows: (rows: readonly NamedRequestRow[]): string =>
      rows
        .map((named) => {
          const { usage, prices } = named.row;
          const row = { ...named, billed: toBilledUnits(toRequestUnits(usage, prices)) };
          return toCsvRow(columns.map(([, toCell]) => toCell(row)));
        })
        .join(""),
  };
}

function isPending({ usage }: NamedRequestRow["row"]): boolean {
  return usage?.shape === "pending";
}

function isUsual(unit: Unit): boolean {
  return !isRareUnit(unit);
}

function toRareColumns(unit: Unit): readonly Column[] {
  const reported = isReportUnit(unit) ? [toQuantityColumn(unit)] : [];
  return [...reported, toBilledColumn(unit), toPriceColumn(unit)];
}

function toQuantityColumn(unit: Unit): Column {
  return [unit, ({ row }) => row.usage?.quantities[unit] ?? null];
}

function toBilledColumn(unit: Unit): Column {
  return [`billed_${unit}`, ({ billed }) => billed[unit]?.quantity ?? null];
}

function toPriceColumn(unit: Unit): Column {
  return [`${unit}_price_per_million`, ({ billed }) => billed[unit]?.price ?? null];
}

/** Rows that are read and spelled at a time; of a log of any length no more than these are in memory. */
const SLICE_ROWS = 1000;
/** The limit of one slice: below the time after which the server closes a connection on which nothing moves. */
const SLICE_MS_MAX = 60_000;

interface RequestCsvOptions {
  readonly asked: StatsQuery;
  readonly stats: Pick<StatsStore, "listRequests">;
  readonly join: (rows: readonly RequestLogRow[]) => Promise<readonly NamedRequestRow[]>;
  /** Nothing more is read once it hangs up. */
  readonly caller: Caller;
  /** The principal that asks. */
  readonly askerId: string;
  readonly deadlines: Deadlines;
  readonly log: Log;
}

/**
 * Every row that matches, newest first, as CSV that is read while it is sent and no faster than it is taken. Each slice
 * begins where the one before it ended, so that requests that arrive meanwhile neither shift nor repeat a row. The first is
 * read before anything is sent: a refusal is an answer of its own; what fails later breaks the response off.
 */
export async function streamRequestCsv(
  options: RequestCsvOptions,
): Promise<{ readonly body: ReadableStream<Uint8Array>; readonly notes: ReportNotes }> {
  const { asked, stats, join, caller, askerId, deadlines, log } = options;
  const cancellation = new Cancellation(caller, { limits: deadlines });
  const { signal } = cancellation;
  const encoder = new TextEncoder();
  let untilUs = asked.window.untilUs;
  let hasMore = true;

  const readSlice = async ({ areUnitsWanted }: { readonly areUnitsWanted: boolean }) => {
    const window = { sinceUs: asked.window.sinceUs, untilUs };
    const report = await stats.listRequests(
      { ...asked, window },
      { limit: SLICE_ROWS, offset: 0 },
      { signal, askerId, isTotalWanted: false, areUnitsWanted },
    );
    const last = report.rows.at(-1);
    hasMore = report.rows.length === SLICE_ROWS;
    if (last !== undefined) untilUs = last.arrivedAtUs;
    return { rows: await join(report.rows), notes: report };
  };
  const toReader = ({ toRows }: ReturnType<typeof createRequestCsv>): BodyReader => ({
    async read() {
      if (!hasMore) return { done: true };
      try {
        const { rows } = await readSlice({ areUnitsWanted: false });
        return { done: false, value: encoder.encode(toRows(rows)) };
      } catch (cause) {
        if (cancellation.cause !== "cancelled") log.error("a request log broke off", describeCause(cause));
        throw cause;
      }
    },
    // The signal of the cancellation has told the reader.
    cancel: () => Promise.resolve(),
  });

  try {
    const { rows, notes } = await readSlice({ areUnitsWanted: true });
    // The header stands before rows that are not read yet: what columns they need is asked first.
    const csv = createRequestCsv(notes);
    const body = createTee({
      reader: toReader(csv),
      first: encoder.encode(csv.header + csv.toRows(rows)),
      cancellation,
      idleMs: SLICE_MS_MAX,
      stallMs: WRITE_STALL_MS_MAX,
      watch: () => null,
      finish: () => Promise.resolve(),
    });
    return { body, notes };
  } catch (cause) {
    cancellation.release();
    throw cause;
  }
}
