import { type ReactNode, useCallback, useMemo, useState } from "react";
import type { Change } from "../api/changing.ts";
import type { SecretUpdate } from "../api/secret-change.ts";
import { NotLoaded } from "../components/empty.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { formatCount } from "../text/format.ts";
import { DeleteSecret } from "./delete-secret.tsx";
import { type ListedSecret, type SecretKind, type SecretRow, toSecretRow } from "./secret-row.ts";
import { EditSecret } from "./edit-secret.tsx";
import { RotateKey, type RotateKeyProps } from "./rotate-key.tsx";
import { SecretActions, SecretTable, type SecretTableProps } from "./secret-table.tsx";

/** The answer to a query for secrets. */
export interface SecretsAnswer {
  readonly data: { readonly rows: readonly ListedSecret[]; readonly total: number } | undefined;
  readonly error: Error | null;
  readonly isPending: boolean;
  readonly refetch: () => unknown;
}

export interface SecretListProps extends Pick<SecretTableProps, "caption" | "layout" | "empty"> {
  readonly kind: SecretKind;
  readonly answer: SecretsAnswer;
  /** Part of a label, an owner or the last characters. */
  readonly query?: string | undefined;
  /** Deletes by id. */
  readonly remove: Change<string, { deleted: string }>;
  readonly update: Change<SecretUpdate, void>;
  /** Absent: it has no rotation. */
  readonly rotate?: RotateKeyProps["change"] | undefined;
}

/** Keys or relay tokens, of the reader, of another principal or of all, each with buttons that change, rotate and delete it. */
export function SecretList({
  kind,
  caption,
  answer,
  query,
  remove,
  update,
  rotate,
  layout,
  empty,
}: SecretListProps): ReactNode {
  const [deleting, setDeleting] = useState<SecretRow | null>(null);
  const [editing, setEditing] = useState<SecretRow | null>(null);
  const [rotating, setRotating] = useState<SecretRow | null>(null);
  const hasRotation = rotate !== undefined;
  const rows = useMemo(() => answer.data?.rows.map(toSecretRow) ?? [], [answer.data]);
  const shown = useMemo(() => rows.filter((row) => matches(row, query)), [rows, query]);
  const actions = useCallback(
    (row: SecretRow) => (
      <SecretActions
        row={row}
        noun={kind.noun}
        hasRequests={kind.hasRequests && layout !== "panel"}
        onEdit={setEditing}
        onRotate={hasRotation ? setRotating : null}
        onDelete={setDeleting}
      />
    ),
    [kind, layout, hasRotation],
  );
  const total = answer.data?.total ?? 0;
  return (
    <>
      {answer.error !== null && <ErrorNotice failure={answer.error} onRetry={() => void answer.refetch()} />}
      <SecretTable
        caption={caption}
        rows={shown}
        busy={answer.isPending}
        actions={actions}
        empty={answer.data === undefined ? <NotLoaded /> : empty}
        layout={layout}
      />
      {total > rows.length && (
        <p className="border-t border-line px-4 py-2 text-xs text-ink-soft">
          The first {formatCount(rows.length)} of {formatCount(total)} are listed.
        </p>
      )}
      {editing !== null && (
        <EditSecret row={editing} kind={kind} change={update} onClose={() => setEditing(null)} />
      )}
      {rotating !== null && rotate !== undefined && (
        <RotateKey row={rotating} change={rotate} onClose={() => setRotating(null)} />
      )}
      {deleting !== null && (
        <DeleteSecret row={deleting} kind={kind} change={remove} onClose={() => setDeleting(null)} />
      )}
    </>
  );
}

function matches({ label, suffix, owner }: SecretRow, query: string | undefined): boolean {
  if (query === undefined) return true;
  const wanted = query.toLowerCase();
  return [label, suffix, owner ?? ""].some((text) => text.toLowerCase().includes(wanted));
}
