import { useMemo } from "react";
import { type ModelKind, toCapabilities } from "#catalog/capability.ts";
import { isUnitUsed } from "#catalog/missed-prices.ts";
import { type Unit, UNIT_TABLE, UNITS } from "#kernel/units.ts";
import { ApiFailure } from "../api/failure.ts";
import { CapabilityPicker } from "../catalog/capability-picker.tsx";
import { PriceInputs } from "../catalog/price-inputs.tsx";
import { VariantTable } from "../catalog/variant-table.tsx";
import type { Prices } from "../catalog/price-set.ts";
import { Button } from "../components/button.tsx";
import { toCapabilityLabel } from "../components/capability.tsx";
import { Badge } from "../components/chip.tsx";
import { CheckboxField } from "../components/choice-field.tsx";
import type { Column } from "../components/column.ts";
import { CopyButton } from "../components/copy.tsx";
import { Absent, EmptyState } from "../components/empty.tsx";
import { NumberField } from "../components/number-field.tsx";
import { Popover } from "../components/popover.tsx";
import { DataTable } from "../components/table.tsx";
import { TextField } from "../components/text-field.tsx";
import { VirtualBody } from "../components/virtual-body.tsx";
import type { BindAction, BindRow } from "./bind-rows.ts";
import { formatMoneyExact } from "../text/format.ts";

interface BindTableProps {
  readonly rows: readonly BindRow[];
  readonly onChange: (action: BindAction) => void;
  /** Prices that are kept by name, and hold where none is typed. */
  readonly kept: KeptPrices;
  /** While models are being added nothing can be changed. */
  readonly disabled: boolean;
}

type KeptPrices = ReadonlyMap<string, Prices>;

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

/** The prices that nearly every model has; the others are behind a button. */
const FIRST_UNITS = ["input_tokens", "output_tokens"] as const;

interface CellProps {
  readonly row: BindRow;
  readonly disabled: boolean;
  readonly onChange: (action: BindAction) => void;
}

function AliasCell({ row, disabled, onChange }: CellProps) {
  const { upstreamName, boundAlias, alias, failure } = row;
  if (boundAlias !== null) {
    return (
      <span className="flex min-w-0 items-center gap-2">
        <Badge tone="good">added</Badge>
        <span className="truncate" title={boundAlias}>
          {boundAlias}
        </span>
      </span>
    );
  }
  return (
    <>
      <TextField
        label={`Alias of ${upstreamName}`}
        labelHidden
        size="sm"
        mono
        value={alias}
        disabled={disabled}
        error={failure?.message}
        onValueChange={(text) => onChange({ kind: "edit", upstreamName, change: { alias: text } })}
      />
      {failure instanceof ApiFailure && (
        <span className="mt-0.5 flex items-center gap-1 text-xs">
          <code className="font-mono">{failure.code}</code>
          <CopyButton iconOnly text={`${failure.code}: ${failure.message}`} label="Copy the error" />
        </span>
      )}
    </>
  );
}

function CapabilityCell({ row, disabled, onChange }: CellProps) {
  const { upstreamName, capabilities } = row;
  const words = capabilities.map(toCapabilityLabel).join(", ");
  // What no endpoint serves says what it is until somebody binds it in spite of that.
  if (!row.isOffered && !row.isTicked)
    return <span className="text-ink-soft">{toKindLabel(row.kind)}: not served</span>;
  return (
    <Popover
      title={`Capabilities of ${upstreamName}`}
      trigger={
        <Button
          size="sm"
          variant="ghost"
          iconEnd="chevron-down"
          disabled={disabled}
          className="-ml-2.5 max-w-full"
        >
          <span className="truncate leading-5">{words === "" ? "nothing" : words}</span>
        </Button>
      }
    >
      <div className="w-[30rem] max-w-full">
        <CapabilityPicker
          capabilities={capabilities}
          onChange={(next) => onChange({ kind: "edit", upstreamName, change: { capabilities: next } })}
        />
      </div>
    </Popover>
  );
}

/** Labels of the kinds that no capability is for. */
const KIND_LABELS: { readonly [kind in ModelKind]?: string } = {
  realtime: "Realtime",
  video: "Video",
  other: "Another interface",
};

/** What a model is taken for, where no endpoint serves it. */
function toKindLabel(kind: ModelKind): string {
  return KIND_LABELS[kind] ?? toCapabilities(kind).map(toCapabilityLabel).join(", ");
}

interface PriceCellProps extends CellProps {
  readonly unit: Unit;
  readonly kept: Prices;
}

function PriceCell({ row: { upstreamName, prices }, unit, kept, disabled, onChange }: PriceCellProps) {
  const inForce = kept[unit];
  return (
    <NumberField
      label={`${UNIT_TABLE[unit].heading} price of ${upstreamName}, dollars per million`}
      labelHidden
      size="sm"
      prefix="$"
      min={0}
      placeholder={inForce === undefined ? "unpriced" : formatMoneyExact(inForce).slice(1)}
      value={prices[unit] ?? null}
      disabled={disabled}
      onValueChange={(price) =>
        onChange({ kind: "edit", upstreamName, change: { prices: { ...prices, [unit]: price } } })
      }
    />
  );
}

function MorePrices({ row, disabled, onChange }: CellProps) {
  const { upstreamName, prices, variants, capabilities } = row;
  const others = UNITS.filter(
    (unit) => !FIRST_UNITS.some((first) => first === unit) && (prices[unit] ?? null) !== null,
  );
  return (
    <Popover
      title={`Prices of ${upstreamName}`}
      align="end"
      trigger={
        <Button size="sm" variant="ghost" disabled={disabled} className="-ml-2.5">
          {others.length === 0 ? "More" : `+${others.length}`}
          <span className="sr-only"> prices of {upstreamName}</span>
        </Button>
      }
    >
      <div className="w-80 max-w-full">
        <p className="mb-3 text-xs text-ink-soft">
          Dollars per million. Empty: the prices of a loaded feed apply. A unit without a price is recorded as
          unpriced.
        </p>
        <PriceInputs
          prices={prices}
          capabilities={capabilities}
          onChange={(next) => onChange({ kind: "edit", upstreamName, change: { prices: next } })}
        />
        {variants.length > 0 && (
          <div className="mt-3 flex flex-col gap-1.5 text-xs text-ink-soft">
            <p>Prices by condition, from the list. A price that you type leaves them out.</p>
            <VariantTable label="Prices by condition" variants={variants} />
          </div>
        )}
      </div>
    </Popover>
  );
}
