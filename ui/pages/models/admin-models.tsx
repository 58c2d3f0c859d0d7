import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import type { Unit } from "#kernel/units.ts";
import { modelsQuery, pricingQuery, providersQuery } from "../../api/catalog.ts";
import { teamSummaryQuery } from "../../api/reports.ts";
import { ArrowChain } from "../../components/arrow-chain.tsx";
import { Badge } from "../../components/chip.tsx";
import { Button } from "../../components/button.tsx";
import { SwitchField } from "../../components/choice-field.tsx";
import type { Column } from "../../components/column.ts";
import { ListOffer } from "../../catalog/list-offer.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { GonePanel } from "../../components/panel.tsx";
import { Instant } from "../../components/instant.tsx";
import { useMinute } from "../../search/now.ts";
import { toTimeWindow } from "../../search/window.ts";
import { AddModelDialog } from "./model-fields.tsx";
import { EditPanel } from "./edit-panel.tsx";
import type { ModelForm } from "./model-form.ts";
import { PriceCell, type InlineChanges, useInlineChanges } from "./price-cell.tsx";
import type { ModelsProps } from "../models.tsx";
import { ModelList } from "./model-list.tsx";
import { toEditableRows, type EditableRow } from "./model-row.ts";
import { ResolveBox } from "./resolve-box.tsx";
import { ModelsHead } from "./sections.tsx";

/** Every model with its route; prices and listing are changed in place, everything else in a panel. */
export function AdminModels({ search, onChange }: ModelsProps) {
  const models = useQuery(modelsQuery());
  const providers = useQuery(providersQuery());
  const pricing = useQuery(pricingQuery());
  const { since } = toTimeWindow({}, "30d", useMinute());
  const summary = useQuery(teamSummaryQuery({ since }));
  const failed = [models, providers, pricing].find(({ error }) => error !== null);
  const [adding, setAdding] = useState<Partial<ModelForm> | null>(null);
  const { failure, savePrice, hide } = useInlineChanges();
  const toPrice = useCallback(
    (row: EditableRow, unit: Unit) => <PriceCell row={row} unit={unit} onSave={savePrice} />,
    [savePrice],
  );
  const more = useMemo(() => toEditColumns(hide), [hide]);

  const allModels = models.data?.rows ?? NONE;
  const allProviders = providers.data?.rows ?? NONE;
  const entries = pricing.data?.entries;
  const usage = summary.data?.usage;
  const rows = useMemo(
    () => toEditableRows({ models: allModels, providers: allProviders, entries, usage }),
    [allModels, allProviders, entries, usage],
  );
  const open = rows.find(({ model }) => model.alias === search.open);
  const isPending = models.isPending || pricing.isPending;
  return (
    <>
      <ModelsHead
        lead="Every name that callers can ask for, and where it leads. Prices are in dollars per million units; a price with a link is inherited."
        actions={
          <>
            {!isPending && <ListOffer models={allModels} kept={entries ?? NONE} />}
            <Button variant="primary" icon="plus" onClick={() => setAdding({})}>
              Add model
            </Button>
          </>
        }
      />
      {failed !== undefined && failed.error !== null && (
        <div className="mb-4">
          <ErrorNotice failure={failed.error} onRetry={() => void failed.refetch()} />
        </div>
      )}
      <ResolveBox search={search} rows={rows} onChange={onChange} onAdd={(alias) => setAdding({ alias })} />
      <ModelList
        rows={isPending || models.data === undefined ? undefined : rows}
        total={models.data?.total ?? null}
        busy={isPending}
        providers={allProviders}
        search={search}
        onChange={onChange}
        name={toName}
        price={toPrice}
        more={more}
        opens="Change"
        notice={
          failure !== null && (
            <div className="mb-4">
              <ErrorNotice failure={failure} />
            </div>
          )
        }
      />
      {!isPending && open !== undefined && (
        <EditPanel
          key={open.model.alias}
          row={open}
          models={allModels}
          providers={allProviders}
          onOpen={(alias) => onChange({ open: alias })}
          onResolve={(alias) => onChange({ resolve: alias, open: undefined })}
          onClose={() => onChange({ open: undefined })}
        />
      )}
      {search.open !== undefined && open === undefined && models.isSuccess && !models.isFetching && (
        <GonePanel what="model" name={search.open} onClose={() => onChange({ open: undefined })} />
      )}
      {adding !== null && (
        <AddModelDialog
          begin={adding}
          models={allModels}
          providers={allProviders}
          onClose={() => setAdding(null)}
        />
      )}
    </>
  );
}

const NONE: readonly never[] = [];

function toName({ model, isProviderDisabled }: EditableRow) {
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1">
      <ArrowChain
        alias={model.alias}
        target={model.target}
        provider={model.provider}
        upstreamName={model.upstream_name}
        isCompact
      />
      {isProviderDisabled && <Badge tone="warn">provider disabled</Badge>}
    </span>
  );
}

function toEditColumns(onHide: InlineChanges["hide"]): readonly Column<EditableRow>[] {
  return [
    {
      id: "listed",
      header: "Listed",
      headerTitle: "Whether GET /v1/models lists it; a hidden model serves requests too",
      width: "w-15",
      sortValue: ({ model }) => (model.hidden ? 0 : 1),
      cell: (row) => (
        <SwitchField
          label={`${row.model.alias} listed`}
          labelHidden
          checked={!row.model.hidden}
          onCheckedChange={(listed) => onHide(row, !listed)}
        />
      ),
    },
    {
      id: "created",
      header: "Added, UTC",
      descendingFirst: true,
      width: "w-26",
      sortValue: ({ model }) => model.created_at,
      cell: ({ model }) => (
        <span className="flex flex-col text-xs text-ink-soft">
          <Instant value={model.created_at} format="date" />
          <span className="text-ink-faint">{model.origin}</span>
        </span>
      ),
    },
  ];
}
