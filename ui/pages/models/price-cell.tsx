import { type QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { type Unit, UNIT_TABLE } from "#kernel/units.ts";
import { type Model, type ModelPatch, MODELS, pricingQuery } from "../../api/catalog.ts";
import { useUndo } from "../../api/changing.ts";
import { changedMeanwhile } from "../../api/failure.ts";
import { PriceConsequence } from "../../catalog/price-consequence.tsx";
import {
  type PriceState,
  toOwnPrices,
  toPriceFields,
  toPriceState,
  toPricing,
} from "../../catalog/price-set.ts";
import { Cost, Unpriced } from "../../components/cost.tsx";
import { Absent } from "../../components/empty.tsx";
import { Icon } from "../../components/icon.tsx";
import { useToast } from "../../components/toast.tsx";
import { InlineNumber, type NumberChange } from "../../form/inline-number.tsx";
import type { EditableRow } from "./model-row.ts";
import { formatMoney, formatMoneyExact } from "../../text/format.ts";

interface PriceCellProps {
  readonly row: EditableRow;
  readonly unit: Unit;
  /** Null takes the price away: a name then inherits it again. Fulfilled when the list shows it. */
  readonly onSave: (row: EditableRow, unit: Unit, price: NumberChange) => Promise<unknown>;
}

/** A price: own, inherited, unpriced, or absent where the model does not use the unit. A press makes it a field. */
export function PriceCell({ row, unit, onSave }: PriceCellProps) {
  const { model, own, used } = row;
  if (own === null) return <PriceText state={toPriceState(model, { own: {}, used }, unit)} row={row} />;
  const state = toPriceState(model, { own, used }, unit);
  /** All prices of the model as they are. */
  const before = toPriceFields(model, own);
  return (
    <InlineNumber
      buttonLabel={`${UNIT_TABLE[unit].label} of ${model.alias}: ${toWords(state)}. Change`}
      label={`${UNIT_TABLE[unit].label} of ${model.alias}, in dollars per million`}
      prefix="$"
      min={0}
      value={before[unit] ?? null}
      hint={model.target === null ? "Enter saves; empty is unpriced" : "Enter saves; empty inherits"}
      onSave={(price) => onSave(row, unit, price)}
      consequence={{
        title: `What a price of ${model.alias} would mean`,
        of: (price) => (
          <PriceConsequence
            name={model.alias}
            wish={{ model: model.alias, pricing: toPricing({ ...before, [unit]: price }) }}
          />
        ),
      }}
    >
      <PriceText state={state} row={row} />
    </InlineNumber>
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

export interface InlineChanges {
  /** The error of the last change of what is listed; null when it was saved. */
  readonly failure: Error | null;
  /** Fulfilled when the list shows the price; its error stands beside the cell. */
  readonly savePrice: (row: EditableRow, unit: Unit, price: NumberChange) => Promise<unknown>;
  readonly hide: (row: EditableRow, hidden: boolean) => void;
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
    ({ model }: EditableRow, unit: Unit, { was, next }: NumberChange) =>
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
  { unit, was, next }: NumberChange & { readonly unit: Unit },
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
