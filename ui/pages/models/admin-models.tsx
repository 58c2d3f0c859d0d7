import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import type { Unit } from "#kernel/units.ts";
import { MODELS, pricingQuery, PROVIDERS } from "../../api/catalog.ts";
import { teamSummaryQuery } from "../../api/reports.ts";
import { ArrowChain } from "../../components/arrow-chain.tsx";
import { Badge } from "../../components/chip.tsx";
import { SwitchField } from "../../components/choice-field.tsx";
import type { Column } from "../../components/column.ts";
import { ListOffer } from "../../catalog/list-offer.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Instant } from "../../components/instant.tsx";
import { useMinute } from "../../search/now.ts";
import { toTimeWindow } from "../../search/window.ts";
import { AddModelDialog } from "./model-fields.tsx";
import { EditPanel } from "./edit-panel.tsx";
import type { ModelForm } from "./model-form.ts";
import { PriceCell, type InlineChanges, useInlineChanges } from "./price-cell.tsx";
import { useListSearch } from "../../lists/list-page.tsx";
import { ModelsList } from "./model-list.tsx";
import { toEditableRows, type EditableRow } from "./model-row.ts";
import { ResolveBox } from "./resolve-box.tsx";

/** Every model with its route; prices and listing are changed in place, everything else in a panel. */
export function AdminModels() {
  const { change } = useListSearch();
  const models = useQuery(MODELS.list());
  const providers = useQuery(PROVIDERS.list());
  const pricing = useQuery(pricingQuery());
  const { since } = toTimeWindow({}, "30d", useMinute());
  const summary = useQuery(teamSummaryQuery({ since }));
  // Filled in from the box that resolves a name.
  const [begin, setBegin] = useState<Partial<ModelForm> | null>(null);
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
  const isPending = models.isPending || pricing.isPending;
  const rows = useMemo(
    () => toEditableRows({ models: allModels, providers: allProviders, entries, usage }),
    [allModels, allProviders, entries, usage],
  );
  return (
    <ModelsList
      lead="Every name that callers can ask for, and where it leads. Prices are in dollars per million units; a price with a link is inherited."
      actions={!isPending && <ListOffer models={allModels} kept={entries ?? NONE} />}
      asked={[models, providers, pricing]}
      rows={isPending || models.data === undefined ? undefined : rows}
      total={models.data?.total}
      busy={isPending}
      providers={allProviders}
      name={toName}
      price={toPrice}
      more={more}
      opens="Change"
      above={<ResolveBox rows={rows} onAdd={(alias) => setBegin({ alias })} />}
      notice={
        failure !== null && (
          <div className="mb-4">
            <ErrorNotice failure={failure} />
          </div>
        )
      }
      panel={(row, close) => (
        <EditPanel
          key={row.model.alias}
          row={row}
          models={allModels}
          providers={allProviders}
          onOpen={(alias) => change({ open: alias })}
          onResolve={(alias) => change({ resolve: alias, open: undefined })}
          onClose={close}
        />
      )}
      create={{
        label: "Add model",
        isAsked: begin !== null,
        dialog: (close) => (
          <AddModelDialog
            begin={begin ?? {}}
            models={allModels}
            providers={allProviders}
            onClose={() => {
              setBegin(null);
              close();
            }}
          />
        ),
      }}
    />
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
