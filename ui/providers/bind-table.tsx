import { useMemo } from "react";
import { UNIT_TABLE } from "#kernel/units.ts";
import { Badge } from "../components/chip.tsx";
import { CheckboxField } from "../components/choice-field.tsx";
import type { Column } from "../components/column.ts";
import { Absent, EmptyState } from "../components/empty.tsx";
import { DataTable } from "../components/table.tsx";
import { VirtualBody } from "../components/virtual-body.tsx";
import { isUnitUsed } from "#catalog/missed-prices.ts";
import type { Prices } from "../catalog/price-set.ts";
import { type BindAction, type BindRow } from "./bind-rows.ts";
import { AliasCell, CapabilityCell, FIRST_UNITS, MorePrices, PriceCell } from "./bind-cells.tsx";

export interface BindTableProps {
  readonly rows: readonly BindRow[];
  readonly onChange: (action: BindAction) => void;
  /** Prices that are kept by name, and hold where none is typed. */
  readonly kept: KeptPrices;
  /** While models are being added nothing can be changed. */
  readonly disabled: boolean;
}

export type KeptPrices = ReadonlyMap<string, Prices>;

/** The models of a provider: which to add, under which name, as what, and for how much. */
export function BindTable({ rows, onChange, kept, disabled }: BindTableProps) {
  const columns = useMemo(() => toColumns({ onChange, kept, disabled }), [onChange, kept, disabled]);
  return (
    <DataTable
      caption="Models of the provider"
      columns={columns}
      rows={rows}
      getRowId={toId}
      body={VirtualBody}
      className="max-h-[min(28rem,55vh)] rounded-control border border-line"
      empty={<EmptyState icon="search" title="No model matches" />}
    />
  );
}

function toColumns({
  onChange,
  kept,
  disabled,
}: Pick<BindTableProps, "onChange" | "kept" | "disabled">): readonly Column<BindRow>[] {
  return [
    {
      id: "tick",
      header: "Add",
      headerHidden: true,
      width: "w-11",
      cell: ({ upstreamName, boundAlias, isTicked }) => (
        <CheckboxField
          label={`Add ${upstreamName}`}
          labelHidden
          checked={isTicked || boundAlias !== null}
          disabled={disabled || boundAlias !== null}
          onCheckedChange={(checked) =>
            onChange({ kind: "tick", upstreamNames: [upstreamName], isTicked: checked })
          }
        />
      ),
    },
    {
      id: "upstream",
      header: "Model of the provider",
      rowHeader: true,
      width: "w-52",
      cell: ({ upstreamName, isByHand }) => (
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate font-mono text-xs" title={upstreamName}>
            {upstreamName}
          </span>
          {isByHand && <Badge>added manually</Badge>}
        </span>
      ),
    },
    {
      id: "alias",
      header: "Alias",
      width: "w-52",
      wrap: true,
      cell: (row) => <AliasCell row={row} disabled={disabled} onChange={onChange} />,
    },
    {
      id: "capabilities",
      header: "Capabilities",
      width: "w-40",
      cell: (row) =>
        row.boundAlias === null && <CapabilityCell row={row} disabled={disabled} onChange={onChange} />,
    },
    ...FIRST_UNITS.map((unit): Column<BindRow> => ({
      id: unit,
      header: UNIT_TABLE[unit].heading,
      headerTitle: `${UNIT_TABLE[unit].label}, dollars per million`,
      width: "w-30",
      wrap: true,
      cell: (row) =>
        row.boundAlias === null &&
        (isUnitUsed(row, unit) ? (
          <PriceCell {...{ row, unit, disabled, onChange }} kept={toKept(row, kept)} />
        ) : (
          <Absent />
        )),
    })),
    {
      id: "more",
      header: "Other prices",
      headerHidden: true,
      width: "w-18",
      cell: (row) =>
        row.boundAlias === null && <MorePrices row={row} disabled={disabled} onChange={onChange} />,
    },
  ];
}

/** What holds where nothing is typed: prices that a feed has set for the name. */
function toKept({ alias, upstreamName }: BindRow, kept: KeptPrices): Prices {
  return { ...kept.get(upstreamName), ...kept.get(alias.trim()) };
}

function toId({ upstreamName }: BindRow): string {
  return upstreamName;
}
