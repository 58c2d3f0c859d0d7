import { formatInstant } from "#kernel/clock.ts";
import { toPricePerMillion, UNITS, type Unit } from "#kernel/units.ts";
import { toCsvRow, type CsvCell } from "#stats/csv.ts";
import type { RequestLogRow } from "#stats/store.ts";
import type { NamedRequestRow } from "#views/reports.ts";

type Column = readonly [name: string, toCell: (named: NamedRequestRow) => CsvCell];

/** The keys of the request view in its order, `units` and `unit_prices` flattened. */
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
  ...UNITS.map((unit): Column => [unit, ({ row }) => row.quantities[unit] ?? null]),
  ...UNITS.map((unit): Column => [`${unit}_price_per_million`, ({ row }) => toUnitPrice(row, unit)]),
  ["tags", ({ row }) => row.tags.join(",")],
];

/** The header row and these rows. */
export function toRequestCsv(rows: readonly NamedRequestRow[]): string {
  return toCsvRow(COLUMNS.map(([name]) => name)) + toRequestCsvRows(rows);
}

export function toRequestCsvRows(rows: readonly NamedRequestRow[]): string {
  return rows.map((named) => toCsvRow(COLUMNS.map(([, toCell]) => toCell(named)))).join("");
}

/** The price of a unit that the request has, when there was one, as in the JSON. */
function toUnitPrice({ quantities, prices }: RequestLogRow, unit: Unit): number | null {
  const price = prices[unit];
  if (quantities[unit] === undefined || price === undefined || price === null) return null;
  return toPricePerMillion(price);
}
