import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Change } from "../api/changing.ts";
import { teamSeriesQuery } from "../api/reports.ts";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { Cost } from "../components/cost.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Instant } from "../components/instant.tsx";
import { useToast } from "../components/toast.tsx";
import { useMinute } from "../search/now.ts";
import { toTimeWindow } from "../search/window.ts";
import { formatCount } from "../text/format.ts";
import { type SecretKind, type SecretRow, toSecretName } from "./secret-row.ts";

export interface DeleteSecretProps {
  readonly row: SecretRow;
  readonly kind: SecretKind;
  /** Deletes by id. */
  readonly change: Change<string, { deleted: string }>;
  readonly onClose: () => void;
}

/** Asks before a key or a relay token is deleted, and says which one it is and what it was used for. */
export function DeleteSecret({ row, kind, change, onClose }: DeleteSecretProps) {
  const { notify } = useToast();
  const { noun } = kind;
  const name = toSecretName(row);
  const remove = useMutation({
    ...change,
    onSuccess: () => {
      notify({ title: `Deleted ${noun} ${name}`, body: "Requests with it are refused.", tone: "good" });
      onClose();
    },
  });
  const owner = row.owner === undefined ? "" : ` of ${row.owner}`;
  return (
    <ConfirmDialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={`Delete the ${noun} ${name}${owner}?`}
      body={
        <div className="flex flex-col gap-3">
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
            <dt className="text-ink-faint">Ends with</dt>
            <dd>
              <code className="font-mono text-xs">***{row.suffix}</code>
            </dd>
            <dt className="text-ink-faint">Last used</dt>
            <dd>
              {row.lastUsedAt === null ? "never" : <Instant value={row.lastUsedAt} format="relative" />}
            </dd>
            {kind.hasRequests && <UseOfKey id={row.id} />}
          </dl>
          <p>Requests with it are refused immediately. Its past usage stays in the reports.</p>
        </div>
      }
      confirmLabel={`Delete ${noun}`}
      danger
      busy={remove.isPending}
      notice={remove.error !== null && <ErrorNotice failure={remove.error} />}
      onConfirm={() => remove.mutate(row.id)}
    />
  );
}

/** What the last 30 days of a key were. */
function UseOfKey({ id }: { readonly id: string }) {
  const { since } = toTimeWindow({}, "30d", useMinute());
  const { data, error } = useQuery(teamSeriesQuery({ key: id, since, bucket: "month" }));
  const requests = data?.series.reduce((sum, bucket) => sum + bucket.requests, 0) ?? 0;
  const costs = data?.series.flatMap(({ cost }) => cost ?? []) ?? [];
  return (
    <>
      <dt className="text-ink-faint">Last 30 days</dt>
      <dd>
        {error !== null ? (
          "could not be read"
        ) : data === undefined ? (
          "…"
        ) : requests === 0 ? (
          "no requests"
        ) : (
          <>
            <Cost
              value={costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0)}
              unpriced={data.series.some(({ unpriced_requests: unpriced }) => unpriced > 0)}
            />
            ,{" "}
            <Link
              to="/requests"
              search={{ key: id, range: "30d" }}
              className="text-accent underline underline-offset-2"
            >
              {formatCount(requests)} {requests === 1 ? "request" : "requests"}
            </Link>
          </>
        )}
      </dd>
    </>
  );
}
