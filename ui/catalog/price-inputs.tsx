import { UNITS, type Unit } from "#kernel/units.ts";
import { toFieldError } from "../components/field-frame.tsx";
import { NumberField } from "../components/number-field.tsx";
import { UNIT_LABEL } from "../components/units.tsx";
import { formatMoneyExact } from "../text/format.ts";
import type { PriceFields, Prices } from "./price-set.ts";

export interface PriceInputsProps {
  readonly prices: PriceFields;
  readonly onChange: (prices: PriceFields) => void;
  /** Prices that hold where a field is empty: those of the target. */
  readonly inherited?: Prices | undefined;
  /** The error of the last try to save. */
  readonly failure?: Error | null | undefined;
}

const NO_INHERITED: Prices = {};

/** The prices of a model per million units, one field a unit. */
export function PriceInputs({ prices, onChange, inherited = NO_INHERITED, failure }: PriceInputsProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      {UNITS.map((unit) => (
        <NumberField
          key={unit}
          label={UNIT_LABEL[unit]}
          prefix="$"
          min={0}
          suffix="per million"
          placeholder={toPlaceholder(inherited, unit)}
          value={prices[unit]}
          error={toFieldError(failure, `pricing.${unit}`)}
          onValueChange={(price) => onChange({ ...prices, [unit]: price })}
        />
      ))}
    </div>
  );
}

function toPlaceholder(inherited: Prices, unit: Unit): string {
  const price = inherited[unit];
  return price === undefined ? "unpriced" : `inherits ${formatMoneyExact(price).slice(1)}`;
}
