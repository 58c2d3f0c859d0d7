import { useMemo } from "react";
import { UNITS, type Unit } from "#kernel/units.ts";
import { IconButton } from "../../../components/button.tsx";
import type { Column } from "../../../components/column.ts";
import { LateVirtualBody } from "../../../components/late-virtual-body.tsx";
import { DataTable, ROWS_DRAWN_MAX } from "../../../components/table.tsx";
import { UNIT_LABEL } from "../../../components/units.tsx";
import { formatMoneyExact } from "../../../text/format.ts";
import { KindBadge } from "./kind-badge.tsx";
import type { NamePrices } from "./price-list.ts";
import type { ReactNode } from "react";

export interface PriceTableProps {
  readonly rows: readonly NamePrices[];
  readonly empty: ReactNode;
  readonly onEdit: (row: NamePrices) => void;
}

/** The prices that are kept, one name a row. */
export function PriceTable({ rows, empty, onEdit }: PriceTableProps) {
  const hasAudio = rows.some(({ prices }) => prices.audio_seconds !== undefined);
  const columns = useMemo(() => toColumns(onEdit, hasAudio), [onEdit, hasAudio]);
  return (
    <DataTable
      caption="Prices per million units"
      columns={columns}
      rows={rows}
      hasFixedColumns
      getRowId={toId}
      sort={{ id: "name", descending: false }}
      empty={empty}
      body={rows.length > ROWS_DRAWN_MAX ? LateVirtualBody : undefined}
    />
  );
}

const UNIT_HEADER = {
  input_tokens: "Input",
  output_tokens: "Output",
  cached_input_tokens: "Cached",
  audio_seconds: "Audio",
} as const satisfies Record<Unit, string>;

function toColumns(onEdit: (row: NamePrices) => void, hasAudio: boolean): readonly Column<NamePrices>[] {
  return [
    {
      id: "name",
      header: "Model",
      rowHeader: true,
      width: hasAudio ? "w-64" : "w-80",
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
    ...UNITS.filter((unit) => unit !== "audio_seconds" || hasAudio).map(toUnitColumn),
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
        <IconButton icon="edit" size="sm" label={`Set a price of ${row.name}`} onClick={() => onEdit(row)} />
      ),
    },
  ];
}

function toUnitColumn(unit: Unit): Column<NamePrices> {
  return {
    id: unit,
    header: UNIT_HEADER[unit],
    headerTitle: `${UNIT_LABEL[unit]}, per million`,
    width: "w-26",
    align: "end",
    sortValue: ({ prices }) => prices[unit]?.price_per_million ?? null,
    cell: ({ prices }) => {
      const price = prices[unit];
      if (price === undefined) {
        return (
          <span className="text-ink-faint" title="No price is kept under this name">
            –
          </span>
        );
      }
      return formatMoneyExact(price.price_per_million);
    },
  };
}

function Source({ versions }: { readonly versions: NamePrices["versions"] }) {
  const words = versions.map((version) => version ?? "written with the model").join(", ");
  return (
    <span className="block truncate text-ink-soft" title={words}>
      {words}
    </span>
  );
}

function toId({ name }: NamePrices): string {
  return name;
}
