import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { toCounted } from "#kernel/text.ts";
import type { RemovalQuery } from "../api/resource.ts";
import { teamSeriesQuery } from "../api/reports.ts";
import { buttonClass, IconButton } from "../components/button.tsx";
import { Badge } from "../components/chip.tsx";
import { agoColumn, type Column, textColumn } from "../components/column.ts";
import { Cost } from "../components/cost.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Instant, useNow } from "../components/instant.tsx";
import { type Asked, RowList } from "../lists/list-page.tsx";
import { ChangeQuestion, RemovalFacts } from "../lists/row-panel.tsx";
import { useMinute } from "../search/now.ts";
import { toTimeWindow } from "../search/window.ts";
import { formatCount, formatInstant } from "../text/format.ts";
import { formatInZone, useTimeZone } from "../text/time-zone.ts";
import { EditSecret, RotateKey, toOfOwner } from "./secret-dialogs.tsx";
import {
  type ListedSecret,
  type SecretKind,
  type SecretRow,
  toSecretName,
  toSecretRow,
} from "./secret-kind.ts";
import { FixedTagBadges } from "./secret-terms.tsx";

/** The answer to a query for secrets. */
export interface SecretsAnswer extends Asked {
  readonly data: { readonly rows: readonly ListedSecret[]; readonly total: number } | undefined;
}

export interface SecretsShown {
  readonly kind: SecretKind;
  readonly answer: SecretsAnswer;
  /** The reader's own, those of all principals with their owners, or those of one in a panel. */
  readonly layout: "own" | "all" | "panel";
}

/** An action on a row. */
interface Doing {
  readonly what: "edit" | "rotate" | "delete";
  readonly row: SecretRow;
}

/** Keys or relay tokens as rows of a list, with the buttons that edit, rotate and delete each; draw `dialog` beside the list. */
export function useSecretRows({ kind, answer, layout }: SecretsShown) {
  const [doing, setDoing] = useState<Doing | null>(null);
  const { secrets, rotate } = layout === "own" ? kind.own : kind.admin;
  const rows = useMemo(() => answer.data?.rows.map(toSecretRow), [answer.data]);
  const columns = useMemo(() => toColumns(kind, layout, setDoing), [kind, layout]);
  const stop = () => setDoing(null);
  const dialog = (
    <>
      {doing?.what === "edit" && (
        <EditSecret row={doing.row} kind={kind} change={secrets.update} onClose={stop} />
      )}
      {doing?.what === "rotate" && rotate !== null && (
        <RotateKey row={doing.row} change={rotate} onClose={stop} />
      )}
      {doing?.what === "delete" && (
        <ChangeQuestion
          title={`Delete the ${kind.noun} ${toSecretName(doing.row)}${toOfOwner(doing.row)}?`}
          body={<DeletedSecret row={doing.row} kind={kind} removal={secrets.removal(doing.row.id)} />}
          confirmLabel={`Delete ${kind.noun}`}
          change={secrets.remove}
          wanted={{ id: doing.row.id }}
          done={() => ({
            title: `Deleted ${kind.noun} ${toSecretName(doing.row)}`,
            body: "Requests with it are refused.",
          })}
          onClose={stop}
        />
      )}
    </>
  );
  return { rows, columns, dialog, getRowId: toId, sort: NEWEST_FIRST };
}

function toId({ id }: SecretRow): string {
  return id;
}

const NEWEST_FIRST = { id: "created", descending: true } as const;

export interface SecretListProps extends SecretsShown {
  readonly caption: string;
  /** Part of a label, an owner or the last characters. */
  readonly query?: string | undefined;
  readonly empty: ReactNode;
}

/** Keys or relay tokens within a page or a panel of something else. */
export function SecretList({ caption, query = "", empty, ...shown }: SecretListProps): ReactNode {
  const { answer } = shown;
  const { rows, dialog, ...table } = useSecretRows(shown);
  const wanted = query.toLowerCase();
  const found = useMemo(() => rows?.filter((row) => matchesSecret(row, wanted)), [rows, wanted]);
  return (
    <>
      {answer.error !== null && <ErrorNotice failure={answer.error} onRetry={() => void answer.refetch()} />}
      <RowList
        {...table}
        caption={caption}
        rows={answer.isPending ? NONE : found}
        busy={answer.isPending}
        skeletonRows={3}
        empty={empty}
        cut={{ listed: rows?.length ?? 0, total: answer.data?.total ?? 0 }}
      />
      {dialog}
    </>
  );
}

const NONE: readonly never[] = [];

export function matchesSecret({ label, suffix, owner = "" }: SecretRow, text: string): boolean {
  return [label, suffix, owner].some((name) => name.toLowerCase().includes(text));
}

