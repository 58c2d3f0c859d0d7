import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { modelsQuery, pricingQuery, providersQuery } from "../../api/catalog.ts";
import { teamSummaryQuery } from "../../api/reports.ts";
import { Button } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { GonePanel } from "../../components/gone-panel.tsx";
import { NotLoaded } from "../../components/not-loaded.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { useMinute } from "../../search/now.ts";
import type { CatalogueSearch } from "../../search/pages.ts";
import { toTimeWindow } from "../../search/window.ts";
import { AddModelDialog } from "./edit/add-model-dialog.tsx";
import { CatalogueFilters } from "./edit/catalog-filters.tsx";
import { matchesRow, toCatalogueRows } from "./edit/catalog-row.ts";
import { CatalogueTable } from "./edit/catalog-table.tsx";
import { ModelPanel } from "./edit/edit-panel.tsx";
import type { ModelForm } from "./edit/model-form.ts";
import { NoModels } from "./edit/no-models.tsx";
import { ResolveBox } from "./resolve/resolve-box.tsx";
import { useInlineChanges } from "./edit/use-inline-changes.ts";

const route = getRouteApi("/shell/admin/catalogue");

/** The names that can be called, where each leads, what it can do and what it costs. */
export function CataloguePage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (patch: CatalogueSearch) =>
      void navigate({ search: (before) => ({ ...before, ...patch }), resetScroll: false }),
    [navigate],
  );
  const models = useQuery(modelsQuery());
  const providers = useQuery(providersQuery());
  const pricing = useQuery(pricingQuery());
  const { since } = toTimeWindow({}, "30d", useMinute());
  const summary = useQuery(teamSummaryQuery({ since }));
  const failed = [models, providers, pricing].find(({ error }) => error !== null);
  const [adding, setAdding] = useState<Partial<ModelForm> | null>(null);
  const { failure, savePrice, hide } = useInlineChanges();

  const allModels = models.data?.rows;
  const allProviders = providers.data?.rows;
  const entries = pricing.data?.entries;
  const usage = summary.data?.usage;
  const rows = useMemo(
    () => toCatalogueRows({ models: allModels ?? [], providers: allProviders ?? [], entries, usage }),
    [allModels, allProviders, entries, usage],
  );
  const shown = useMemo(() => rows.filter((row) => matchesRow(row, search)), [rows, search]);
  const open = rows.find(({ model }) => model.alias === search.open);
  const isPending = models.isPending || pricing.isPending;
  return (
    <>
      <PageHead
        title="Catalogue"
        lead="Every name that callers can ask for, and where it leads. Prices are in dollars per million units; a linked one is inherited."
        actions={
          <Button variant="primary" icon="plus" onClick={() => setAdding({})}>
            Add a model
          </Button>
        }
      />
      {failed !== undefined && failed.error !== null && (
        <div className="mb-4">
          <ErrorNotice failure={failed.error} onRetry={() => void failed.refetch()} />
        </div>
      )}
      <ResolveBox search={search} rows={rows} onChange={change} onAdd={(alias) => setAdding({ alias })} />
      <CatalogueFilters
        search={search}
        onChange={change}
        providers={allProviders ?? []}
        shown={shown.length}
        total={models.data?.total ?? null}
      />
      {failure !== null && (
        <div className="mb-4">
          <ErrorNotice failure={failure} />
        </div>
      )}
      <Card flush>
        <CatalogueTable
          rows={isPending ? [] : shown}
          busy={isPending}
          openAlias={search.open ?? null}
          onOpen={(alias) => change({ open: alias })}
          onSavePrice={savePrice}
          onHide={hide}
          empty={
            models.data === undefined ? (
              <NotLoaded />
            ) : (
              <NoModels
                isFiltered={rows.length > 0}
                hasProviders={(allProviders ?? []).length > 0}
                onClear={() => change({ q: undefined, provider: undefined })}
              />
            )
          }
        />
      </Card>
      {!isPending && open !== undefined && (
        <ModelPanel
          key={open.model.alias}
          row={open}
          models={allModels ?? []}
          providers={allProviders ?? []}
          onOpen={(alias) => change({ open: alias })}
          onResolve={(alias) => change({ resolve: alias, open: undefined })}
          onClose={() => change({ open: undefined })}
        />
      )}
      {search.open !== undefined && open === undefined && models.isSuccess && !models.isFetching && (
        <GonePanel what="model" name={search.open} onClose={() => change({ open: undefined })} />
      )}
      {adding !== null && (
        <AddModelDialog
          begin={adding}
          models={allModels ?? []}
          providers={allProviders ?? []}
          onClose={() => setAdding(null)}
        />
      )}
    </>
  );
}
