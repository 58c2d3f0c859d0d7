import type { ReactNode } from "react";
import { Card } from "../../components/card.tsx";
import { type Column, costColumn } from "../../components/column.ts";
import { Absent } from "../../components/empty.tsx";
import { DataTable } from "../../components/table.tsx";
import type { Statement } from "../../api/reports.ts";
import { formatCounted, formatInstant } from "../../text/format.ts";
import { Change, Difference, PART_WORDS } from "./figures.tsx";
import { type ChangedRow, findChanges, type SeenStatement } from "./seen.ts";

interface ChangesProps {
  /** Null: it was not opened in this browser before. */
  readonly seen: SeenStatement | null;
  readonly statement: Statement;
}

/** What is different since the statement was opened last. */
export function Changes({ seen, statement }: ChangesProps) {
  if (seen === null)
    return <Line>First opened in this browser. What changes from now on will stand here.</Line>;
  const since = formatInstant(seen.at, "minute");
  if (seen.hash === statement.hash) return <Line>Unchanged since it was last opened, {since}.</Line>;
  const rows = findChanges(seen, statement);
  return (
    <Card
      title={`Changed since it was last opened, ${since}`}
      lead={explain(seen, statement)}
      flush
      className="mb-4"
    >
      {rows.length > 0 && (
        <DataTable caption="Changes" columns={COLUMNS} rows={rows} getRowId={toId} empty={<Absent />} />
      )}
      {seen.rows === null && (
        <p className="border-t border-line px-4 py-2 text-xs text-ink-soft">
          There were too many rows to keep: people, keys and tags are not compared.
        </p>
      )}
    </Card>
  );
}

function Line({ children }: { readonly children: ReactNode }) {
  return <p className="mb-4 text-ink-soft print:hidden">{children}</p>;
}

/** A re-pricing changes no count of requests: what it changed is told from what was added since. */
function explain(seen: SeenStatement, { total, repricings }: Statement): string {
  const added = total.requests - seen.total[0];
  const since = repricings.filter(
    ({ state, changed_at: at }) => isUnderWay(state) || (at ?? "") > seen.repricedAt,
  );
  const [last] = since;
  const priced =
    last === undefined
      ? "No re-pricing since then."
      : isUnderWay(last.state)
        ? "A re-pricing is under way: costs go on changing."
        : `${formatCounted(since.length, "re-pricing")} since then, the last ${last.state === "applied" ? "applied" : "taken back"} ${formatInstant(last.changed_at ?? seen.at, "minute")}.`;
  if (added !== 0) {
    const count = formatCounted(Math.abs(added), "request");
    return `${count} ${added > 0 ? "more" : "fewer"}. ${priced}`;
  }
  return last === undefined
    ? "The same number of requests. No re-pricing since then: more became known of requests that were recorded."
    : `The same number of requests. ${priced}`;
}

function isUnderWay(state: Statement["repricings"][number]["state"]): boolean {
  return state === "running" || state === "reverting";
}

const toId = ({ id }: ChangedRow) => id;
const NONE = [0, 0, 0, null] as const;
const toThen = ({ before }: ChangedRow) => before ?? NONE;
const toNow = ({ now }: ChangedRow) => now ?? NONE;

/** Nothing was used: that cost nothing, while what has no price has a cost that is not known. */
function toAmount(figures: ChangedRow["now"]): number | null {
  return figures === null || figures[0] === 0 ? 0 : figures[3];
}

const COLUMNS: readonly Column<ChangedRow>[] = [
  {
    id: "what",
    header: "What",
    rowHeader: true,
    wrap: true,
    cell: ({ by, name }) => (by === "total" ? name : `${PART_WORDS[by]} ${name}`),
  },
  {
    id: "requests",
    header: "Requests",
    align: "end",
    cell: (row) => <Change value={toNow(row)[0] - toThen(row)[0]} />,
  },
  {
    id: "unpriced",
    header: "Unpriced",
    align: "end",
    cell: (row) => <Change value={toNow(row)[1] - toThen(row)[1]} />,
  },
  costColumn({
    id: "before",
    header: "Cost before",
    // In the order of the statement, the total first.
    sortValue: undefined,
    value: (row) => ({ value: toThen(row)[3], used: toThen(row)[0] > 0 }),
  }),
  costColumn({
    id: "now",
    header: "Cost now",
    sortValue: undefined,
    value: (row) => ({ value: toNow(row)[3], used: toNow(row)[0] > 0 }),
  }),
  {
    id: "difference",
    header: "Difference",
    align: "end",
    cell: (row) => <Difference before={toAmount(row.before)} now={toAmount(row.now)} />,
  },
];
