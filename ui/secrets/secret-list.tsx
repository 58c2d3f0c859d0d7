import { useCallback, useMemo, useState, type ReactNode } from "react";
import type { Change } from "../api/changing.ts";
import { ErrorNotice } from "../components/error-notice.tsx";
import { NotLoaded } from "../components/not-loaded.tsx";
import { formatCount } from "../text/format.ts";
import { DeleteSecret } from "./delete-secret.tsx";
import { toSecretRow, type ListedSecret, type SecretKind, type SecretRow } from "./secret-row.ts";
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
}

/** Keys or relay tokens, of the reader, of another principal or of all, each with a button that deletes it. */
export function SecretList({
  kind,
  caption,
  answer,
  query,
  remove,
  layout,
  empty,
}: SecretListProps): ReactNode {
  const [deleting, setDeleting] = useState<SecretRow | null>(null);
  const rows = useMemo(() => answer.data?.rows.map(toSecretRow) ?? [], [answer.data]);
  const shown = useMemo(() => rows.filter((row) => matches(row, query)), [rows, query]);
  const actions = useCallback(
    (row: SecretRow) => (
      <SecretActions
        row={row}
        noun={kind.noun}
        hasRequests={kind.hasRequests && layout !== "panel"}
        onDelete={setDeleting}
      />
    ),
    [kind, layout],
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
      {deleting !== null && (
        <DeleteSecret row={deleting} noun={kind.noun} change={remove} onClose={() => setDeleting(null)} />
      )}
    </>
  );
}

function matches({ label, suffix, owner }: SecretRow, query: string | undefined): boolean {
  if (query === undefined) return true;
  const wanted = query.toLowerCase();
  return [label, suffix, owner ?? ""].some((text) => text.toLowerCase().includes(wanted));
}
