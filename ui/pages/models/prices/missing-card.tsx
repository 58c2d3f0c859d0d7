import { UNIT_TABLE } from "#kernel/units.ts";
import { useMemo } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "../../../components/button.tsx";
import { Card } from "../../../components/card.tsx";
import { Badge } from "../../../components/chip.tsx";
import { EmptyState, NotLoaded } from "../../../components/empty.tsx";
import { countColumn, type Column } from "../../../components/column.ts";
import { DataTable } from "../../../components/table.tsx";
import { KindBadge, toMissingId, toMissingNow } from "./kind-badge.tsx";
import type { MissingPriceRow, MissingPrices, ReportNotes } from "../../../api/reports.ts";

export interface MissingCardProps {
  /** Undefined: it could not be asked for, or not yet. */
  readonly report: (MissingPrices & { readonly notes: ReportNotes }) | undefined;
  readonly busy: boolean;
  readonly onSetPrice: (missing: MissingPriceRow) => void;
}

/** What was used in the last 30 days and has no price now. */
export function MissingCard({ report, busy, onSetPrice }: MissingCardProps) {
  const missing = useMemo(() => (report === undefined ? [] : toMissingNow(report)), [report]);
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
        getRowId={toMissingId}
        sort={{ id: "quantity", descending: true }}
        busy={busy}
        skeletonRows={3}
        className="max-h-96"
        empty={
          report === undefined ? (
            <NotLoaded />
          ) : (
            <EmptyState
              icon="check"
              title="Every used unit has a price"
              body={
                report.missing.length === 0
                  ? undefined
                  : "Requests of these days that were recorded before their prices were set stay unpriced."
              }
            />
          )
        }
      />
      {report?.notes.isTruncated === true && (
        <p className="border-t border-line px-4 py-2 text-xs text-warn">
          The report is truncated: the list may be incomplete.
        </p>
      )}
    </Card>
  );
}

function toColumns(onSetPrice: (missing: MissingPriceRow) => void): readonly Column<MissingPriceRow>[] {
  return [
    {
      id: "model",
      width: "w-80",
      header: "Model",
      rowHeader: true,
      sortValue: ({ model }) => model,
      cell: ({ model: name, kind, reason }) => (
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
          {reason !== undefined && <Badge title="Prices do not hold for this tier">{reason}</Badge>}
        </span>
      ),
    },
    {
      id: "unit",
      width: "w-48",
      header: "Unit",
      sortValue: ({ unit }) => unit,
      cell: ({ unit }) => UNIT_TABLE[unit].label,
    },
    countColumn({
      id: "quantity",
      width: "w-32",
      header: "Quantity",
      value: ({ quantity }) => quantity,
    }),
    countColumn({
      id: "requests",
      width: "w-32",
      header: "Requests",
      headerTitle: "Requests that had some of it",
      value: ({ requests }) => requests,
    }),
    {
      id: "actions",
      width: "w-32",
      header: "Actions",
      headerHidden: true,
      align: "end",
      // A price would be for the standard tier, and not for this one.
      cell: (row) =>
        row.reason === undefined && (
          <Button
            size="sm"
            aria-label={`Set price for ${UNIT_TABLE[row.unit].label.toLowerCase()} of ${row.model}`}
            onClick={() => onSetPrice(row)}
          >
            Set price
          </Button>
        ),
    },
  ];
}
