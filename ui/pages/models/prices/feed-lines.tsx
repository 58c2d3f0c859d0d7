import { UNIT_TABLE } from "#kernel/units.ts";
import { Badge } from "../../../components/chip.tsx";
import type { Column } from "../../../components/column.ts";
import { DataTable, LateVirtualBody } from "../../../components/table.tsx";
import { formatChange, formatMoneyExact } from "../../../text/format.ts";
import type { FeedDiff, FeedLine, LineKind } from "./feed-diff.ts";
import type { SkippedPrice } from "#interchange/price-map.ts";

export interface FeedLinesProps {
  readonly shown: LineKind | "skipped";
  readonly diff: FeedDiff;
  readonly skipped: readonly SkippedPrice[];
}

/** From here on only the rows in sight are drawn. */
const VIRTUAL_ROWS = 100;
const HEIGHT = "max-h-80 rounded-card border border-line";

/** The lines of one kind. */
export function FeedLines({ shown, diff, skipped }: FeedLinesProps) {
  if (shown === "skipped") {
    return (
      <DataTable
        caption="Skipped"
        columns={SKIPPED_COLUMNS}
        rows={skipped}
        getRowId={toSkippedId}
        body={skipped.length > VIRTUAL_ROWS ? LateVirtualBody : undefined}
        stickyHeader
        className={HEIGHT}
        empty={<Nothing />}
      />
    );
  }
  const rows = diff.lines.filter(({ kind }) => kind === shown);
  return (
    <DataTable
      // Another kind has other columns, and its own order.
      key={shown}
      caption={`${shown} prices, per million`}
      columns={COLUMNS[shown]}
      rows={rows}
      getRowId={toId}
      body={rows.length > VIRTUAL_ROWS ? LateVirtualBody : undefined}
      stickyHeader
      className={HEIGHT}
      empty={<Nothing />}
    />
  );
}

function Nothing() {
  return <p className="px-4 py-6 text-center text-ink-soft">None.</p>;
}

const NAME: Column<FeedLine> = {
  id: "name",
  header: "Model",
  rowHeader: true,
  width: "w-64",
  sortValue: ({ entry }) => entry.name,
  cell: ({ entry, isUsed }) => (
    <span className="flex min-w-0 items-center gap-2">
      <span className="truncate" title={entry.name}>
        {entry.name}
      </span>
      {!isUsed && (
        <Badge title="Not an alias or upstream name, and not called in the last 30 days">not in use</Badge>
      )}
    </span>
  ),
};
const UNIT: Column<FeedLine> = {
  id: "unit",
  header: "Unit",
  width: "w-44",
  sortValue: ({ entry }) => entry.unit,
  cell: ({ entry }) => UNIT_TABLE[entry.unit].label,
};
const OLD: Column<FeedLine> = {
  id: "old",
  header: "Now",
  headerTitle: "Per million units",
  width: "w-28",
  align: "end",
  sortValue: ({ oldPerMillion }) => oldPerMillion,
  cell: ({ oldPerMillion, oldVersion }) =>
    oldPerMillion !== null && (
      <span title={oldVersion === null ? "Set with the model" : `From ${oldVersion}`}>
        {formatMoneyExact(oldPerMillion)}
      </span>
    ),
};
const NEW: Column<FeedLine> = {
  id: "new",
  header: "New",
  headerTitle: "Per million units",
  width: "w-28",
  align: "end",
  sortValue: ({ newPerMillion }) => newPerMillion,
  cell: ({ newPerMillion }) => <span className="font-medium">{formatMoneyExact(newPerMillion)}</span>,
};
const CHANGE: Column<FeedLine> = {
  id: "change",
  header: "Change",
  width: "w-24",
  align: "end",
  sortValue: ({ ratio }) => ratio,
  cell: ({ ratio }) => (ratio === null ? "from free" : formatChange(ratio)),
};

const COLUMNS = {
  changed: [NAME, UNIT, OLD, NEW, CHANGE],
  added: [NAME, UNIT, { ...NEW, header: "Price" }],
  unchanged: [NAME, UNIT, { ...NEW, header: "Price" }],
} as const satisfies Record<LineKind, readonly Column<FeedLine>[]>;

const SKIPPED_COLUMNS: readonly Column<SkippedPrice>[] = [
  {
    id: "name",
    header: "Model",
    rowHeader: true,
    width: "w-64",
    sortValue: ({ name }) => name,
    cell: ({ name }) => (
      <span className="block truncate" title={name}>
        {name}
      </span>
    ),
  },
  {
    id: "reason",
    header: "Why",
    width: "w-96",
    sortValue: ({ reason }) => reason,
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
];

function toId({ id }: FeedLine): string {
  return id;
}

function toSkippedId({ name, reason }: SkippedPrice): string {
  return `${name}\n${reason}`;
}
