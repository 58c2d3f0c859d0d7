import { formatInstant } from "#kernel/clock.ts";
import {
  DETAIL_UNITS,
  isRareUnit,
  isReportUnit,
  RARE_UNITS,
  REPORT_UNITS,
  UNITS,
  type Unit,
} from "#kernel/units.ts";
import { toCsvRow, type CsvCell } from "#stats/csv.ts";
import { isUnmetered } from "#usage/event.ts";
import { findUnpricedReason, type NamedRequestRow } from "#views/reports.ts";
import { toBilledUnits, toRequestUnits } from "#views/request-units.ts";

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

/** What only some logs tell of. */
export interface RareContent {
  readonly rareUnits?: readonly Unit[];
  readonly hasPending?: boolean;
}

const PENDING_COLUMN: Column = ["pending", ({ row }) => (isPending(row) ? "true" : null)];

export function findRareContent(rows: readonly NamedRequestRow[]): RareContent {
  return {
    rareUnits: RARE_UNITS.filter((unit) => rows.some(({ row }) => row.usage?.quantities[unit] !== undefined)),
    hasPending: rows.some(({ row }) => isPending(row)),
  };
}

/** Spells rows of a log that tells of this: it has columns behind all others, and what the log does not tell of has none. */
export function createRequestCsv({ rareUnits = [], hasPending = false }: RareContent) {
  const columns = [
    ...USUAL_COLUMNS,
    ...rareUnits.flatMap(toRareColumns),
    ...(hasPending ? [PENDING_COLUMN] : []),
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
