import { type QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { type Unit, UNIT_TABLE } from "#kernel/units.ts";
import { type Model, type ModelPatch, MODELS, pricingQuery } from "../../api/catalog.ts";
import { useUndo } from "../../api/changing.ts";
import { ApiFailure, changedMeanwhile, isChangedMeanwhile } from "../../api/failure.ts";
import { PriceConsequence } from "../../catalog/price-consequence.tsx";
import {
  type PriceFields,
  type PriceState,
  toOwnPrices,
  toPriceFields,
  toPriceState,
  toPricing,
} from "../../catalog/price-set.ts";
import { Cost, Unpriced } from "../../components/cost.tsx";
import { Absent } from "../../components/empty.tsx";
import { Icon } from "../../components/icon.tsx";
import { NumberField } from "../../components/number-field.tsx";
import { Beside } from "../../components/popover.tsx";
import { Spinner } from "../../components/progress.tsx";
import { useToast } from "../../components/toast.tsx";
import { useDiscardQuestion } from "../../form/discard-question.tsx";
import type { EditableRow } from "./model-row.ts";
import { formatMoney, formatMoneyExact } from "../../text/format.ts";

interface PriceCellProps {
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

export interface InlineChanges {
  /** The error of the last change of what is listed; null when it was saved. */
  readonly failure: Error | null;
  /** Fulfilled when the list shows the price; its error stands beside the cell. */
  readonly savePrice: (row: EditableRow, unit: Unit, price: PriceChange) => Promise<unknown>;
  readonly hide: (row: EditableRow, hidden: boolean) => void;
}

/** Null: no price of its own. */
interface PriceChange {
  readonly was: number | null;
  readonly next: number | null;
}

interface Patches {
  readonly patch: ModelPatch;
  readonly undo: ModelPatch;
  /** The model that the patch was made from. */
  readonly from: Model;
}

interface InlineChange {
  readonly alias: string;
  /** The patch, and the one that takes it back. */
  readonly toPatches: () => Promise<Patches> | Patches;
  readonly title: string;
  readonly body?: string;
}

/** What is changed within the table itself, one change after the other; each can be taken back. */
export function useInlineChanges(): InlineChanges {
  const client = useQueryClient();
  const { notify } = useToast();
  const toUndo = useUndo();
  const options = {
    mutationFn: async ({ alias, toPatches }: InlineChange) => {
      const { patch, undo, from } = await toPatches();
      const saved = await MODELS.update.run({ id: alias, patch, from });
      return { id: alias, patch: undo, from: saved };
    },
    // A write of prices is the whole set: the next one has to begin with what this one left.
    scope: { id: "catalog" },
    onSuccess: (undo: Parameters<typeof MODELS.update.run>[0], { title, body }: InlineChange) =>
      notify({ title, body, tone: "good", action: toUndo(MODELS.update, undo, `${undo.id} is as it was`) }),
    onSettled: () => MODELS.update.refresh(client),
  };
  const { mutateAsync: price } = useMutation(options);
  const { mutate, error } = useMutation(options);
  const savePrice = useCallback(
    ({ model }: EditableRow, unit: Unit, { was, next }: PriceChange) =>
      price({
        alias: model.alias,
        toPatches: () => toPricePatches(client, model, { unit, was, next }),
        title: `${model.alias} saved`,
        body: `${UNIT_TABLE[unit].label}: ${toPriceWords(next)}. Applies from the next request.`,
      }),
    [client, price],
  );
  const hide = useCallback(
    ({ model }: EditableRow, hidden: boolean) =>
      mutate({
        alias: model.alias,
        toPatches: () => ({ patch: { hidden }, undo: { hidden: !hidden }, from: model }),
        title: `${model.alias} is ${hidden ? "not listed any more" : "listed"}`,
      }),
    [mutate],
  );
  return { failure: error, savePrice, hide };
}

/**
 * One price beside the others, which are read anew first: a price that somebody else has set meanwhile would go back to what
 * this page last saw. Throws when they cannot be read, and `changed_meanwhile` when this very price is another one by now.
 */
async function toPricePatches(
  client: QueryClient,
  shown: Model,
  { unit, was, next }: PriceChange & { readonly unit: Unit },
): Promise<Patches> {
  const [models, pricing] = await Promise.all([
    client.fetchQuery({ ...MODELS.list(), staleTime: 0 }),
    client.fetchQuery({ ...pricingQuery(), staleTime: 0 }),
  ]);
  const model = models.rows.find(({ alias }) => alias === shown.alias) ?? shown;
  const own = toOwnPrices(pricing.entries).get(model.alias) ?? {};
  const before = toPriceFields(model, own);
  const now = before[unit] ?? null;
  if (now !== was) {
    throw changedMeanwhile(
      `It was ${toPriceWords(was)} when you began and is ${toPriceWords(now)} now. Enter saves yours all the same; Esc keeps the newer.`,
    );
  }
  return {
    patch: { pricing: toPricing({ ...before, [unit]: next }) },
    undo: { pricing: toPricing(before) },
    from: model,
  };
}

function toPriceWords(price: number | null): string {
  return price === null ? "no price of its own" : formatMoneyExact(price);
}
