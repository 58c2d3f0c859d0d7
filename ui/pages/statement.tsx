import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo } from "react";
import { type Statement, statementQuery } from "../api/reports.ts";
import { useMe } from "../api/session.ts";
import { Button, buttonClass } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { type Column, costColumn, countColumn, textColumn } from "../components/column.ts";
import { CopyButton } from "../components/copy.tsx";
import { Cost } from "../components/cost.tsx";
import { EmptyState } from "../components/empty.tsx";
import { PageHead } from "../components/page-head.tsx";
import { SelectField } from "../components/select-field.tsx";
import { TableSkeleton } from "../components/skeleton.tsx";
import { DataTable } from "../components/table.tsx";
import { AnswerView, isSettled } from "../reports/answer.tsx";
import { CsvButton, CsvStatus, useCsvExport } from "../reports/csv-export.tsx";
import { useMinute } from "../search/now.ts";
import { readStatementSearch } from "../search/pages.ts";
import { formatCount } from "../text/format.ts";
import { Changes } from "./statement/changes.tsx";
import { PART_WORDS } from "./statement/figures.tsx";
import { findSeen, keepSeen, toRowId, toSeen } from "./statement/seen.ts";

/** The account of a month: on the screen, as CSV, and on paper. */
export function StatementPage() {
  const { name = "", role } = useMe();
  const isAdmin = role === "admin";
  const now = toMonth(useMinute());
  const { month = now } = readStatementSearch(useSearch({ strict: false }));
  const asked = useQuery(statementQuery(month));
  const { data, error, refetch } = asked;
  const csv = useCsvExport({
    path: "/stats/statement",
    query: { month },
    filename: `lockport-statement_${month}_UTC.csv`,
  });
  const isThere = isSettled(asked);
  // The one before is kept as it was: an answer that comes later changes what is shown, and not what it is compared with.
  const seen = useMemo(() => findSeen({ name, isAdmin }, month), [name, isAdmin, month]);
  useEffect(() => {
    if (isThere && data !== undefined) keepSeen({ name, isAdmin }, month, toSeen(data, data.at));
  }, [isThere, data, name, isAdmin, month]);
  const whose = isAdmin ? "the whole team" : name;
  return (
    <Sheet month={month} whose={whose} statement={data}>
      <div className="print:hidden">
        <PageHead
          title="Statement"
          lead={`One month of ${isAdmin ? "the whole team" : "your own use"}, UTC, by person, key and tag. Two people who see the same hash see the same month.`}
          actions={
            <>
              <MonthField month={month} now={now} />
              <CsvButton state={csv} title="This month as CSV, with exact costs" />
              <Button onClick={() => print()} disabled={data === undefined}>
                Print
              </Button>
            </>
          }
        />
        <CsvStatus state={csv} className="mb-4" />
      </div>
      <AnswerView
        answer={{ data, isOutdated: !isThere, failure: error, retry: refetch }}
        skeleton={<TableSkeleton rows={8} />}
      >
        {(statement) => (
          <>
            <Summary statement={statement} />
            {isThere && <Changes seen={seen} statement={statement} />}
            <Parts rows={statement.rows} />
          </>
        )}
      </AnswerView>
    </Sheet>
  );
}

interface SheetProps {
  readonly month: string;
  readonly whose: string;
  readonly statement: Statement | undefined;
  readonly children: ReactNode;
}

/** On paper its head is repeated on every sheet, as that of a table is: any of them says which month it is of. */
function Sheet({ month, whose, statement, children }: SheetProps) {
  return (
    <div className="print:table print:w-full">
      <div className="sheet-head hidden print:table-header-group">
        <p className="text-base font-semibold">
          Statement of {formatMonth(month)} (UTC), {whose}
        </p>
        <p className="pb-3 font-mono text-xs">{statement?.hash}</p>
      </div>
      <div className="print:table-row-group">{children}</div>
    </div>
  );
}

const MONTHS_OFFERED = 24;

/** Earlier months are reached by the address. */
function MonthField({ month, now }: { readonly month: string; readonly now: string }) {
  const navigate = useNavigate();
  const months = useMemo(() => {
    const [year = 0, number = 1] = now.split("-").map(Number);
    const last = Array.from({ length: MONTHS_OFFERED }, (_, back) =>
      toMonth(Date.UTC(year, number - 1 - back)),
    );
    return last.includes(month) ? last : [month, ...last];
  }, [month, now]);
  return (
    <div className="w-44">
      <SelectField
        label="Month"
        labelHidden
        options={months.map((value) => ({ value, label: formatMonth(value) }))}
        value={month}
        onValueChange={(next) =>
          void navigate({ to: ".", search: { month: next === now ? undefined : next } })
        }
      />
    </div>
  );
}

