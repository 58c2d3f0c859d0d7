import { byUnit, UNIT_TABLE, UNITS, type Unit } from "#kernel/units.ts";
import { type ReactNode, useMemo } from "react";
import { WithDetailPrices } from "../../../catalog/detail-prices.tsx";
import { toShownUnits } from "../../../catalog/price-set.ts";
import { Absent } from "../../../components/empty.tsx";
import { IconButton } from "../../../components/button.tsx";
import type { Column } from "../../../components/column.ts";
import { DataTable } from "../../../components/table.tsx";
import { formatMoneyExact } from "../../../text/format.ts";
import { KindBadge } from "./kind-badge.tsx";
import type { NamePrices } from "./price-list.ts";

export interface PriceTableProps {
  readonly rows: readonly NamePrices[];
  readonly empty: ReactNode;
  readonly onEdit: (row: NamePrices) => void;
}

/** The prices that are kept, one name a row. */
export function PriceTable({ rows, empty, onEdit }: PriceTableProps) {
  const columns = useMemo(
    () => toColumns(onEdit, toShownUnits(rows.map(({ prices }) => prices))),
    [onEdit, rows],
  );
  return (
    <DataTable
      caption="Prices per million units"
      columns={columns}
      rows={rows}
      hasFixedColumns
      getRowId={toId}
      sort={{ id: "name", descending: false }}
      empty={empty}
    />
  );
}

function toColumns(onEdit: (row: NamePrices) => void, units: readonly Unit[]): readonly Column<NamePrices>[] {
  return [
    {
      id: "name",
      header: "Model",
      rowHeader: true,
      width: units.length > 3 ? "w-64" : "w-80",
      sortValue: ({ name }) => name,
      cell: ({ name, kind }) => (
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate font-medium" title={name}>
            {name}
          </span>
          <KindBadge kind={kind} />
        </span>
      ),
    },
    ...units.map(toUnitColumn),
    {
      id: "source",
      header: "Source",
      width: "w-52",
      sortValue: ({ versions }) => versions[0] ?? null,
      cell: ({ versions }) => <Source versions={versions} />,
    },
    {
      id: "actions",
      header: "Actions",
      headerHidden: true,
      width: "w-14",
      align: "end",
      cell: (row) => (
        <IconButton icon="edit" size="sm" label={`Set price of ${row.name}`} onClick={() => onEdit(row)} />
      ),
    },
  ];
}

function toUnitColumn(unit: Unit): Column<NamePrices> {
  return {
    id: unit,
    header: UNIT_TABLE[unit].heading,
    headerTitle: `${UNIT_TABLE[unit].label}, per million`,
    width: "w-26",
    align: "end",
    sortValue: ({ prices }) => prices[unit]?.price_per_million ?? null,
    cell: ({ prices }) => {
      const price = prices[unit];
      return (
        <WithDetailPrices unit={unit} prices={toPerMillion(prices)}>
          {price === undefined ? <Absent /> : formatMoneyExact(price.price_per_million)}
        </WithDetailPrices>
      );
    },
  };
}

const toPerMillion = (prices: NamePrices["prices"]) =>
  byUnit(UNITS, (unit) => prices[unit]?.price_per_million);

function Source({ versions }: { readonly versions: NamePrices["versions"] }) {
  const words = versions.map((version) => version ?? "set with the model").join(", ");
  return (
    <span className="block truncate text-ink-soft" title={words}>
      {words}
    </span>
  );
}

function toId({ name }: NamePrices): string {
  return name;
}
