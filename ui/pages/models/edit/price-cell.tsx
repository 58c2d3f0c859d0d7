import { UNIT_TABLE, type Unit } from "#kernel/units.ts";
import { useEffect, useRef, useState } from "react";
import { Absent } from "../../../components/empty.tsx";
import { Icon } from "../../../components/icon.tsx";
import { Unpriced } from "../../../components/cost.tsx";
import { NumberField } from "../../../components/number-field.tsx";
import { formatMoney, formatMoneyExact } from "../../../text/format.ts";
import type { EditableRow } from "../model-row.ts";
import { toPriceFields, toPriceState, type PriceState } from "../../../catalog/price-set.ts";

export interface PriceCellProps {
  readonly row: EditableRow;
  readonly unit: Unit;
  /** Null ends the editing. */
  readonly onEdit: (unit: Unit | null) => void;
  /** Null takes the price away: a name then inherits it again. */
  readonly onSave: (row: EditableRow, unit: Unit, price: number | null) => void;
}

/** A price: own, inherited, unpriced, or absent where the model does not use the unit. A press makes it a field; Enter saves, Esc leaves. */
export function PriceCell({ row, unit, onEdit, onSave }: PriceCellProps) {
  const { model, own, used, editing } = row;
  const button = useRef<HTMLButtonElement>(null);
  // Only what the keyboard ended gives the focus back: a press elsewhere has put it there.
  const isReturning = useRef(false);
  const isEditing = editing === unit;
  useEffect(() => {
    if (isEditing || !isReturning.current) return;
    isReturning.current = false;
    button.current?.focus();
  }, [isEditing]);
  if (own === null) return <PriceText state={toPriceState(model, { own: {}, used }, unit)} row={row} />;
  if (isEditing) {
    return (
      <PriceEditor
        row={row}
        unit={unit}
        begin={toPriceFields(model, own)[unit] ?? null}
        onEnd={(byKey) => {
          isReturning.current = byKey;
          onEdit(null);
        }}
        onSave={(price) => onSave(row, unit, price)}
      />
    );
  }
  const state = toPriceState(model, { own, used }, unit);
  return (
    <button
      ref={button}
      type="button"
      aria-label={`${UNIT_TABLE[unit].label} of ${model.alias}: ${toWords(state)}. Change`}
      onClick={() => onEdit(unit)}
      className="-mx-1.5 inline-flex min-h-6 max-w-full items-center rounded px-1.5 hover:bg-accent-soft focus-visible:outline-offset-0"
    >
      <PriceText state={state} row={row} />
    </button>
  );
}

function PriceText({ state, row }: { readonly state: PriceState; readonly row: EditableRow }) {
  switch (state.kind) {
    case "unpriced":
      return <Unpriced />;
    case "unused":
      return <Absent />;
    case "included":
      return <span className="text-ink-faint">as {UNIT_TABLE[state.unit].heading.toLowerCase()}</span>;
    case "own":
      return (
        <span title={`${formatMoneyExact(state.pricePerMillion)}, its own price`}>
          {formatMoney(state.pricePerMillion)}
        </span>
      );
    default:
      return (
        <span
          className="inline-flex items-center gap-1 text-ink-soft"
          title={`${formatMoneyExact(state.pricePerMillion)}, inherited from ${row.model.target ?? row.model.upstream_name}`}
        >
          <Icon name="link" size={12} label="inherited" className="text-ink-faint" />
          {formatMoney(state.pricePerMillion)}
        </span>
      );
  }
}

function toWords(state: PriceState): string {
  if (state.kind === "included") return `as ${UNIT_TABLE[state.unit].label.toLowerCase()}`;
  return "pricePerMillion" in state
    ? `${formatMoney(state.pricePerMillion)}, ${state.kind}`
    : TO_WORDS[state.kind];
}

const TO_WORDS = { unpriced: "unpriced", unused: "not used" } as const;

interface PriceEditorProps {
  readonly row: EditableRow;
  readonly unit: Unit;
  readonly begin: number | null;
  readonly onEnd: (byKey: boolean) => void;
  readonly onSave: (price: number | null) => void;
}

function PriceEditor({ row, unit, begin, onEnd, onSave }: PriceEditorProps) {
  const [price, setPrice] = useState(begin);
  return (
    <div onBlur={() => onEnd(false)} className="text-left whitespace-normal">
      <NumberField
        label={`${UNIT_TABLE[unit].label} of ${row.model.alias}, in dollars per million`}
        labelHidden
        size="sm"
        prefix="$"
        min={0}
        autoFocus
        hint={row.model.target === null ? "Enter saves; empty is unpriced" : "Enter saves; empty inherits"}
        value={price}
        onValueChange={setPrice}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            if (event.currentTarget.getAttribute("aria-invalid") === "true") return;
            if (price !== begin) onSave(price);
            onEnd(true);
          } else if (event.key === "Escape") {
            event.preventDefault();
            event.stopPropagation();
            onEnd(true);
          }
        }}
      />
    </div>
  );
}
