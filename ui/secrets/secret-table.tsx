import { useMemo, type ReactNode } from "react";
import { Instant } from "../components/instant.tsx";
import type { Column } from "../components/column.ts";
import { LateVirtualBody } from "../components/late-virtual-body.tsx";
import { DataTable, ROWS_DRAWN_MAX } from "../components/table.tsx";

/** A key or a relay token, as lists show it. */
export interface SecretRow {
  readonly id: string;
  readonly label: string;
  /** The last four characters of the plaintext. */
  readonly suffix: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  /** The owner's name, in lists of everybody's. */
  readonly owner?: string | undefined;
}

/** What it is called in a sentence: its label, else its last characters. */
export function toSecretName({ label, suffix }: SecretRow): string {
  return label === "" ? `***${suffix}` : label;
}

export interface SecretTableProps {
  readonly caption: string;
  readonly rows: readonly SecretRow[];
  readonly busy: boolean;
  readonly empty: ReactNode;
  /** The buttons of a row. */
  readonly actions: (row: SecretRow) => ReactNode;
  readonly showOwner?: boolean | undefined;
  /** For a panel: the last characters stand under the label, and days for instants. */
  readonly compact?: boolean | undefined;
}

/** Labels, last characters and last uses; never a secret. */
export function SecretTable(props: SecretTableProps) {
  const { caption, rows, busy, empty, actions, showOwner = false, compact = false } = props;
  const columns = useMemo(
    () => (compact ? toCompactColumns(actions) : toColumns(actions, showOwner)),
    [actions, showOwner, compact],
  );
  return (
    <DataTable
      caption={caption}
      columns={columns}
      hasFixedColumns
      rows={rows}
      getRowId={toId}
      sort={{ id: "created", descending: true }}
      busy={busy}
      skeletonRows={3}
      body={rows.length > ROWS_DRAWN_MAX ? LateVirtualBody : undefined}
      empty={empty}
    />
  );
}

function toColumns(actions: (row: SecretRow) => ReactNode, showOwner: boolean): readonly Column<SecretRow>[] {
  return [
    LABEL,
    ...(showOwner ? [OWNER] : []),
    SUFFIX,
    CREATED,
    USED,
    { id: "actions", header: "Actions", headerHidden: true, width: "w-40", align: "end", cell: actions },
  ];
}

function toCompactColumns(actions: (row: SecretRow) => ReactNode): readonly Column<SecretRow>[] {
  return [
    {
      ...LABEL,
      width: "w-40",
      cell: (row) => (
        <>
          <Label row={row} />
          <code className="block font-mono text-xs text-ink-soft">***{row.suffix}</code>
        </>
      ),
    },
    { ...CREATED, width: "w-28", cell: ({ createdAt }) => <Instant value={createdAt} format="date" /> },
    { ...USED, width: "w-28" },
    { id: "actions", header: "Actions", headerHidden: true, width: "w-14", align: "end", cell: actions },
  ];
}

const LABEL: Column<SecretRow> = {
  id: "label",
  header: "Label",
  rowHeader: true,
  wrap: true,
  width: "w-64",
  sortValue: ({ label }) => label,
  cell: (row) => <Label row={row} />,
};
const OWNER: Column<SecretRow> = {
  id: "owner",
  header: "Owner",
  width: "w-48",
  sortValue: ({ owner }) => owner ?? null,
  cell: ({ owner }) => owner,
};
const SUFFIX: Column<SecretRow> = {
  id: "suffix",
  header: "Ends with",
  width: "w-28",
  cell: ({ suffix }) => <code className="font-mono text-xs">***{suffix}</code>,
};
const CREATED: Column<SecretRow> = {
  id: "created",
  header: "Created",
  width: "w-48",
  sortValue: ({ createdAt }) => createdAt,
  descendingFirst: true,
  cell: ({ createdAt }) => <Instant value={createdAt} format="minute" />,
};
const USED: Column<SecretRow> = {
  id: "used",
  header: "Last used",
  headerTitle: "Noted at most once a minute",
  width: "w-32",
  sortValue: ({ lastUsedAt }) => lastUsedAt,
  descendingFirst: true,
  cell: ({ lastUsedAt }) => <Instant value={lastUsedAt} format="relative" />,
};

function Label({ row }: { readonly row: SecretRow }) {
  return row.label === "" ? <span className="font-normal text-ink-faint">no label</span> : row.label;
}

function toId({ id }: SecretRow): string {
  return id;
}
