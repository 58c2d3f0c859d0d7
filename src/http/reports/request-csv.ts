import { formatInstant } from "#kernel/clock.ts";
import { DETAIL_UNITS, REPORT_UNITS, UNITS, type Unit } from "#kernel/units.ts";
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
const COLUMNS: readonly Column[] = [
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
  ...REPORT_UNITS.map((unit): Column => [unit, ({ row }) => row.usage?.quantities[unit] ?? null]),
  ...REPORT_UNITS.map(toPriceColumn),
  ["tags", ({ row }) => row.tags.join(",")],
  ...UNITS.map((unit): Column => [`billed_${unit}`, ({ billed }) => billed[unit]?.quantity ?? null]),
  ...DETAIL_UNITS.map(toPriceColumn),
  ["failure", ({ row }) => row.failure ?? null],
  ["tier", ({ row }) => row.tier ?? null],
  ["unpriced_reason", ({ row }) => findUnpricedReason(row) ?? null],
  ["unmetered", ({ row }) => (isUnmetered(row) ? "true" : null)],
];

/** The header row and these rows. */
export function toRequestCsv(rows: readonly NamedRequestRow[]): string {
  return toCsvRow(COLUMNS.map(([name]) => name)) + toRequestCsvRows(rows);
}

export function toRequestCsvRows(rows: readonly NamedRequestRow[]): string {
  return rows
    .map((named) => {
      const { usage, prices } = named.row;
      const row = { ...named, billed: toBilledUnits(toRequestUnits(usage, prices)) };
      return toCsvRow(COLUMNS.map(([, toCell]) => toCell(row)));
    })
    .join("");
}

function toPriceColumn(unit: Unit): Column {
  return [`${unit}_price_per_million`, ({ billed }) => billed[unit]?.price ?? null];
}
