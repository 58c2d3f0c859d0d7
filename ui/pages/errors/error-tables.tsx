import { useMemo } from "react";
import { agoColumn, type Column, countColumn, shareColumn } from "../../components/column.ts";
import { Absent } from "../../components/empty.tsx";
import { Duration } from "../../components/instant.tsx";
import { OutcomeBadge } from "../../components/outcome.tsx";
import { DataTable } from "../../components/table.tsx";
import { type ClientRow, type ErrorRow, toFailureText, toKindName } from "./error-rows.ts";
import { toKindHelp } from "./kind-help.ts";

interface ErrorTableProps<Row> {
  readonly rows: readonly Row[];
  readonly onOpen: (row: Row) => void;
  /** Null where no filter tells the requests. */
  readonly toHref: (row: Row) => string | null;
}

/** Both tables are alike: they scroll within, and a row leads to its requests. */
const LOOK = { stickyHeader: true, hasFixedColumns: true, className: "max-h-[34rem]", empty: null } as const;

/** Each way in which the requests of a route failed. */
export function ErrorTable({ rows, onOpen, toHref }: ErrorTableProps<ErrorRow>) {
  return (
    <DataTable
      {...LOOK}
      caption="Errors by route"
      columns={COLUMNS}
      rows={rows}
      getRowId={toRowId}
      sort={{ id: "requests", descending: true }}
      onRowActivate={onOpen}
      rowHref={toHref}
      rowLabel={(row) =>
        `Requests to ${row.model ?? "any model"} at ${row.provider} that ended with ${toKindName(row)}`
      }
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
  countColumn({ id: "requests", header: "Requests", width: "w-24", value: ({ requests }) => requests }),
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
  toLastSeenColumn(),
];

interface ClientTableProps extends ErrorTableProps<ClientRow> {
  /** What `count` counts, as a header. */
  readonly countLabel: string;
}

/** Who ran into the failures. */
export function ClientTable({ rows, countLabel, onOpen, toHref }: ClientTableProps) {
  const columns = useMemo(() => toClientColumns(countLabel), [countLabel]);
  return (
    <DataTable
      {...LOOK}
      caption="Errors by client"
      columns={columns}
      rows={rows}
      getRowId={toClientId}
      sort={{ id: "count", descending: true }}
      onRowActivate={onOpen}
      rowHref={toHref}
      rowLabel={({ client }) => `Requests of ${client ?? "clients without a name"}`}
    />
  );
}

function toClientColumns(countLabel: string): readonly Column<ClientRow>[] {
  return [
    {
      id: "client",
      header: "Client",
      headerTitle: "The beginning of the User-Agent",
      rowHeader: true,
      width: "w-76",
      sortValue: ({ client }) => client,
      cell: ({ client }) =>
        client === null ? (
          <span className="text-ink-faint">without a User-Agent</span>
        ) : (
          <span title={client}>{client}</span>
        ),
    },
    countColumn({
      id: "requests",
      header: "Requests",
      headerTitle: "All outcomes",
      width: "w-24",
      value: ({ requests }) => requests,
    }),
    countColumn({ id: "count", header: countLabel, width: "w-36", value: ({ count }) => count }),
    shareColumn({
      id: "share",
      header: "Share",
      headerTitle: "Share of the requests of this client",
      width: "w-18",
      value: ({ share }) => share,
    }),
    {
      id: "kind",
      header: "Most often",
      headerTitle: "The most frequent kind of error",
      width: "w-52",
      sortValue: ({ topKind }) => topKind,
      cell: ({ topKind }) =>
        topKind === null ? (
          <Absent />
        ) : (
          <code className="font-mono text-xs" title={topKind}>
            {topKind}
          </code>
        ),
    },
    toLastSeenColumn(),
  ];
}

function toLastSeenColumn<Row extends { readonly lastSeen: string }>(): Column<Row> {
  return agoColumn({
    id: "last-seen",
    header: "Last seen",
    align: "end",
    width: "w-26",
    value: ({ lastSeen }) => lastSeen,
  });
}

function toRowId({ id }: ErrorRow): string {
  return id;
}

/** No User-Agent is an empty text. */
function toClientId({ client }: ClientRow): string {
  return client ?? "";
}
