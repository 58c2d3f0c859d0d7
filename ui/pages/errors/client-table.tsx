import { useMemo } from "react";
import { Absent } from "../../components/empty.tsx";
import { agoColumn, countColumn, shareColumn, type Column } from "../../components/column.ts";
import { DataTable } from "../../components/table.tsx";
import type { ClientRow } from "./client-rows.ts";

export interface ClientTableProps {
  readonly rows: readonly ClientRow[];
  /** What `count` counts, as a header. */
  readonly countLabel: string;
  readonly onOpen: (row: ClientRow) => void;
  /** Null where no filter tells the requests. */
  readonly toHref: (row: ClientRow) => string | null;
}

/** Who ran into the failures; a row leads to its requests. */
export function ClientTable({ rows, countLabel, onOpen, toHref }: ClientTableProps) {
  const columns = useMemo(() => toColumns(countLabel), [countLabel]);
  return (
    <DataTable
      caption="Errors by client"
      columns={columns}
      rows={rows}
      getRowId={toId}
      sort={{ id: "count", descending: true }}
      stickyHeader
      hasFixedColumns
      className="max-h-[34rem]"
      onRowActivate={onOpen}
      rowHref={toHref}
      rowLabel={({ client }) => `Requests of ${client ?? "clients without a name"}`}
      empty={null}
    />
  );
}

function toColumns(countLabel: string): readonly Column<ClientRow>[] {
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
    countColumn({
      id: "count",
      header: countLabel,
      width: "w-36",
      value: ({ count }) => count,
    }),
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
    agoColumn({
      id: "last-seen",
      header: "Last seen",
      align: "end",
      width: "w-26",
      value: ({ lastSeen }) => lastSeen,
    }),
  ];
}

/** No User-Agent is an empty text. */
function toId({ client }: ClientRow): string {
  return client ?? "";
}
