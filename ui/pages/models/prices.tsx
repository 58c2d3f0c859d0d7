import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { toPricedModels } from "#interchange/prices-in-use.ts";
import { useCallback, useMemo, useState } from "react";
import {
  listPricesQuery,
  type Model,
  MODELS,
  type Pricing,
  pricingQuery,
  type Provider,
  PROVIDERS,
} from "../../api/catalog.ts";
import { type MissingPriceRow, missingPricesQuery, teamSummaryQuery } from "../../api/reports.ts";
import { LIST_PRICES, ListOffer } from "../../catalog/list-offer.tsx";
import { Button } from "../../components/button.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { useMinute } from "../../search/now.ts";
import { toTimeWindow } from "../../search/window.ts";

import { KeptCard, MissingCard, toNamePrices, type NamePrices } from "./prices/price-list.tsx";
import { LoadDialog } from "./prices/load-dialog.tsx";
import { SetPriceDialog, toPricedName, type PricedName } from "./prices/set-price-dialog.tsx";
import { Failures } from "../../lists/list-page.tsx";
import { ModelSections } from "./sections.tsx";

const route = getRouteApi("/shell/admin/models/prices");

/** What is used without a price, the prices that are kept, and feeds to load. */
export function PricesPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { since } = toTimeWindow({}, "30d", useMinute());
  const pricing = useQuery(pricingQuery());
  const models = useQuery(MODELS.list());
  const providers = useQuery(PROVIDERS.list());
  const summary = useQuery(teamSummaryQuery({ since }));
  const missing = useQuery(missingPricesQuery({ since }));
  const [loading, setLoading] = useState(false);
  const [priced, setPriced] = useState<PricedName | null>(null);

  const kept = pricing.data?.entries ?? NO_PRICES;
  const allModels = models.data?.rows ?? NO_MODELS;
  const usage = summary.data?.usage;
  const allProviders = providers.data?.rows ?? NO_PROVIDERS;
  const inUse = useMemo(
    () => ({
      models: toPricedModels(allModels, allProviders),
      // Relayed and deleted models are in no list of models.
      others: usage?.map(({ model }) => model) ?? [],
    }),
    [allModels, allProviders, usage],
  );
  const rows = useMemo(() => toNamePrices(kept, allModels, usage ?? []), [kept, allModels, usage]);
  const begin = useCallback(
    ({ model: name, kind, unit }: MissingPriceRow) => setPriced({ name, kind, unit, prices: {} }),
    [],
  );
  const edit = useCallback((row: NamePrices) => setPriced(toPricedName(row)), []);
  const isPending = pricing.isPending || models.isPending || providers.isPending;
  const list = useQuery(listPricesQuery());
  const offered = search.open === LIST_PRICES ? list.data : undefined;
  const isReady = !isPending && !summary.isPending && !missing.isPending;

  return (
    <>
      <PageHead
        title="Models"
        lead="Dollars per million units, by alias or upstream name. A unit without a price is unpriced, never $0."
        actions={
          <>
            <ListOffer models={allModels} kept={kept} />
            <Button variant="primary" icon="upload" disabled={!isReady} onClick={() => setLoading(true)}>
              Load prices
            </Button>
          </>
        }
      />
      <ModelSections />
      <Failures asked={[pricing, models, providers, summary, missing]} />
      <MissingCard report={missing.data} busy={missing.isPending} onSetPrice={begin} />
      {/* Below a list of unknown length: it comes when that is known, and is not pushed down. */}
      {isReady && pricing.data !== undefined && (
        <KeptCard
          pricing={pricing.data}
          rows={rows}
          query={search.q}
          onQueryChange={(q) =>
            void navigate({ search: { ...search, q }, replace: true, resetScroll: false })
          }
          onEdit={edit}
          onLoad={() => setLoading(true)}
        />
      )}
      {isReady && (loading || offered !== undefined) && (
        <LoadDialog
          offered={offered}
          kept={pricing.data ?? NOTHING_KEPT}
          inUse={inUse}
          onClose={() => {
            setLoading(false);
            void navigate({ search: { ...search, open: undefined }, replace: true, resetScroll: false });
          }}
        />
      )}
      {priced !== null && (
        <SetPriceDialog
          priced={priced}
          model={priced.kind === "model" ? allModels.find(({ alias }) => alias === priced.name) : undefined}
          onClose={() => setPriced(null)}
        />
      )}
    </>
  );
}

const NO_PRICES: Pricing["entries"] = [];
const NOTHING_KEPT = { entries: NO_PRICES };
const NO_MODELS: readonly Model[] = [];
const NO_PROVIDERS: readonly Provider[] = [];
