import { useMutation, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { UNIT_TABLE, type Unit } from "#kernel/units.ts";
import { type Model, type ModelPatch, modelsQuery, pricingQuery, updateModel } from "../../../api/catalog.ts";
import { changedMeanwhile } from "../../../api/failure.ts";
import { useUndo } from "../../../api/undo.ts";
import { useToast } from "../../../components/toast.tsx";
import { formatMoneyExact } from "../../../text/format.ts";
import type { EditableRow } from "../model-row.ts";
import { toOwnPrices, toPriceFields, toPricing } from "../../../catalog/price-set.ts";

export interface InlineChanges {
  /** The error of the last change of what is listed; null when it was saved. */
  readonly failure: Error | null;
  /** Fulfilled when the list shows the price; its error stands beside the cell. */
  readonly savePrice: (row: EditableRow, unit: Unit, price: PriceChange) => Promise<unknown>;
  readonly hide: (row: EditableRow, hidden: boolean) => void;
}

/** Null: no price of its own. */
export interface PriceChange {
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
      const saved = await updateModel.run({ alias, patch, from });
      return { alias, patch: undo, from: saved };
    },
    // A write of prices is the whole set: the next one has to begin with what this one left.
    scope: { id: "catalog" },
    onSuccess: (undo: Parameters<typeof updateModel.run>[0], { title, body }: InlineChange) =>
      notify({ title, body, tone: "good", action: toUndo(updateModel, undo, `${undo.alias} is as it was`) }),
    onSettled: () => updateModel.refresh(client),
  };
  const { mutateAsync: price } = useMutation(options);
  const { mutate, error } = useMutation(options);
  const savePrice = useCallback(
    ({ model }: EditableRow, unit: Unit, { was, next }: PriceChange) =>
      price({
        alias: model.alias,
        toPatches: () => toPricePatches(client, model, { unit, was, next }),
        title: `${model.alias} saved`,
        body: `${UNIT_TABLE[unit].label}: ${toWords(next)}. Applies from the next request.`,
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
    client.fetchQuery({ ...modelsQuery(), staleTime: 0 }),
    client.fetchQuery({ ...pricingQuery(), staleTime: 0 }),
  ]);
  const model = models.rows.find(({ alias }) => alias === shown.alias) ?? shown;
  const own = toOwnPrices(pricing.entries).get(model.alias) ?? {};
  const before = toPriceFields(model, own);
  const now = before[unit] ?? null;
  if (now !== was) {
    throw changedMeanwhile(
      `It was ${toWords(was)} when you began and is ${toWords(now)} now. Enter saves yours all the same; Esc keeps the newer.`,
    );
  }
  return {
    patch: { pricing: toPricing({ ...before, [unit]: next }) },
    undo: { pricing: toPricing(before) },
    from: model,
  };
}

function toWords(price: number | null): string {
  return price === null ? "no price of its own" : formatMoneyExact(price);
}
