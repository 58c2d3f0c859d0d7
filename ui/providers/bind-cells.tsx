import { type ModelKind, toCapabilities } from "#catalog/capability-guess.ts";
import { UNIT_TABLE, UNITS, type Unit } from "#kernel/units.ts";
import { ApiFailure } from "../api/failure.ts";
import { CapabilityPicker } from "../catalog/capability-picker.tsx";
import { PriceInputs } from "../catalog/price-inputs.tsx";
import type { Prices } from "../catalog/price-set.ts";
import { Button } from "../components/button.tsx";
import { toCapabilityLabel } from "../components/capability.tsx";
import { Badge } from "../components/chip.tsx";
import { CopyButton } from "../components/copy.tsx";
import { NumberField } from "../components/number-field.tsx";
import { Popover } from "../components/popover.tsx";
import { TextField } from "../components/text-field.tsx";
import { formatMoneyExact } from "../text/format.ts";
import { type BindAction, type BindRow } from "./bind-rows.ts";

/** The prices that nearly every model has; the others are behind a button. */
export const FIRST_UNITS = ["input_tokens", "output_tokens"] as const;

interface CellProps {
  readonly row: BindRow;
  readonly disabled: boolean;
  readonly onChange: (action: BindAction) => void;
}

export function AliasCell({ row, disabled, onChange }: CellProps) {
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

export function CapabilityCell({ row, disabled, onChange }: CellProps) {
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

export function PriceCell({ row: { upstreamName, prices }, unit, kept, disabled, onChange }: PriceCellProps) {
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

export function MorePrices({ row: { upstreamName, prices, capabilities }, disabled, onChange }: CellProps) {
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
      </div>
    </Popover>
  );
}
