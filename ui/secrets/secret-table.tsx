import { Link } from "@tanstack/react-router";
import { useMemo, type ReactNode } from "react";
import { buttonClass, IconButton } from "../components/button.tsx";
import { Instant } from "../components/instant.tsx";
import { agoColumn, type Column } from "../components/column.ts";
import { DataTable } from "../components/table.tsx";
import { toSecretName, type SecretRow } from "./secret-row.ts";
import { SecretState } from "./secret-state.tsx";

export interface SecretTableProps {
  readonly caption: string;
  readonly rows: readonly SecretRow[];
  readonly busy: boolean;
  readonly empty: ReactNode;
  /** The buttons of a row. */
  readonly actions: (row: SecretRow) => ReactNode;
  /** Lists of all principals have an owner; in a panel the last characters stand under the label. */
  readonly layout: "own" | "all" | "panel";
}

/** Labels, last characters and last uses; never a secret. */
export function SecretTable(props: SecretTableProps) {
  const { caption, rows, busy, empty, actions, layout } = props;
  const columns = useMemo(
    () => (layout === "panel" ? toCompactColumns(actions) : toColumns(actions, layout === "all")),
    [actions, layout],
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
      empty={empty}
    />
  );
}

function toColumns(actions: (row: SecretRow) => ReactNode, showOwner: boolean): readonly Column<SecretRow>[] {
  return [
    // All columns together fit a window of 1280 pixels.
    ...(showOwner ? [{ ...LABEL, width: "w-52" }, OWNER] : [LABEL]),
    SUFFIX,
    CREATED,
    USED,
    { id: "actions", header: "Actions", headerHidden: true, width: "w-48", align: "end", cell: actions },
  ];
}

function toCompactColumns(actions: (row: SecretRow) => ReactNode): readonly Column<SecretRow>[] {
  return [
    {
      ...LABEL,
      width: "w-38",
      cell: (row) => (
        <>
          <Label row={row} />
          <code className="block font-mono text-xs text-ink-soft">***{row.suffix}</code>
        </>
      ),
    },
    { ...CREATED, width: "w-26", cell: ({ createdAt }) => <Instant value={createdAt} format="date" /> },
    { ...USED, width: "w-24" },
    { id: "actions", header: "Actions", headerHidden: true, width: "w-28", align: "end", cell: actions },
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
  width: "w-36",
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
const USED: Column<SecretRow> = agoColumn({
  id: "used",
  header: "Last used",
  headerTitle: "Noted at most once a minute",
  width: "w-32",
  value: ({ lastUsedAt }) => lastUsedAt,
});

function Label({ row }: { readonly row: SecretRow }) {
  return (
    <>
      {row.label === "" ? <span className="font-normal text-ink-faint">no label</span> : row.label}
      <SecretState row={row} />
    </>
  );
}

function toId({ id }: SecretRow): string {
  return id;
}

export interface SecretActionsProps {
  readonly row: SecretRow;
  readonly noun: string;
  readonly hasRequests: boolean;
  readonly onEdit: (row: SecretRow) => void;
  /** Null: it has no rotation. */
  readonly onRotate: ((row: SecretRow) => void) | null;
  readonly onDelete: (row: SecretRow) => void;
}

/** The buttons of a row: to its requests, to change it, to rotate it, and to delete it. */
export function SecretActions(props: SecretActionsProps) {
  const { row, noun, hasRequests, onEdit, onRotate, onDelete } = props;
  const name = toSecretName(row);
  return (
    <span className="flex items-center justify-end gap-1">
      {hasRequests && (
        <Link
          to="/requests"
          search={{ key: row.id }}
          className={buttonClass({ variant: "ghost", size: "sm" })}
        >
          Requests
        </Link>
      )}
      <IconButton label={`Edit ${noun} ${name}`} icon="edit" size="sm" onClick={() => onEdit(row)} />
      {onRotate !== null && (
        <IconButton label={`Rotate ${noun} ${name}`} icon="refresh" size="sm" onClick={() => onRotate(row)} />
      )}
      <IconButton label={`Delete ${noun} ${name}`} icon="trash" size="sm" onClick={() => onDelete(row)} />
    </span>
  );
}
