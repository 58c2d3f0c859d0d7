import { type ReactNode, useState } from "react";
import type { Capability } from "#catalog/capability.ts";
import { isUnitUsed } from "#catalog/missed-prices.ts";
import { isRareUnit, isReportUnit, type Unit, UNIT_TABLE, UNITS } from "#kernel/units.ts";
import { toFieldError } from "../components/field-frame.tsx";
import { NumberField } from "../components/number-field.tsx";
import { formatMoneyExact } from "../text/format.ts";
import type { PriceFields, Prices } from "./price-set.ts";

export interface PriceInputsProps {
  readonly prices: PriceFields;
  readonly onChange: (prices: PriceFields) => void;
  /** The capabilities of the model: prices of units that its requests cannot use are folded away. */
  readonly capabilities: readonly Capability[];
  /** Prices that hold where a field is empty: those of the target. */
  readonly inherited?: Prices | undefined;
  /** Where they stand in the request. */
  readonly path?: string;
  /** The error of the last try to save. */
  readonly failure?: Error | null | undefined;
}

const NO_INHERITED: Prices = {};

/** The prices of a model per million units, one field a unit: what most models have no price of is folded away unless it is set. */
export function PriceInputs({
  prices,
  onChange,
  capabilities,
  inherited = NO_INHERITED,
  path = "pricing",
  failure,
}: PriceInputsProps) {
  const toField = (unit: Unit) => (
    <NumberField
      key={unit}
      label={UNIT_TABLE[unit].label}
      prefix="$"
      min={0}
      suffix="per million"
      placeholder={toPlaceholder(inherited, unit)}
      value={prices[unit] ?? null}
      error={toFieldError(failure, `${path}.${unit}`)}
      onValueChange={(price) => onChange({ ...prices, [unit]: price })}
    />
  );
  const [isOpen, setOpen] = useState(false);
  const first = UNITS.filter(
    (unit) => isUnitUsed({ capabilities }, unit) && (isReportUnit(unit) || isRareUnit(unit)),
  );
  const others = UNITS.filter((unit) => !first.includes(unit));
  const hasOther = others.some(
    (unit) => (prices[unit] ?? null) !== null || toFieldError(failure, `${path}.${unit}`) !== undefined,
  );
  return (
    <div className="flex flex-col gap-3">
      <Grid>{first.map(toField)}</Grid>
      <details open={isOpen || hasOther} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary className="cursor-pointer text-xs text-ink-soft">More prices</summary>
        <div className="mt-2">
          <Grid>{others.map(toField)}</Grid>
        </div>
      </details>
    </div>
  );
}

function Grid({ children }: { readonly children: ReactNode }) {
  return <div className="grid gap-3 sm:grid-cols-2">{children}</div>;
}

function toPlaceholder(inherited: Prices, unit: Unit): string {
  const price = inherited[unit];
  if (price !== undefined) return `inherits ${formatMoneyExact(price).slice(1)}`;
  const { detailOf } = UNIT_TABLE[unit];
  return detailOf === null ? "unpriced" : `as ${UNIT_TABLE[detailOf].label.toLowerCase()}`;
}
