import { useMutation, useQueryClient } from "@tanstack/react-query";
import { loadPricing, modelsQuery, pricingQuery, refreshCatalog, updateModel } from "../../../api/catalog.ts";
import { planPriceWrite, type PriceWish, type PriceWrite } from "./price-write.ts";
import { toHandVersion } from "./version.ts";

/** Sets one price by what the server has now, not by what the page showed. Returns how it was written. */
export function useSetPrice(onSuccess: (write: PriceWrite) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (wish: PriceWish) => {
      const [models, prices] = await Promise.all([
        client.fetchQuery({ ...modelsQuery(), staleTime: 0 }),
        client.fetchQuery({ ...pricingQuery(), staleTime: 0 }),
      ]);
      const write = planPriceWrite(wish, models.rows, prices, toHandVersion(Date.now()));
      if (write.kind === "patch") await updateModel.run(write);
      else await loadPricing.run(write.feed);
      return write;
    },
    onSuccess,
    onSettled: () => refreshCatalog(client),
  });
}
