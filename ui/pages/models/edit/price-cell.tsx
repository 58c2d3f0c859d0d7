import { UNIT_TABLE, type Unit } from "#kernel/units.ts";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { ApiFailure, isChangedMeanwhile } from "../../../api/failure.ts";
import { Absent } from "../../../components/empty.tsx";
import { Icon } from "../../../components/icon.tsx";
import { Cost, Unpriced } from "../../../components/cost.tsx";
import { Spinner } from "../../../components/progress.tsx";
import { NumberField } from "../../../components/number-field.tsx";
import { useDiscardQuestion } from "../../../form/discard-question.tsx";
import { formatMoney } from "../../../text/format.ts";
import type { EditableRow } from "../model-row.ts";
import type { PriceChange } from "./use-inline-changes.ts";
import { PriceConsequence } from "../../../catalog/price-consequence.tsx";
import {
  toPriceFields,
  toPriceState,
  toPricing,
  type PriceFields,
  type PriceState,
} from "../../../catalog/price-set.ts";
import { Beside } from "../../../components/popover.tsx";

export interface PriceCellProps {
  readonly row: EditableRow;
  readonly unit: Unit;
  /** Null takes the price away: a name then inherits it again. Fulfilled when the list shows it. */
  readonly onSave: (row: EditableRow, unit: Unit, price: PriceChange) => Promise<unknown>;
}

/**
 * A price: own, inherited, unpriced, or absent where the model does not use the unit. A press makes it a field; Enter and going
 * elsewhere save, Esc leaves it as it was.
 */
export function PriceCell({ row, unit, onSave }: PriceCellProps) {
  const { model, own, used } = row;
  const [isEditing, setEditing] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  // Only what the keyboard ended gives the focus back: a press elsewhere has put it there.
  const isReturning = useRef(false);
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
        before={toPriceFields(model, own)}
        onEnd={(byKey) => {
          isReturning.current = byKey;
          setEditing(false);
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
      onClick={() => setEditing(true)}
      className="-mx-1.5 inline-flex min-h-6 max-w-full min-w-6 items-center justify-center rounded px-1.5 hover:bg-accent-soft focus-visible:outline-offset-0"
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
      return <Cost value={state.pricePerMillion} />;
    default:
      return (
        <span
          className="inline-flex items-center gap-1 text-ink-soft"
          title={`Inherited from ${row.model.target ?? row.model.upstream_name}`}
        >
          <Icon name="link" size={12} label="inherited" className="text-ink-faint" />
          <Cost value={state.pricePerMillion} />
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
  /** All prices of the model as they are. */
  readonly before: PriceFields;
  readonly onEnd: (byKey: boolean) => void;
  readonly onSave: (price: PriceChange) => Promise<unknown>;
}

/** What cannot be read, and what is refused, stays with its error until it is right or left by Esc. */
function PriceEditor({ row, unit, before, onEnd, onSave }: PriceEditorProps) {
  const shown = before[unit] ?? null;
  // What one began with: the list may have been asked anew since.
  const [begin, setBegin] = useState(shown);
  const [price, setPrice] = useState(begin);
  const field = useRef<HTMLDivElement>(null);
  const save = useMutation({ mutationFn: onSave });
  const isUnreadable = () => field.current?.querySelector("[aria-invalid=true]") !== null;
  const question = useDiscardQuestion({
    isTouched: () => !save.isPending && (price !== begin || isUnreadable()),
    discard: () => onEnd(false),
  });
  const commit = (byKey: boolean) => {
    // What was refused is not sent again but on purpose.
    if (save.isPending || (save.error === null ? isUnreadable() : !byKey)) return;
    if (price === begin) onEnd(byKey);
    else {
      const was = isChangedMeanwhile(save.error) ? shown : begin;
      setBegin(was);
      save.mutate({ was, next: price }, { onSuccess: () => onEnd(byKey) });
    }
  };
  return (
    <div ref={field} className="text-left whitespace-normal">
      <NumberField
        label={`${UNIT_TABLE[unit].label} of ${row.model.alias}, in dollars per million`}
        labelHidden
        size="sm"
        prefix="$"
        min={0}
        autoFocus
        selectsOnFocus
        hint={
          save.isPending ? (
            <span role="status" className="flex items-center gap-1.5">
              <Spinner />
              Saving…
            </span>
          ) : row.model.target === null ? (
            "Enter saves; empty is unpriced"
          ) : (
            "Enter saves; empty inherits"
          )
        }
        value={price}
        error={save.error === null ? undefined : toSentence(save.error)}
        onValueChange={(next) => {
          setPrice(next);
          if (save.error !== null) save.reset();
        }}
        onBlur={({ currentTarget }) => {
          // The window lost the focus, and the field did not: it may be half typed.
          if (document.activeElement !== currentTarget) commit(false);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            commit(true);
          } else if (event.key === "Escape") {
            event.preventDefault();
            event.stopPropagation();
            onEnd(true);
          }
        }}
      />
      {price !== begin && (
        <Beside anchor={field} title={`What a price of ${row.model.alias} would mean`}>
          <PriceConsequence
            name={row.model.alias}
            wish={{ model: row.model.alias, pricing: toPricing({ ...before, [unit]: price }) }}
          />
        </Beside>
      )}
      {question}
    </div>
  );
}

function toSentence(failure: Error): string {
  return failure instanceof ApiFailure ? `${failure.message} (${failure.code})` : failure.message;
}
