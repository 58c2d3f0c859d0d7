import { useMemo } from "react";
import { Absent } from "../../components/absent.tsx";
import type { Column } from "../../components/column.ts";
import { LateVirtualBody } from "../../components/late-virtual-body.tsx";
import { DataTable, ROWS_DRAWN_MAX } from "../../components/table.tsx";
import { Instant } from "../../components/instant.tsx";
import { formatCount, formatPercent } from "../../text/format.ts";
import type { ClientRow } from "./client-rows.ts";

export interface ClientTableProps {
  readonly rows: readonly ClientRow[];
  readonly busy: boolean;
  /** What `count` counts, as a header. */
  readonly countLabel: string;
  readonly onOpen: (row: ClientRow) => void;
}

/** Who ran into the failures; a row leads to its requests. */
export function ClientTable({ rows, busy, countLabel, onOpen }: ClientTableProps) {
  const columns = useMemo(() => toColumns(countLabel), [countLabel]);
  return (
    <DataTable
      caption="Errors by client"
      columns={columns}
      rows={rows}
      getRowId={toId}
      sort={{ id: "count", descending: true }}
      busy={busy}
      body={rows.length > ROWS_DRAWN_MAX ? LateVirtualBody : undefined}
      stickyHeader
      hasFixedColumns
      className="max-h-[34rem]"
      onRowActivate={onOpen}
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
    {
      id: "requests",
      header: "Requests",
      headerTitle: "All outcomes",
      align: "end",
      width: "w-24",
      sortValue: ({ requests }) => requests,
      cell: ({ requests }) => formatCount(requests),
    },
    {
      id: "count",
      header: countLabel,
      align: "end",
      width: "w-36",
      sortValue: ({ count }) => count,
      cell: ({ count }) => formatCount(count),
    },
    {
      id: "share",
      header: "Share",
      headerTitle: "Share of the requests of this client",
      align: "end",
      width: "w-18",
      sortValue: ({ share }) => share,
      cell: ({ share }) => formatPercent(share),
    },
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
    {
      id: "last-seen",
      header: "Last seen",
      align: "end",
      width: "w-26",
      sortValue: ({ lastSeen }) => lastSeen,
      cell: ({ lastSeen }) => <Instant value={lastSeen} format="relative" />,
    },
  ];
}

/** No User-Agent is an empty text. */
function toId({ client }: ClientRow): string {
  return client ?? "";
}
