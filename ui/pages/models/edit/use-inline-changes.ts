import { useMutation, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import type { Unit } from "#kernel/units.ts";
import { modelsQuery, pricingQuery, updateModel, type Model } from "../../../api/catalog.ts";
import { useToast } from "../../../components/toast.tsx";
import type { EditableRow } from "../model-row.ts";
import { toOwnPrices, toPriceFields, toPricing } from "../../../catalog/price-set.ts";

export interface InlineChanges {
  /** The error of the last change of what is listed; null when it was saved. */
  readonly failure: Error | null;
  /** Fulfilled when the list shows the price; its error stands beside the cell. */
  readonly savePrice: (row: EditableRow, unit: Unit, price: number | null) => Promise<unknown>;
  readonly hide: (row: EditableRow, hidden: boolean) => void;
}

interface InlineChange {
  readonly alias: string;
  readonly toPatch: () => Parameters<typeof updateModel.run>[0]["patch"];
}

/** What is changed within the table itself, one change after the other. */
export function useInlineChanges(): InlineChanges {
  const client = useQueryClient();
  const { notify } = useToast();
  const options = {
    mutationFn: ({ alias, toPatch }: InlineChange) => updateModel.run({ alias, patch: toPatch() }),
    // A write of prices is the whole set: the next one has to begin with what this one left.
    scope: { id: "catalog" },
    onSuccess: ({ alias }: { readonly alias: string }) => notify({ title: `${alias} saved`, tone: "good" }),
    onSettled: () => updateModel.refresh(client),
  };
  const { mutateAsync: price } = useMutation(options);
  const { mutate, error } = useMutation(options);
  const savePrice = useCallback(
    ({ model }: EditableRow, unit: Unit, next: number | null) =>
      price({ alias: model.alias, toPatch: () => toPricePatch(client, model, { [unit]: next }) }),
    [client, price],
  );
  const hide = useCallback(
    ({ model }: EditableRow, hidden: boolean) => mutate({ alias: model.alias, toPatch: () => ({ hidden }) }),
    [mutate],
  );
  return { failure: error, savePrice, hide };
}

/** One price beside the others as they are known when it is sent. Throws when they are not. */
function toPricePatch(
  client: QueryClient,
  shown: Model,
  change: { readonly [unit in Unit]?: number | null },
) {
  const models = client.getQueryData(modelsQuery().queryKey);
  const pricing = client.getQueryData(pricingQuery().queryKey);
  if (pricing === undefined) throw new Error("Current prices could not be loaded. Reload the page.");
  const model = models?.rows.find(({ alias }) => alias === shown.alias) ?? shown;
  const own = toOwnPrices(pricing.entries).get(model.alias) ?? {};
  return { pricing: toPricing({ ...toPriceFields(model, own), ...change }) };
}
