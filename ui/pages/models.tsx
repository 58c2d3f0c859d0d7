import { isPriceMissed } from "#catalog/missed-prices.ts";
import type { Unit } from "#kernel/units.ts";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { MODELS, pricingQuery, PROVIDERS } from "../api/catalog.ts";
import { listedModelsQuery } from "../api/models.ts";
import { teamSummaryQuery } from "../api/reports.ts";
import { useMe } from "../api/session.ts";
import { ListOffer } from "../catalog/list-offer.tsx";
import { ArrowChain } from "../components/arrow-chain.tsx";
import { buttonClass } from "../components/button.tsx";
import { Badge } from "../components/chip.tsx";
import { SwitchField } from "../components/choice-field.tsx";
import { type Column, textColumn } from "../components/column.ts";
import { Cost } from "../components/cost.tsx";
import { Absent } from "../components/empty.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Instant } from "../components/instant.tsx";
import { useListSearch } from "../lists/list-page.tsx";
import { EditPanel } from "./models/edit-panel.tsx";
import { AddModelDialog } from "./models/model-fields.tsx";
import type { ModelForm } from "./models/model-form.ts";
import { ModelsList } from "./models/model-list.tsx";
import { ModelPanel } from "./models/model-panel.tsx";
import { type EditableRow, type ModelRow, toEditableRows, toListedRows } from "./models/model-row.ts";
import { type InlineChanges, PriceCell, useInlineChanges } from "./models/price-cell.tsx";
import { ResolveBox } from "./models/resolve-box.tsx";
import { useMinute } from "../search/now.ts";
import { toTimeWindow } from "../search/window.ts";

/** The models that can be called, what each does and costs; administrators change them here. */
export function ModelsPage() {
  return useMe().role === "admin" ? <AdminModels /> : <MemberModels />;
}

/** The models that a member can call. */
function MemberModels() {
  const { search } = useListSearch();
  const models = useQuery({
    ...listedModelsQuery({ includePricing: true, includeHidden: search.hidden === "1" }),
    placeholderData: keepPreviousData,
  });
  const rows = useMemo(() => models.data && toListedRows(models.data), [models.data]);
  return (
    <ModelsList
      lead="The models that you can call, in dollars per million units. Unpriced is not free."
      asked={[models]}
      rows={rows}
      total={rows?.length}
      busy={models.isPending || models.isPlaceholderData}
      name={toName}
      price={toPrice}
      more={PROVIDER}
      opens="Details of"
      panel={(row, close) => <ModelPanel row={row} onClose={close} />}
    />
  );
}

const PROVIDER: readonly Column<ModelRow>[] = [
  textColumn({ id: "provider", header: "Provider", width: "w-28", value: ({ model }) => model.provider }),
];

function toName({ model }: ModelRow) {
  return (
    <>
      <span className="flex min-w-0 items-center gap-2">
        <span className="truncate font-medium" title={model.alias}>
          {model.alias}
        </span>
        {model.hidden && (
          <Badge tone="warn" title="Serves requests, but GET /v1/models does not list it">
            hidden
          </Badge>
        )}
      </span>
      {model.target !== null && (
        <span className="flex min-w-0">
          <Badge title={`Requests go to ${model.target}`}>
            <span className="truncate">name for {model.target}</span>
          </Badge>
        </span>
      )}
    </>
  );
}

function toPrice({ model }: ModelRow, unit: Unit) {
  const price = model.pricing[unit] ?? null;
  if (price === null && !isPriceMissed(model, unit)) return <Absent />;
  return (
    <span className="inline-flex flex-col items-end">
      <Cost value={price} />
      {unit === "input_tokens" && model.pricing_inherited && (
        <span
          className="text-xs text-ink-faint"
          title={`A price of this model is kept under another name${model.target === null ? "" : `: ${model.target}`}`}
        >
          inherited
        </span>
      )}
    </span>
  );
}

/** Every model with its route; prices and listing are changed in place, everything else in a panel. */
function AdminModels() {
  const { change } = useListSearch();
  const models = useQuery(MODELS.list());
  const providers = useQuery(PROVIDERS.list());
  const pricing = useQuery(pricingQuery());
  const { since } = toTimeWindow({}, "30d", useMinute());
  const summary = useQuery(teamSummaryQuery({ since }));
  // Filled in from the box that resolves a name.
  const [begin, setBegin] = useState<Partial<ModelForm> | null>(null);
  const { failure, savePrice, hide } = useInlineChanges();
  const toCell = useCallback(
    (row: EditableRow, unit: Unit) => <PriceCell row={row} unit={unit} onSave={savePrice} />,
    [savePrice],
  );
  const more = useMemo(() => toEditColumns(hide), [hide]);

  const allModels = models.data?.rows ?? NONE;
  const allProviders = providers.data?.rows ?? NONE;
  const kept = pricing.data;
  const usage = summary.data?.usage;
  const isPending = models.isPending || pricing.isPending;
  const rows = useMemo(
    () => toEditableRows({ models: allModels, providers: allProviders, pricing: kept, usage }),
    [allModels, allProviders, kept, usage],
  );
  return (
    <ModelsList
      lead="Every name that callers can ask for, in dollars per million units. A price with a link is inherited."
      actions={
        <>
          {!isPending && <ListOffer models={allModels} kept={kept?.entries ?? NONE} />}
          <Link to="/models/repricing" search={{ plan: "1" }} className={buttonClass()}>
            Re-price…
          </Link>
        </>
      }
      asked={[models, providers, pricing]}
      rows={isPending || models.data === undefined ? undefined : rows}
      total={models.data?.total}
      busy={isPending}
      providers={allProviders}
      name={toRoute}
      price={toCell}
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

function toRoute({ model, isProviderDisabled }: EditableRow) {
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
