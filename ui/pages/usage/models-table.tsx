import { TOKEN_UNITS, type ReportUnit, UNIT_TABLE } from "#kernel/units.ts";
import type { OwnUsageRow } from "../../api/my.ts";
import { Quantity } from "../../reports/quantity.tsx";
import { EntityLink } from "../../components/entity-link.tsx";
import { type Column, costColumn } from "../../components/column.ts";
import { DataTable } from "../../components/table.tsx";
import { formatCount } from "../../text/format.ts";
import { hasUnpricedUnits } from "../../reports/measure.ts";

export interface ModelsTableProps {
  readonly rows: readonly OwnUsageRow[];
  readonly busy: boolean;
}

export function ModelsTable({ rows, busy }: ModelsTableProps) {
  return (
    <DataTable
      caption="Your usage by model and endpoint"
      columns={COLUMNS}
      rows={rows}
      getRowId={toId}
      sort={{ id: "cost", descending: true }}
      busy={busy}
      empty={null}
    />
  );
}

const COLUMNS: readonly Column<OwnUsageRow>[] = [
  {
    id: "model",
    header: "Model",
    rowHeader: true,
    cell: (row) => <ModelName row={row} />,
    sortValue: ({ model }) => model,
  },
  {
    id: "endpoint",
    header: "Endpoint",
    cell: ({ endpoint }) => <span title={endpoint}>{endpoint}</span>,
    sortValue: ({ endpoint }) => endpoint,
  },
  {
    id: "requests",
    header: "Requests",
    align: "end",
    cell: ({ requests }) => formatCount(requests),
    sortValue: ({ requests }) => requests,
  },
  {
    id: "cancelled",
    header: "Cancelled",
    align: "end",
    cell: ({ cancelled }) => formatCount(cancelled),
    sortValue: ({ cancelled }) => cancelled,
  },
  ...TOKEN_UNITS.map(toUnitColumn),
  costColumn({
    id: "cost",
    header: "Cost",
    value: (row) => ({ value: row.cost, used: hasUnpricedUnits(row) }),
  }),
];

/** Relayed requests ask for an upstream name, which is no alias here. */
function ModelName({ row: { model, endpoint } }: { readonly row: OwnUsageRow }) {
  if (endpoint.startsWith("/")) return <span title={model}>{model}</span>;
  return <EntityLink kind="model" name={model} />;
}

function toId({ model, endpoint }: OwnUsageRow): string {
  return `${model} ${endpoint}`;
}

function toUnitColumn(unit: ReportUnit): Column<OwnUsageRow> {
  const { heading } = UNIT_TABLE[unit];
  return {
    id: unit,
    header: heading,
    headerTitle: `${heading} tokens`,
    align: "end",
    cell: ({ units }) => <Quantity value={units[unit]} />,
    sortValue: ({ units }) => units[unit] ?? null,
  };
}
