import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { type Limit, LIMITS } from "../api/limits.ts";
import { PRINCIPALS } from "../api/people.ts";
import { Button } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { type Column, countColumn } from "../components/column.ts";
import { useToast } from "../components/toast.tsx";
import { PaceText, Resets } from "../limits/limit-view.tsx";
import { type NameSecret, toAmountWords, toHeldWords, toWhomWords } from "../limits/limit-words.ts";
import { PACE_RULE } from "../limits/pace.ts";
import { useSecretNames } from "../limits/secret-names.ts";
import { ListPage, RowList, useListSearch } from "../lists/list-page.tsx";
import { toBudgetColumns, toShare, Used, whomColumn } from "./limits/budget-columns.tsx";
import {
  type BudgetRow,
  isBudget,
  isIdle,
  spendByPersonQuery,
  toBudgetRows,
  useMonth,
} from "./limits/budgets.ts";
import { CreateLimit } from "./limits/limit-fields.tsx";
import { type LimitForm, RECIPES } from "./limits/limit-form.ts";
import { LimitPanel, nameUse, PersonBudget } from "./limits/limit-panel.tsx";

/** Monthly budgets by person, and every other limit beneath; the closest to its amount first. */
export function LimitsPage() {
  const { search, change } = useListSearch();
  const { notify } = useToast();
  const month = useMonth();
  const limits = useQuery(LIMITS.list());
  const people = useQuery(PRINCIPALS.list());
  const now = useQuery(spendByPersonQuery(month.since));
  const before = useQuery(spendByPersonQuery(month.beforeSince, month.since));
  const [begin, setBegin] = useState<Partial<LimitForm> | null>(null);
  const [made, setMade] = useState<string | null>(null);
  const [isWhole, setWhole] = useState(false);
  const all = limits.data?.rows;
  const names = useSecretNames({
    keys: all?.some(({ subject, each }) => subject.key !== undefined || each === "key") === true,
    relayTokens: all?.some(({ subject }) => subject.relay_token !== undefined) === true,
  });
  const { name: nameSecret } = names;
  const asked = [limits, people, now, before] as const;
  const isPending = asked.some((one) => one.isPending);
  const rows = useMemo(() => {
    if (isPending || all === undefined || people.data === undefined) return undefined;
    const budgets = toBudgetRows({
      limits: all,
      people: people.data.rows,
      now: now.data?.rows ?? [],
      before: before.data?.rows ?? [],
      allBefore: before.data?.total ?? null,
      nameSecret,
    });
    return [
      ...budgets,
      ...all.filter((limit) => !isBudget(limit)).map((limit) => toOtherRow(limit, nameSecret)),
    ];
  }, [isPending, all, people.data, now.data, before.data, nameSecret]);
  const idleCount = rows?.filter(isIdle).length ?? 0;
  const hidesIdle = !isWhole && (rows?.length ?? 0) > ROWS_WITH_IDLE_MAX;
  const table = useMemo(() => ({ month, names, made, onMade: setMade }), [month, names, made]);
  const columns = useMemo(() => toBudgetColumns(table), [table]);
  const otherColumns = useMemo(() => toColumns(nameSecret), [nameSecret]);
  const matches = useCallback(
    (row: BudgetRow, text: string) =>
      (row.limit === null || isBudget(row.limit)) &&
      (text !== "" || !hidesIdle || !isIdle(row)) &&
      toText(row).includes(text),
    [hidesIdle],
  );
  const wanted = (search.q ?? "").trim().toLowerCase();
  const others = useMemo(
    () =>
      rows?.flatMap((row) =>
        row.limit !== null && !isBudget(row.limit) && toText(row).includes(wanted) ? row.limit : [],
      ) ?? NONE,
    [rows, wanted],
  );
  const isFound = others.length === 0 || wanted === "" || rows?.some((row) => matches(row, wanted)) === true;
  return (
    <ListPage
      title="Budgets & limits"
      lead="Use is counted from recorded requests."
      noun="limit"
      caption="Monthly budgets"
      asked={asked}
      rows={rows}
      total={rows?.length}
      busy={isPending}
      columns={columns}
      getRowId={toRowId}
      rowLabel={toRowLabel}
      sort={{ id: "used", descending: true }}
      find={{ label: "Find a limit", placeholder: "Name, person, tag or model", matches }}
      none={{ icon: "limit", title: "No budgets yet" }}
      create={{
        label: "New limit",
        isAsked: search.budget !== undefined || begin !== null,
        dialog: (close) => (
          <CreateLimit
            begin={begin ?? toPersonBegin(search.budget)}
            onClose={() => {
              setBegin(null);
              close({ budget: undefined });
            }}
            onSaved={(limit, isNew) => {
              notify({
                title: `${limit.name} ${isNew ? "created" : "saved"}`,
                body: toHeldWords(limit),
                tone: "good",
              });
              setBegin(null);
              close({ budget: undefined, open: limit.id });
            }}
          />
        ),
      }}
      panel={({ limit, whom }, close) =>
        limit === null ? (
          <PersonBudget key={whom} name={whom} onClose={close} />
        ) : (
          <LimitPanel key={limit.id} limit={limit} nameSecret={nameSecret} onClose={close} />
        )
      }
      around={(list) => (
        <>
          {isFound && (
            <Part
              title={`Budgets of ${formatMonth.format(new Date(month.since))}`}
              lead={`At this pace: ${PACE_RULE.toLowerCase()}. The month is UTC.`}
              actions={RECIPES.slice(0, 2).map(({ label, form }) => (
                <Button key={label} size="sm" icon="plus" onClick={() => setBegin(form)}>
                  {label}
                </Button>
              ))}
            >
              {list}
              {hidesIdle && idleCount > 0 && wanted === "" && (
                <Button size="sm" className="mt-3" onClick={() => setWhole(true)}>
                  Show {idleCount} more without a budget or spend
                </Button>
              )}
            </Part>
          )}
          {others.length > 0 && (
            <Part title="Other limits">
              <Card flush>
                <RowList
                  caption="Other limits"
                  rows={others}
                  busy={false}
                  columns={otherColumns}
                  getRowId={({ id }) => id}
                  rowLabel={({ name }) => `Details of ${name}`}
                  sort={OTHERS_SORT}
                  onRowActivate={({ id }) => change({ open: id })}
                  activeRowId={search.open ?? null}
                  empty={null}
                />
              </Card>
            </Part>
          )}
        </>
      )}
    />
  );
}

