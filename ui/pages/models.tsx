import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { listedModelsQuery, type ListedModel } from "../api/models.ts";
import { teamSummaryQuery } from "../api/reports.ts";
import { Card } from "../components/card.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { GonePanel } from "../components/gone-panel.tsx";
import { PageHead } from "../components/page-head.tsx";
import { LateVirtualBody } from "../components/late-virtual-body.tsx";
import { DataTable, ROWS_DRAWN_MAX } from "../components/table.tsx";
import { useMinute } from "../search/now.ts";
import type { ModelsSearch } from "../search/pages.ts";
import { toTimeWindow } from "../search/window.ts";
import { toModelColumns } from "./models/model-columns.tsx";
import { ModelFilters } from "./models/model-filters.tsx";
import { matchesModel, toNames, toRequestCounts } from "./models/model-list.ts";
import { ModelPanel } from "./models/model-panel.tsx";
import { NoModels } from "./models/no-models.tsx";
import { SnippetDialog } from "./models/snippet-dialog.tsx";
import { TableSkeleton } from "../reports/table-skeleton.tsx";

const route = getRouteApi("/shell/models");

/** What can be called here, what it can do, and what it costs. */
export function ModelsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (patch: ModelsSearch, { replace = false } = {}) =>
    void navigate({ search: (current) => ({ ...current, ...patch }), replace, resetScroll: false });
  const models = useQuery({
    ...listedModelsQuery({ includePricing: true, includeHidden: search.hidden === "1" }),
    placeholderData: keepPreviousData,
  });
  const { since } = toTimeWindow({}, "30d", useMinute());
  const summary = useQuery(teamSummaryQuery({ since }));
  const [asked, setAsked] = useState<ListedModel | null>(null);
  const all = models.data ?? NO_MODELS;
  const names = useMemo(() => toNames(all), [all]);
  const counts = useMemo(
    () => toRequestCounts(summary.data, summary.error !== null),
    [summary.data, summary.error],
  );
  const columns = useMemo(() => toModelColumns({ names, counts, onSnippet: setAsked }), [names, counts]);
  const shown = useMemo(() => all.filter((model) => matchesModel(model, search)), [all, search]);
  const open = all.find(({ id }) => id === search.open);
  return (
    <>
      <PageHead
        title="Models"
        lead="Every name that a request can ask for here. Prices are per million units; a unit without one is recorded as unpriced, never as free."
      />
      <ModelFilters search={search} onChange={(patch) => change(patch, { replace: true })} />
      {models.error !== null && (
        <div className="mb-4">
          <ErrorNotice failure={models.error} onRetry={() => void models.refetch()} />
        </div>
      )}
      {models.error === null && models.data === undefined && (
        <Card flush>
          <TableSkeleton rows={12} />
        </Card>
      )}
      {models.data !== undefined && (
        <Card flush className="overflow-hidden">
          <DataTable
            caption="Models"
            columns={columns}
            rows={shown}
            getRowId={toId}
            sort={{ id: "alias", descending: false }}
            busy={models.isPlaceholderData}
            hasFixedColumns
            onRowActivate={({ id }) => change({ open: id })}
            rowLabel={({ id }) => `Details of ${id}`}
            activeRowId={search.open ?? null}
            body={shown.length > ROWS_DRAWN_MAX ? LateVirtualBody : undefined}
            empty={<NoModels isFiltered={all.length > 0} search={search} onChange={change} />}
          />
        </Card>
      )}
      {open !== undefined && (
        <ModelPanel
          model={open}
          names={names.get(open.id) ?? []}
          onClose={() => change({ open: undefined }, { replace: true })}
        />
      )}
      {search.open !== undefined && open === undefined && models.isSuccess && !models.isFetching && (
        <GonePanel
          what="model"
          name={search.open}
          onClose={() => change({ open: undefined }, { replace: true })}
        />
      )}
      {asked !== null && <SnippetDialog model={asked} onClose={() => setAsked(null)} />}
    </>
  );
}

const NO_MODELS: readonly ListedModel[] = [];

function toId({ id }: ListedModel): string {
  return id;
}