function toColumns(
  kind: SecretKind,
  layout: SecretListProps["layout"],
  onDo: (doing: Doing) => void,
): readonly Column<SecretRow>[] {
  const actions: Column<SecretRow> = {
    id: "actions",
    header: "Actions",
    headerHidden: true,
    width: "w-48",
    align: "end",
    cell: (row) => (
      <Actions row={row} kind={kind} hasRequests={kind.hasRequests && layout !== "panel"} onDo={onDo} />
    ),
  };
  if (layout === "panel")
    return [{ ...LABEL, width: "w-38" }, CREATED, { ...USED, width: "w-24" }, { ...actions, width: "w-28" }];
  // All columns together fit a window of 1024 pixels.
  return [LABEL, ...(layout === "all" ? [OWNER] : []), CREATED, USED, actions];
}

const LABEL: Column<SecretRow> = {
  id: "label",
  header: "Label",
  rowHeader: true,
  wrap: true,
  width: "w-49",
  sortValue: ({ label }) => label,
  cell: (row) => <Label row={row} />,
};
const OWNER: Column<SecretRow> = textColumn({
  id: "owner",
  header: "Owner",
  width: "w-30",
  value: ({ owner = "" }) => owner,
});
const CREATED: Column<SecretRow> = {
  id: "created",
  header: "Created",
  width: "w-26",
  sortValue: ({ createdAt }) => createdAt,
  descendingFirst: true,
  cell: ({ createdAt }) => <Instant value={createdAt} format="date" />,
};
const USED: Column<SecretRow> = agoColumn({
  id: "used",
  header: "Last used",
  headerTitle: "Noted at most once a minute",
  width: "w-26",
  value: ({ lastUsedAt }) => lastUsedAt,
});

function Label({ row }: { readonly row: SecretRow }) {
  return (
    <>
      {row.label === "" ? <span className="font-normal text-ink-faint">no label</span> : row.label}
      <code className="block font-mono text-xs text-ink-soft">***{row.suffix}</code>
      <SecretState row={row} />
    </>
  );
}

/** The terms of a key or a relay token that are set. */
function SecretState({ row }: { readonly row: SecretRow }) {
  const { isPaused, isForInference, expiresAt, models, tags } = row;
  if (!isPaused && !isForInference && expiresAt === null && models === null && tags.length === 0) return null;
  return (
    <span className="mt-1 flex flex-wrap gap-1 font-normal">
      {isPaused && <Badge tone="warn">Paused</Badge>}
      {isForInference && <Badge title="Reaches models, own usage and own limits only">Inference</Badge>}
      {expiresAt !== null && <Expiry at={expiresAt} />}
      {models !== null && <Badge title={models.join(", ")}>{toCounted(models.length, "model")}</Badge>}
      <FixedTagBadges tags={tags} />
    </span>
  );
}

function Expiry({ at }: { readonly at: string }) {
  const zone = useTimeZone();
  const isOver = Date.parse(at) <= useNow();
  return (
    <Badge tone={isOver ? "bad" : "neutral"} title={formatInstant(at, "full")}>
      {isOver ? "Expired" : "Expires"}{" "}
      {zone === "utc" ? formatInstant(at, "date") : formatInZone(at, "date", zone)}
    </Badge>
  );
}

interface ActionsProps {
  readonly row: SecretRow;
  readonly kind: SecretKind;
  readonly hasRequests: boolean;
  readonly onDo: (doing: Doing) => void;
}

function Actions({ row, kind, hasRequests, onDo }: ActionsProps) {
  const button = (what: Doing["what"], verb: string, icon: "edit" | "refresh" | "trash") => (
    <IconButton
      label={`${verb} ${kind.noun} ${toSecretName(row)}`}
      icon={icon}
      size="sm"
      onClick={() => onDo({ what, row })}
    />
  );
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
      {button("edit", "Edit", "edit")}
      {kind.own.rotate !== null && button("rotate", "Rotate", "refresh")}
      {button("delete", "Delete", "trash")}
    </span>
  );
}

interface DeletedSecretProps {
  readonly row: SecretRow;
  readonly kind: SecretKind;
  readonly removal: RemovalQuery;
}

/** Which one it is, what it was used for, and what stops with it. */
function DeletedSecret({ row, kind, removal }: DeletedSecretProps) {
  return (
    <div className="flex flex-col gap-3">
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        <dt className="text-ink-faint">Ends with</dt>
        <dd>
          <code className="font-mono text-xs">***{row.suffix}</code>
        </dd>
        <dt className="text-ink-faint">Last used</dt>
        <dd>{row.lastUsedAt === null ? "never" : <Instant value={row.lastUsedAt} format="relative" />}</dd>
        {kind.hasRequests && <UseOfKey id={row.id} />}
      </dl>
      <RemovalFacts of={removal}>
        {({ limits = [] }) =>
          limits.length > 0 && <p>Limits deleted with it: {limits.map(({ name }) => name).join(", ")}.</p>
        }
      </RemovalFacts>
      <p>Requests with it are refused immediately. Its past usage stays in the reports.</p>
    </div>
  );
}

/** Cost and requests of a key in the last 30 days. */
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