/** People without a budget or spend are shown on demand where there are more rows. */
const ROWS_WITH_IDLE_MAX = 25;
const NONE: readonly never[] = [];
const OTHERS_SORT = { id: "used", descending: true };
const formatMonth = new Intl.DateTimeFormat("en-US", { month: "long", year: "numeric", timeZone: "UTC" });

function toPersonBegin(person: string | undefined): Partial<LimitForm> {
  return person === undefined ? {} : { who: "principal", principal: person };
}

function toRowId({ id }: BudgetRow): string {
  return id;
}

function toRowLabel({ limit, whom }: BudgetRow): string {
  return `Details of ${limit?.name ?? whom}`;
}

function toText({ limit, whom }: BudgetRow): string {
  return (limit === null ? whom : `${limit.name}\n${whom}\n${toAmountWords(limit)}`).toLowerCase();
}

interface PartProps {
  readonly title: string;
  readonly lead?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** One of the two tables under its heading. No landmark: the table is one. */
function Part({ title, lead, actions, children }: PartProps) {
  return (
    <section className="mb-8">
      <header className="mb-3 flex flex-wrap items-end justify-between gap-x-6 gap-y-2">
        <div>
          <h2 className="font-semibold">{title}</h2>
          {lead !== undefined && <p className="text-xs text-ink-soft">{lead}</p>}
        </div>
        <div className="flex flex-wrap gap-2">{actions}</div>
      </header>
      {children}
    </section>
  );
}

/** A limit that is no monthly budget, for the search and the panel. */
function toOtherRow(limit: Limit, nameSecret: NameSecret): BudgetRow {
  const whom = toWhomWords(limit, nameSecret);
  return { id: limit.id, whom, person: null, limit, budget: limit, spent: null, before: null };
}

function toColumns(nameSecret: NameSecret): readonly Column<Limit>[] {
  return [
    whomColumn((limit) => ({ whom: toWhomWords(limit, nameSecret), name: limit.name })),
    {
      id: "limit",
      header: "Limit",
      width: "w-44",
      cell: (limit) => <span title={toAmountWords(limit)}>{toAmountWords(limit)}</span>,
    },
    {
      id: "used",
      header: "Used",
      headerTitle: "In the current window. A limit for each of several shows the highest use.",
      width: "w-40",
      descendingFirst: true,
      sortValue: toShare,
      cell: (limit) => (
        <Used limit={limit} of={limit.each === undefined ? undefined : toClosest(limit, nameSecret)} />
      ),
    },
    {
      id: "pace",
      header: "At this pace",
      headerTitle: PACE_RULE,
      width: "w-38",
      cell: (limit) => (
        <>
          {limit.resets_at !== null && <PaceText limit={limit} />}
          <span className="block text-xs text-ink-soft">
            {limit.resets_at !== null && "resets "}
            <Resets limit={limit} />
          </span>
        </>
      ),
    },
    countColumn({
      id: "refused",
      header: "Refused",
      headerTitle: "Requests since the server started",
      width: "w-20",
      value: ({ refused }) => refused,
    }),
  ];
}

/** Whose use is shown for a limit for each of several. */
function toClosest({ top }: Limit, nameSecret: NameSecret): string {
  const [first] = top ?? [];
  return first === undefined ? "no one" : nameUse(first, nameSecret);
}
