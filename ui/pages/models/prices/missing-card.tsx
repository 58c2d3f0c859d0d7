import { useMemo } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "../../../components/button.tsx";
import { Card } from "../../../components/card.tsx";
import { EmptyState } from "../../../components/empty.tsx";
import { NotLoaded } from "../../../components/not-loaded.tsx";
import type { Column } from "../../../components/column.ts";
import { DataTable } from "../../../components/table.tsx";
import { UNIT_LABEL } from "../../../components/units.tsx";
import { formatCount } from "../../../text/format.ts";
import { KindBadge } from "./kind-badge.tsx";
import type { MissingPrice } from "./missing.ts";

export interface MissingCardProps {
  readonly missing: readonly MissingPrice[];
  readonly busy: boolean;
  /** False: what it is made of could not be asked for. */
  readonly isKnown: boolean;
  /** Requests of the same window with a unit that had no price then; undefined until it is known. */
  readonly unpricedRequests: number | undefined;
  /** The server left some rows out. */
  readonly isTruncated: boolean;
  readonly onSetPrice: (missing: MissingPrice) => void;
}

/** What was used in the last 30 days and has no price now. */
export function MissingCard(props: MissingCardProps) {
  const { missing, busy, isKnown, unpricedRequests, isTruncated, onSetPrice } = props;
  const columns = useMemo(() => toColumns(onSetPrice), [onSetPrice]);
  return (
    <Card
      title="Used without a price"
      lead="Units of the last 30 days (UTC) that have no price now. A price applies from the next request: past requests stay unpriced."
      flush
      className="mb-6"
    >
      <DataTable
        caption="Used without a price"
        columns={columns}
        rows={missing}
        hasFixedColumns
        getRowId={toId}
        sort={{ id: "quantity", descending: true }}
        busy={busy}
        skeletonRows={3}
        className="max-h-96"
        empty={
          !isKnown ? (
            <NotLoaded />
          ) : (
            <EmptyState
              icon="check"
              title="Every used unit has a price"
              body={toPastNote(unpricedRequests)}
            />
          )
        }
      />
      {isTruncated && (
        <p className="border-t border-line px-4 py-2 text-xs text-warn">
          The report is truncated: the list may be incomplete.
        </p>
      )}
    </Card>
  );
}

function toPastNote(requests: number | undefined): string | undefined {
  if (requests === undefined || requests === 0) return undefined;
  if (requests === 1)
    return "1 request of these days was recorded before its price was set, and stays unpriced.";
  return `${formatCount(requests)} requests of these days were recorded before their prices were set, and stay unpriced.`;
}

function toColumns(onSetPrice: (missing: MissingPrice) => void): readonly Column<MissingPrice>[] {
  return [
    {
      id: "model",
      width: "w-80",
      header: "Model",
      rowHeader: true,
      sortValue: ({ name }) => name,
      cell: ({ name, kind }) => (
        <span className="flex min-w-0 items-center gap-2">
          <Link
            to="/requests"
            search={{ model: name, range: "30d" }}
            className="max-w-64 truncate text-accent underline-offset-2 hover:underline"
            title={name}
          >
            {name}
          </Link>
          <KindBadge kind={kind} />
        </span>
      ),
    },
    {
      id: "unit",
      width: "w-48",
      header: "Unit",
      sortValue: ({ unit }) => unit,
      cell: ({ unit }) => UNIT_LABEL[unit],
    },
    {
      id: "quantity",
      width: "w-32",
      header: "Quantity",
      align: "end",
      sortValue: ({ quantity }) => quantity,
      cell: ({ quantity }) => formatCount(quantity),
    },
    {
      id: "requests",
      width: "w-32",
      header: "Requests",
      headerTitle: "Requests that may have had some of it",
      align: "end",
      sortValue: ({ requests }) => requests,
      cell: ({ requests }) => formatCount(requests),
    },
    {
      id: "actions",
      width: "w-32",
      header: "Actions",
      headerHidden: true,
      align: "end",
      cell: (row) => (
        <Button
          size="sm"
          aria-label={`Set price for ${UNIT_LABEL[row.unit].toLowerCase()} of ${row.name}`}
          onClick={() => onSetPrice(row)}
        >
          Set price
        </Button>
      ),
    },
  ];
}

function toId({ id }: MissingPrice): string {
  return id;
}
