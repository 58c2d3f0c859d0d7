import type { ReactNode } from "react";
import { Card } from "../../components/card.tsx";
import { agoColumn, type Column, countColumn, shareColumn } from "../../components/column.ts";
import { Absent } from "../../components/empty.tsx";
import { Duration } from "../../components/instant.tsx";
import { OutcomeBadge } from "../../components/outcome.tsx";
import { DataTable, type DataTableProps } from "../../components/table.tsx";
import type { RequestsSearch } from "../../search/pages.ts";
import type { RequestLinks } from "./error-lists.tsx";
import { type ClientRow, type ErrorRow, toFailureText, toKindName } from "./error-rows.ts";
import { toKindHelp } from "./kind-help.ts";

type RowCardProps<Row> = Omit<DataTableProps<Row>, "caption" | "empty"> & {
  readonly title: string;
  readonly lead: string;
  /** Absent: the title. */
  readonly caption?: string;
  readonly empty?: string;
  readonly links: RequestLinks;
  /** What the request log is asked for to have a row's requests; null where no filter tells them. */
  readonly toSearch: (row: Row) => RequestsSearch | null;
};

/** A table that scrolls within, and whose rows lead to their requests. */
export function RowCard<Row>({ title, lead, caption, empty, links, toSearch, ...table }: RowCardProps<Row>) {
  const toHref = (row: Row) => {
    const search = toSearch(row);
    return search === null ? null : links.toHref(search);
  };
  const open = (row: Row) => {
    const search = toSearch(row);
    if (search !== null) links.open(search);
  };
  return (
    <Card flush className="mb-4" title={title} lead={lead}>
      <DataTable
        stickyHeader
        hasFixedColumns
        className="max-h-[34rem]"
        skeletonRows={1}
        sort={null}
        {...table}
        caption={caption ?? title}
        empty={<p className="px-4 py-2.5 text-ink-soft">{empty}</p>}
        onRowActivate={open}
        rowHref={toHref}
      />
    </Card>
  );
}

/** What names a row, and what belongs to it beneath: side by side neither would have room at 1024 px. */
function TwoLines({ title, children: [name, more] }: TwoLinesProps) {
  return (
    <span title={title} className="flex min-w-0 flex-col">
      <span className="truncate">{name}</span>
      <span className="truncate">{more}</span>
    </span>
  );
}

interface TwoLinesProps {
  readonly title: string;
  readonly children: readonly [ReactNode, ReactNode];
}

/** Each way in which the requests of a route failed. */
export const ERROR_COLUMNS: readonly Column<ErrorRow>[] = [
  {
    id: "kind",
    header: "Kind",
    headerTitle: "Kind of the error, outcome and HTTP status",
    rowHeader: true,
    width: "w-48",
    sortValue: toKindName,
    cell: (row) => {
      const { meaning, advice } = toKindHelp(row);
      return (
        <TwoLines title={`${toKindName(row)}: ${meaning} ${toFailureText(row.failures)} ${advice}`}>
          <code className="font-mono text-xs">{toKindName(row)}</code>
          <OutcomeBadge outcome={row.outcome} statusCode={row.statusCode} />
        </TwoLines>
      );
    },
  },
  {
    id: "route",
    header: "Model",
    headerTitle: "Model, provider and endpoint",
    width: "w-47",
    sortValue: ({ model, provider }) => `${model ?? ""} ${provider}`,
    cell: ({ model, provider, endpoints }) => (
      <TwoLines title={`${model ?? "Any model"} · ${provider} · ${endpoints.join(", ")}`}>
        {model ?? <span className="text-ink-soft">any model</span>}
        <span className="text-xs text-ink-faint">
          {provider} · {endpoints.join(", ")}
        </span>
      </TwoLines>
    ),
  },
  countColumn({ id: "requests", header: "Requests", width: "w-22", value: ({ requests }) => requests }),
  shareColumn({
    id: "share",
    header: "Share",
    headerTitle: "Of the requests to the same provider and model",
    width: "w-17",
    value: ({ share }) => share,
  }),
  {
    id: "duration",
    header: "Took",
    headerTitle: "Average time to the outcome",
    align: "end",
    width: "w-19",
    sortValue: ({ averageDurationMs }) => averageDurationMs,
    cell: ({ averageDurationMs }) => <Duration durationMs={averageDurationMs} />,
  },
  toLastSeenColumn(),
];

/** Who ran into the failures; `countLabel` heads what `count` counts. */
export function toClientColumns(countLabel: string): readonly Column<ClientRow>[] {
  return [
    {
      id: "client",
      header: "Client",
      headerTitle: "The beginning of the User-Agent",
      rowHeader: true,
      width: "w-44",
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
      width: "w-22",
      value: ({ requests }) => requests,
    }),
    countColumn({ id: "count", header: countLabel, width: "w-33", value: ({ count }) => count }),
    shareColumn({
      id: "share",
      header: "Share",
      headerTitle: "Share of the requests of this client",
      width: "w-17",
      value: ({ share }) => share,
    }),
    {
      id: "kind",
      header: "Most often",
      headerTitle: "The most frequent kind of error",
      width: "w-37",
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
