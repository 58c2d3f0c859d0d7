import { useQuery } from "@tanstack/react-query";
import { isUnderWay, repricingsQuery, type RepricingRow } from "../../api/repricing.ts";
import { Button } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { agoColumn, type Column } from "../../components/column.ts";
import { Absent } from "../../components/empty.tsx";
import { ListPage, useListSearch } from "../../lists/list-page.tsx";
import { readRepricingSearch } from "../../search/pages.ts";
import { formatCount } from "../../text/format.ts";
import { Difference, UnpricedChange } from "./repricing/change-table.tsx";
import { PlanDialog } from "./repricing/plan-dialog.tsx";
import { NO_PLAN } from "./repricing/plan-form.ts";
import { RepricingDialog, toTitle, toWindowWords } from "./repricing/repricing-dialog.tsx";
import { RepricingProgress, StateBadge } from "./repricing/repricing-progress.tsx";
import { ModelSections } from "./sections.tsx";

/** Recorded requests at prices that were learned late: plans, and what became of them. */
export function RepricingPage() {
  const { search, change } = useListSearch();
  const repricings = useQuery(repricingsQuery());
  const rows = repricings.data?.rows;
  const running = rows?.find(isUnderWay);
  return (
    <ListPage
      title="Models"
      lead="Gives recorded requests the prices of today or of their time. It is planned first, and can be taken back."
      sections={<ModelSections />}
      noun="re-pricing"
      caption="Re-pricings"
      asked={[repricings]}
      rows={rows}
      total={repricings.data?.total}
      columns={COLUMNS}
      getRowId={({ id }) => id}
      rowLabel={(row) => `Details of ${toTitle(row)}`}
      sort={{ id: "created", descending: true }}
      find={{ label: "Find a re-pricing", placeholder: "Model", matches: matchesModel }}
      above={
        running !== undefined && (
          <Card
            title="Under way"
            lead={toTitle(running)}
            actions={
              <Button size="sm" onClick={() => change({ open: running.id })}>
                Show
              </Button>
            }
            className="mb-6"
          >
            <RepricingProgress repricing={running} />
          </Card>
        )
      }
      none={{
        icon: "pricing",
        title: "Nothing was re-priced yet",
        body: "When a price is set late, the requests of before keep what they were recorded with, until you re-price them.",
      }}
      create={{
        label: "Re-price…",
        first: "Re-price…",
        isAsked: search.plan === "1",
        dialog: (close) => (
          <PlanDialog
            asked={readRepricingSearch(search)}
            onClose={() => close(NO_PLAN)}
            onPlanned={(id) => close({ ...NO_PLAN, open: id })}
          />
        ),
      }}
      panel={(row, close) => (
        <RepricingDialog
          key={row.id}
          row={row}
          onClose={() => void close()}
          onPlanAgain={() =>
            change({
              open: undefined,
              plan: "1",
              of: row.models,
              since: row.since ?? undefined,
              until: row.until ?? undefined,
              unpriced: row.unpriced_only ? "1" : undefined,
              at: row.prices,
            })
          }
        />
      )}
    />
  );
}

function matchesModel({ models }: RepricingRow, text: string): boolean {
  return models.some((model) => model.toLowerCase().includes(text));
}

function Names({ models }: Pick<RepricingRow, "models">) {
  const names = models.length === 0 ? "every model" : models.join(", ");
  return (
    <span className="block min-w-0 truncate font-medium" title={names}>
      {names}
    </span>
  );
}

const COLUMNS: readonly Column<RepricingRow>[] = [
  {
    id: "models",
    header: "Models",
    rowHeader: true,
    width: "w-38",
    sortValue: ({ models }) => models.join(),
    cell: ({ models }) => <Names models={models} />,
  },
  {
    id: "state",
    header: "State",
    width: "w-24",
    sortValue: ({ state }) => state,
    cell: (row) => <StateBadge repricing={row} />,
  },
  {
    id: "window",
    header: "Window",
    width: "w-32",
    sortValue: ({ since }) => since ?? "",
    cell: ({ since, until, unpriced_only: isUnpricedOnly }) => (
      <span className="flex min-w-0 flex-col">
        <span className="truncate">{toWindowWords(since, until)}</span>
        {isUnpricedOnly && <span className="text-xs text-ink-faint">without a price for something</span>}
      </span>
    ),
  },
  {
    id: "requests",
    header: "Requests",
    headerTitle: "Requests that it changes",
    width: "w-22",
    align: "end",
    sortValue: ({ total }) => total?.requests ?? null,
    cell: ({ total }) => (total === null ? <Absent /> : formatCount(total.requests)),
  },
  {
    id: "difference",
    header: "Difference",
    width: "w-24",
    align: "end",
    amount: ({ total }) => total?.difference ?? null,
    sortValue: ({ total }) => total?.difference ?? null,
    cell: ({ total }) => (total === null ? <Absent /> : <Difference value={total.difference} />),
  },
  {
    id: "unpriced",
    header: "Unpriced",
    headerTitle: "Requests without a price for something, before and after",
    width: "w-19",
    align: "end",
    cell: ({ total }) =>
      total === null ? (
        <Absent />
      ) : (
        <UnpricedChange before={total.unpriced_before} after={total.unpriced_after} />
      ),
  },
  agoColumn({ id: "created", header: "Planned", width: "w-20", value: ({ created_at: at }) => at }),
];
