import { type ReactNode, useMemo } from "react";
import type { Limit } from "../../../api/limits.ts";
import { type Column, countColumn } from "../../../components/column.ts";
import { DataTable } from "../../../components/table.tsx";
import { LimitMeter } from "../../../limits/limit-meter.tsx";
import { LevelBadge, StartsAnew } from "../../../limits/limit-parts.tsx";
import { type NameSecret, toAmountWords, toWhomWords } from "../../../limits/limit-words.ts";

export interface LimitTableProps {
  readonly limits: readonly Limit[];
  readonly nameSecret: NameSecret;
  readonly busy: boolean;
  readonly openId: string | undefined;
  readonly onOpen: (id: string) => void;
  readonly empty: ReactNode;
}

/** Every limit with how close it is, the closest first. */
export function LimitTable({ limits, nameSecret, busy, openId, onOpen, empty }: LimitTableProps) {
  const columns = useMemo(() => toColumns(nameSecret), [nameSecret]);
  return (
    <DataTable
      caption="Limits"
      columns={columns}
      rows={limits}
      hasFixedColumns
      getRowId={toId}
      sort={{ id: "used", descending: true }}
      busy={busy}
      skeletonRows={5}
      onRowActivate={({ id }) => onOpen(id)}
      rowLabel={({ name }) => `Details of ${name}`}
      activeRowId={openId ?? null}
      empty={empty}
    />
  );
}

function toColumns(nameSecret: NameSecret): readonly Column<Limit>[] {
  return [
    {
      id: "name",
      header: "Name",
      rowHeader: true,
      width: "w-42",
      sortValue: ({ name }) => name,
      cell: ({ name, enabled }) => (
        <span
          className={enabled ? "block truncate font-medium" : "block truncate font-medium text-ink-faint"}
          title={name}
        >
          {name}
        </span>
      ),
    },
    {
      id: "whom",
      header: "Holds for",
      width: "w-40",
      sortValue: (limit) => toWhomWords(limit, nameSecret),
      cell: (limit) => {
        const words = toWhomWords(limit, nameSecret);
        return (
          <span className="block truncate" title={words}>
            {words}
          </span>
        );
      },
    },
    {
      id: "limit",
      header: "Limit",
      width: "w-44",
      cell: (limit) => <span title={toAmountWords(limit)}>{toAmountWords(limit)}</span>,
    },
    {
      id: "used",
      header: "Used",
      headerTitle: "Of the window so far; where a limit holds for several separately, by who used most",
      width: "w-40",
      descendingFirst: true,
      sortValue: ({ enabled, used, amount }) => (enabled ? used / amount : -1),
      cell: (limit) => (
        <LimitMeter limit={limit} of={limit.each === undefined ? undefined : toClosest(limit, nameSecret)} />
      ),
    },
    {
      id: "state",
      header: "State",
      width: "w-30",
      cell: (limit) => <LevelBadge limit={limit} />,
    },
    {
      id: "anew",
      header: "Starts anew",
      width: "w-24",
      sortValue: ({ resets_at: at }) => at,
      cell: (limit) => <StartsAnew limit={limit} />,
    },
    countColumn({
      id: "refused",
      header: "Refused",
      headerTitle: "Requests since the server started",
      width: "w-20",
      value: ({ refused }) => refused,
    }),
  ];
}

/** Whose use stands for a limit that holds for several separately. */
function toClosest({ top }: Limit, nameSecret: NameSecret): string {
  const [first] = top ?? [];
  if (first === undefined) return "no one";
  return first.key === undefined ? (first.principal ?? first.tag ?? "") : nameSecret(first.key);
}

function toId({ id }: Limit): string {
  return id;
}
