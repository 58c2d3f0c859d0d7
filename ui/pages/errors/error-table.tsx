import { agoColumn, countColumn, shareColumn, type Column } from "../../components/column.ts";
import { DataTable } from "../../components/table.tsx";
import { Duration } from "../../components/instant.tsx";
import { OutcomeBadge } from "../../components/outcome.tsx";
import type { ErrorRow } from "./error-rows.ts";
import { toFailureText } from "./error-rows.ts";
import { toKindHelp } from "./kind-help.ts";
import { toKindName } from "./kind-rows.ts";

export interface ErrorTableProps {
  readonly rows: readonly ErrorRow[];
  readonly onOpen: (row: ErrorRow) => void;
  readonly toHref: (row: ErrorRow) => string;
}

/** Each way in which the requests of a route failed; a row leads to its requests. */
export function ErrorTable({ rows, onOpen, toHref }: ErrorTableProps) {
  return (
    <DataTable
      caption="Errors by route"
      columns={COLUMNS}
      rows={rows}
      getRowId={toId}
      sort={{ id: "requests", descending: true }}
      stickyHeader
      hasFixedColumns
      className="max-h-[34rem]"
      onRowActivate={onOpen}
      rowLabel={toLabel}
      rowHref={toHref}
      empty={null}
    />
  );
}

const COLUMNS: readonly Column<ErrorRow>[] = [
  {
    id: "kind",
    header: "Kind",
    rowHeader: true,
    width: "w-48",
    sortValue: toKindName,
    cell: (row) => {
      const { meaning, advice } = toKindHelp(row);
      return (
        <code
          className="font-mono text-xs"
          title={`${toKindName(row)}: ${meaning} ${toFailureText(row.failures)} ${advice}`}
        >
          {toKindName(row)}
        </code>
      );
    },
  },
  {
    id: "outcome",
    header: "Outcome",
    headerTitle: "Outcome and HTTP status",
    width: "w-46",
    sortValue: ({ outcome, statusCode }) => `${outcome} ${statusCode}`,
    cell: ({ outcome, statusCode }) => <OutcomeBadge outcome={outcome} statusCode={statusCode} />,
  },
  {
    id: "route",
    header: "Model",
    headerTitle: "Model, provider and endpoint",
    width: "w-58",
    sortValue: ({ model, provider }) => `${model ?? ""} ${provider}`,
    cell: ({ model, provider, endpoints }) => (
      <span title={`${model ?? "Any model"} · ${provider} · ${endpoints.join(", ")}`}>
        {model ?? <span className="text-ink-soft">any model</span>}
        <span className="text-xs text-ink-faint">
          {" "}
          · {provider} · {endpoints.join(", ")}
        </span>
      </span>
    ),
  },
  countColumn({
    id: "requests",
    header: "Requests",
    width: "w-24",
    value: ({ requests }) => requests,
  }),
  shareColumn({
    id: "share",
    header: "Share",
    headerTitle: "Of the requests to the same provider and model",
    width: "w-18",
    value: ({ share }) => share,
  }),
  {
    id: "duration",
    header: "Took",
    headerTitle: "Average time to the outcome",
    align: "end",
    width: "w-20",
    sortValue: ({ averageDurationMs }) => averageDurationMs,
    cell: ({ averageDurationMs }) => <Duration durationMs={averageDurationMs} />,
  },
  agoColumn({
    id: "last-seen",
    header: "Last seen",
    align: "end",
    width: "w-26",
    value: ({ lastSeen }) => lastSeen,
  }),
];

function toId({ id }: ErrorRow): string {
  return id;
}

function toLabel(row: ErrorRow): string {
  return `Requests to ${row.model ?? "any model"} at ${row.provider} that ended with ${toKindName(row)}`;
}
