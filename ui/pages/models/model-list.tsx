import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import type { Provider } from "../../api/catalog.ts";
import { teamSummaryQuery } from "../../api/reports.ts";
import { toShownUnits } from "../../catalog/price-set.ts";
import { Card } from "../../components/card.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { NotLoaded } from "../../components/empty.tsx";
import { DataTable } from "../../components/table.tsx";
import { useMinute } from "../../search/now.ts";
import type { ModelsSearch } from "../../search/pages.ts";
import { toTimeWindow } from "../../search/window.ts";
import { Snippets } from "../../snippets/snippets.tsx";
import { toModelCard, toModelColumns, type ModelColumnsOptions } from "./model-columns.tsx";
import { ModelFilters } from "./model-filters.tsx";
import { matchesRow, type ModelRow, type PublicModel } from "./model-row.ts";
import { NoModels } from "./no-models.tsx";
import { toRequestCounts } from "./request-count.tsx";

/** Keep `name`, `price` and `more` at module level or in a memo: new ones are new columns. */
export interface ModelListProps<Row extends ModelRow> extends Pick<
  ModelColumnsOptions<Row>,
  "name" | "price" | "more"
> {
  /** Undefined: they could not be asked for, or not yet. */
  readonly rows: readonly Row[] | undefined;
  readonly busy: boolean;
  /** Models on the server, which may be more than `rows`; null before that is known. */
  readonly total: number | null;
  /** Offered as a filter; members have none. */
  readonly providers?: readonly Provider[] | undefined;
  readonly search: ModelsSearch;
  readonly onChange: (patch: ModelsSearch, options?: { readonly replace?: boolean }) => void;
  /** What the button of a row does, before the alias: `Details of`. */
  readonly opens: string;
  /** Stands between the filters and the table. */
  readonly notice?: ReactNode;
}

/** The list of models with its filters, for members and for administrators. */
export function ModelList<Row extends ModelRow>(props: ModelListProps<Row>): ReactNode {
  const { rows = [], search, onChange, name, price, more } = props;
  const [asked, setAsked] = useState<PublicModel | null>(null);
  const { since } = toTimeWindow({}, "30d", useMinute());
  const summary = useQuery(teamSummaryQuery({ since }));
  const counts = useMemo(
    () => toRequestCounts(summary.data, summary.error !== null),
    [summary.data, summary.error],
  );
  // As one text, which stays the same while prices are edited.
  const unitWords = toShownUnits(rows.map(({ model }) => model.pricing)).join(" ");
  const columns = useMemo(
    () =>
      toModelColumns<Row>({
        counts,
        onSnippet: setAsked,
        name,
        price,
        units: toUnits(unitWords),
        more,
      }),
    [counts, name, price, unitWords, more],
  );
  const card = useMemo(
    () => toModelCard<Row>({ onSnippet: setAsked, name, price, units: toUnits(unitWords) }),
    [name, price, unitWords],
  );
  const shown = useMemo(() => rows.filter((row) => matchesRow(row, search)), [rows, search]);
  return (
    <>
      <ModelFilters
        search={search}
        providers={props.providers}
        shown={shown.length}
        total={props.total}
        onChange={(patch) => onChange(patch, { replace: true })}
      />
      {props.notice}
      <Card flush className="overflow-hidden">
        <DataTable
          caption="Models"
          columns={columns}
          rows={props.busy && props.rows === undefined ? [] : shown}
          getRowId={toAlias}
          sort={BY_NAME}
          busy={props.busy}
          skeletonRows={12}
          hasFixedColumns
          card={card}
          onRowActivate={({ model }) => onChange({ open: model.alias })}
          rowLabel={({ model }) => `${props.opens} ${model.alias}`}
          activeRowId={search.open ?? null}
          empty={
            props.rows === undefined ? (
              <NotLoaded />
            ) : (
              <NoModels
                isFiltered={rows.length > 0}
                canShowHidden={props.providers === undefined && search.hidden !== "1"}
                hasProviders={(props.providers ?? []).length > 0}
                onChange={onChange}
              />
            )
          }
        />
      </Card>
      {asked !== null && (
        <Dialog
          open
          onOpenChange={(open) => !open && setAsked(null)}
          title={`How to call ${asked.alias}`}
          description="Put one of your own keys in LOCKPORT_KEY"
          size="lg"
        >
          <Snippets kind="openai" model={asked.alias} capabilities={asked.capabilities} />
        </Dialog>
      )}
    </>
  );
}

const BY_NAME = { id: "alias", descending: false } as const;

function toUnits(words: string) {
  return toShownUnits([Object.fromEntries(words.split(" ").map((unit) => [unit, true]))]);
}

function toAlias({ model }: ModelRow): string {
  return model.alias;
}