function toMonth(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}

const MONTH_FORMAT = new Intl.DateTimeFormat("en-US", { month: "long", year: "numeric", timeZone: "UTC" });

function formatMonth(month: string): string {
  return MONTH_FORMAT.format(new Date(`${month}-01`));
}

function Summary({ statement: { hash, total, rows } }: { readonly statement: Statement }) {
  const figures: readonly (readonly [string, ReactNode])[] = [
    [
      "Cost",
      <Cost key="cost" value={total.cost} unpriced={total.unpriced_requests > 0} used={total.requests > 0} />,
    ],
    ["Requests", formatCount(total.requests)],
    ["Unpriced requests", formatCount(total.unpriced_requests)],
    ["Unknown requests", formatCount(total.unmetered_requests)],
  ];
  return (
    <Card className="mb-4">
      <dl className="grid grid-cols-2 gap-4 lg:grid-cols-4 print:grid-cols-4">
        {figures.map(([label, value]) => (
          <div key={label}>
            <dt className="text-xs text-ink-soft">{label}</dt>
            <dd className="mt-0.5 text-lg font-semibold tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
      <div className="mt-4 flex min-w-0 flex-wrap items-center gap-2 border-t border-line pt-3 print:hidden">
        <span className="text-xs text-ink-soft">Hash</span>
        <code className="min-w-0 font-mono text-xs break-all">{hash}</code>
        <CopyButton text={hash} label="Copy hash" iconOnly />
      </div>
      {rows.length > 0 && (
        <p className="mt-2 text-xs text-ink-soft">
          Unpriced requests used something that has no price: their cost is not $0 and not in the sum. Unknown
          ones ended without their usage.
        </p>
      )}
    </Card>
  );
}

type Row = Statement["rows"][number];

/** More are slow to draw; the CSV has all. */
const ROWS_SHOWN_MAX = 2_000;

function Parts({ rows }: { readonly rows: readonly Row[] }) {
  if (rows.length === 0)
    return (
      <EmptyState
        icon="statement"
        title="Nothing was used in this month"
        action={
          <Link to="/" className={buttonClass()}>
            Overview
          </Link>
        }
      />
    );
  return PARTS.map(({ by, title, lead, columns }) => {
    const own = rows.filter((row) => row.by === by);
    if (own.length === 0) return null;
    return (
      <Card key={by} title={title} {...(lead !== undefined && { lead })} flush className="mb-4">
        <DataTable
          caption={title}
          columns={columns}
          rows={own.slice(0, ROWS_SHOWN_MAX)}
          getRowId={toRowId}
          empty={null}
        />
        {own.length > ROWS_SHOWN_MAX && (
          <p className="border-t border-line px-4 py-2 text-xs text-ink-soft">
            The first {formatCount(ROWS_SHOWN_MAX)} of {formatCount(own.length)}. The CSV has all.
          </p>
        )}
      </Card>
    );
  });
}

/** A key that is gone has its id alone. */
function toName({ value, label }: Row): string {
  return label === undefined || label === "" ? value : label;
}

function toCost({ cost, unpriced_requests: unpriced, requests, unmetered_requests: unmetered }: Row) {
  return { value: cost, unpriced: unpriced > 0, used: requests > unmetered };
}

const FIGURES: readonly Column<Row>[] = [
  countColumn({ id: "requests", header: "Requests", value: (row) => row.requests }),
  countColumn({
    id: "unpriced",
    header: "Unpriced",
    headerTitle: "Requests that used something without a price",
    value: (row) => row.unpriced_requests,
  }),
  countColumn({
    id: "unknown",
    header: "Unknown",
    headerTitle: "Requests that ended without their usage",
    value: (row) => row.unmetered_requests,
  }),
  costColumn({ id: "cost", header: "Cost", value: toCost }),
];

function toPart(by: Row["by"], title: string, lead?: string) {
  const header = PART_WORDS[by];
  const name = textColumn<Row>({ id: "name", header, rowHeader: true, width: "w-1/2", value: toName });
  return { by, title, lead, columns: [name, ...FIGURES] };
}

const PARTS = [
  toPart("principal", "By person"),
  toPart("key", "By key"),
  toPart("tag", "By tag", "A request with several tags is in a row of each; one without tags is in none."),
];
