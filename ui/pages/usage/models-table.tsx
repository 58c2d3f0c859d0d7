import { useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { toFailedShare } from "#stats/failed-share.ts";
import type { Breakdown } from "../../api/reports.ts";
import type { Column } from "../../components/column.ts";
import { Cost } from "../../components/cost.tsx";
import { Absent } from "../../components/empty.tsx";
import { EntityLink } from "../../components/entity-link.tsx";
import { Duration } from "../../components/instant.tsx";
import { useIsWide } from "../../components/room.ts";
import { DataTable } from "../../components/table.tsx";
import { toFigureColumns, toFigureSums } from "../../reports/figure-columns.tsx";
import { NO_PERCENTILES } from "../../reports/speed.ts";
import { toCost } from "../../reports/totals.ts";
import { readUsageSearch } from "../../search/pages.ts";
import type { Report } from "../../search/report.ts";
import { toSort, toSortSearch } from "../../search/sort.ts";
import { formatCountCompact, formatPercent } from "../../text/format.ts";
import { type OwnModel, toSums } from "./own-models.ts";

export interface ModelsTableProps {
  readonly rows: readonly OwnModel[];
  readonly breakdown: Pick<Breakdown, "total" | "percentiles">;
  readonly report: Report;
  readonly busy: boolean;
}

/** From this width of the window each kind of token has a column. */
const ROOMY_PX = 1400;

export function ModelsTable({ rows, breakdown, report, busy }: ModelsTableProps) {
  const { total, percentiles } = breakdown;
  const isRoomy = useIsWide(ROOMY_PX);
  const columns = useMemo(
    () => [
      ...NAMES,
      ...toFigureColumns<OwnModel>({
        toSpeed: ({ speed }) => speed,
        reason: NO_PERCENTILES[percentiles],
        isRoomy,
      }),
    ],
    [percentiles, isRoomy],
  );
  const card = useCallback((row: OwnModel) => <ModelCard row={row} />, []);
  const chosen = toSort(readUsageSearch(useSearch({ strict: false })));
  const isColumn = columns.some(({ id }) => id === chosen?.id);
  return (
    <DataTable
      caption="Your usage by model"
      columns={columns}
      rows={rows}
      getRowId={toId}
      sort={isColumn ? chosen : { id: "cost", descending: true }}
      onSort={(next) => report.change(toSortSearch(next))}
      busy={busy}
      hasFixedColumns
      card={card}
      empty={null}
      footer={{ model: "Total", ...toFigureSums(toSums(total), total) }}
    />
  );
}

const NAMES: readonly Column<OwnModel>[] = [
  {
    id: "model",
    header: "Model",
    rowHeader: true,
    width: "w-40",
    cell: (row) => <ModelName row={row} />,
    sortValue: ({ model }) => model,
  },
  {
    id: "endpoint",
    header: "Endpoint",
    headerTitle: "Where requests were answered, the most used first",
    width: "w-28",
    cell: ({ endpoints }) => <Endpoints endpoints={endpoints} />,
    sortValue: ({ endpoints }) => endpoints[0] ?? null,
  },
];

/** Relayed requests ask for an upstream name, which is no alias here. */
function ModelName({ row: { model, endpoints } }: { readonly row: OwnModel }) {
  if (model === null) return <span className="text-ink-soft">no model</span>;
  const isAlias = endpoints.some((endpoint) => !endpoint.startsWith("/"));
  return isAlias ? <EntityLink kind="model" name={model} /> : <span title={model}>{model}</span>;
}

function Endpoints({ endpoints }: Pick<OwnModel, "endpoints">) {
  const [first] = endpoints;
  if (first === undefined) return <Absent />;
  return (
    <span title={endpoints.join(", ")}>
      {first}
      {endpoints.length > 1 && <span className="text-xs text-ink-faint"> +{endpoints.length - 1}</span>}
    </span>
  );
}

/** A model in two lines, where there is no room for columns. */
function ModelCard({ row }: { readonly row: OwnModel }) {
  const failed = toFailedShare(row);
  const { p50 } = row.speed.duration_ms;
  return (
    <span className="flex min-w-0 flex-col gap-0.5">
      <span className="flex min-w-0 items-baseline justify-between gap-3">
        <span className="truncate">
          <ModelName row={row} />
        </span>
        <Cost {...toCost(row)} />
      </span>
      <span className="flex min-w-0 justify-between gap-3 text-xs font-normal text-ink-soft">
        <span className="truncate">{row.endpoints.join(", ")}</span>
        <span className="shrink-0">
          {formatCountCompact(row.requests)} requests
          {failed !== null && failed > 0 && ` · ${formatPercent(failed)} failed`}
          {p50 !== null && (
            <>
              {" · p50 "}
              <Duration durationMs={p50} />
            </>
          )}
        </span>
      </span>
    </span>
  );
}

function toId({ id }: OwnModel): string {
  return id;
}
