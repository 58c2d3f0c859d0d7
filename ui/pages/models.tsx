import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { isPriceMissed } from "#catalog/missed-prices.ts";
import type { Unit } from "#kernel/units.ts";
import { listedModelsQuery } from "../api/models.ts";
import { useMe } from "../api/session.ts";
import { Badge } from "../components/chip.tsx";
import type { Column } from "../components/column.ts";
import { Cost } from "../components/cost.tsx";
import { Absent } from "../components/empty.tsx";
import { useListSearch } from "../lists/list-page.tsx";
import { AdminModels } from "./models/admin-models.tsx";
import { ModelsList } from "./models/model-list.tsx";
import { ModelPanel } from "./models/model-panel.tsx";
import { type ModelRow, toListedRows } from "./models/model-row.ts";

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
      lead="The models that you can call. Prices are in dollars per million units; a unit without a price is unpriced, which is not free."
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
  {
    id: "provider",
    header: "Provider",
    width: "w-28",
    sortValue: ({ model }) => model.provider,
    cell: ({ model }) => <span title={model.provider}>{model.provider}</span>,
  },
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
