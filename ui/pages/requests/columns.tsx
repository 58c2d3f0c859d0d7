import { timeFormat, utcFormat } from "d3-time-format";
import { type ReactNode, useMemo, useSyncExternalStore } from "react";
import { FAILURE_WORDS } from "../../text/outcomes.ts";
import type { ReportQuantities } from "#kernel/units.ts";
import { toReportUnits } from "#views/request-units.ts";
import { isRefusal, type LogRow, type RefusedRequest, type RequestRow } from "../../api/reports.ts";
import { Absent } from "../../components/empty.tsx";
import { Duration } from "../../components/instant.tsx";
import { Cost, Units } from "../../components/cost.tsx";
import { OutcomeBadge, OutcomeMark } from "../../components/outcome.tsx";
import type { Column } from "../../components/column.ts";
import { isPartlyPriced } from "./cost-card.tsx";
import { formatInstant } from "../../text/format.ts";
import { storedChoice } from "../../text/stored-choice.ts";
import { type TimeZone, toZoneLabel, toZoneName, useTimeZone } from "../../text/time-zone.ts";

export type RequestColumn = Column<LogRow>;

interface RowColumn extends Omit<Column<RequestRow>, "cell"> {
  readonly cell: (row: RequestRow) => ReactNode;
  /** What it shows of a refused request, in grey; nothing where absent. */
  readonly refused?: (refusal: RefusedRequest) => ReactNode;
}

function toColumn({ cell, refused, sortValue, amount, ...column }: RowColumn): RequestColumn {
  return {
    ...column,
    ...(sortValue !== undefined && { sortValue: (row) => (isRefusal(row) ? null : sortValue(row)) }),
    ...(amount !== undefined && { amount: (row) => (isRefusal(row) ? null : amount(row)) }),
    cell: (row) =>
      isRefusal(row) ? <span className="text-ink-faint">{refused?.(row) ?? null}</span> : cell(row),
  };
}

const TIME = toColumn({
  id: "time",
  header: "Time (UTC)",
  rowHeader: true,
  sortValue: ({ ts }) => ts,
  width: "w-38",
  cell: ({ ts }) => <Time ts={ts} />,
  refused: ({ at }) => <Time ts={at} />,
});
const CALLER = toColumn({
  id: "caller",
  header: "Person",
  headerTitle: "Person, and the label of the key",
  width: "w-29",
  cell: (row) => <Pair main={row.principal} more={toCredential(row)} />,
  refused: ({ principal, key_suffix: suffix }) => (
    <Pair main={principal ?? "unknown"} more={suffix === null ? null : `***${suffix}`} />
  ),
});
const MODEL = toColumn({
  id: "model",
  header: "Model",
  headerTitle: "Requested model and upstream name",
  width: "w-45",
  cell: ({ model, upstream_name: upstream }) =>
    model === null ? <Absent /> : <Pair main={model} more={upstream === model ? null : upstream} arrow />,
  refused: ({ model }) => (model === null ? <Absent /> : <span title={model}>{model}</span>),
});
const PROVIDER = toColumn({
  id: "provider",
  header: "Provider",
  headerTitle: "Provider and endpoint",
  width: "w-37",
  cell: ({ provider, endpoint }) => <Pair main={provider} more={endpoint} />,
  refused: ({ endpoint }) => <span title={endpoint ?? undefined}>{endpoint}</span>,
});
const OUTCOME = toColumn({
  id: "outcome",
  header: "Outcome",
  width: "w-41",
  cell: ({ outcome, status_code: status, error_kind: kind, failure }) => (
    <span title={failure === undefined ? (kind ?? undefined) : `${kind}: ${FAILURE_WORDS[failure]}`}>
      <OutcomeBadge outcome={outcome} statusCode={status} />
    </span>
  ),
  refused: (refusal) => <Refused refusal={refusal} />,
});
const TOKENS = toColumn({
  id: "tokens",
  header: "Usage",
  headerTitle: "As in reports: input without what was read from a cache",
  width: "w-54",
  cell: (row) =>
    tellsNothing(row) ? <Untold row={row} /> : <Units units={withoutNothing(toReportUnits(row))} />,
  refused: ({ message }) => <span title={message}>{message === undefined ? null : toReason(message)}</span>,
});
const COST_COLUMN: RowColumn = {
  id: "cost",
  header: "Cost",
  align: "end",
  amount: ({ cost }) => cost,
  sortValue: ({ cost }) => cost,
  width: "w-26",
  cell: (row) => <RowCost row={row} />,
};
const COST = toColumn(COST_COLUMN);
/** Where there is no place for what was used. */
const COST_ALONE = toColumn({ ...COST_COLUMN, cell: (row) => <CostOrNotReported row={row} /> });
const DURATION = toColumn({
  id: "duration",
  header: "Duration",
  align: "end",
  sortValue: ({ duration_ms: durationMs }) => durationMs,
  width: "w-25",
  cell: ({ duration_ms: durationMs }) => <Duration durationMs={durationMs} />,
});
const FIRST_BYTE = toColumn({
  id: "first-byte",
  header: "First byte",
  headerTitle: "Time to the first byte of the answer",
  align: "end",
  width: "w-24",
  cell: ({ time_to_first_byte_ms: durationMs }) => <Duration durationMs={durationMs} />,
});
const TIER = toColumn({
  id: "tier",
  header: "Tier",
  headerTitle: "Service tier that the answer told, and its region",
  width: "w-32",
  cell: ({ tier, geo }) =>
    tier === undefined && geo === undefined ? (
      <Absent />
    ) : (
      <Pair main={tier ?? "standard"} more={geo ?? null} />
    ),
});
const CLIENT = toColumn({
  id: "client",
  header: "Client",
  width: "w-36",
  cell: ({ client }) => (client === null ? <Absent /> : <span title={client}>{client}</span>),
  refused: ({ client }) => (client === null ? <Absent /> : <span title={client}>{client}</span>),
});
const TAGS = toColumn({
  id: "tags",
  header: "Tags",
  width: "w-48",
  cell: ({ tags }) =>
    tags.length === 0 ? <Absent /> : <span title={tags.join("\n")}>{tags.join(" ")}</span>,
});
const ID = toColumn({
  id: "id",
  header: "Id",
  headerTitle: "Request id (x-proxy-request-id)",
  width: "w-80",
  cell: ({ id }) => <code className="font-mono text-xs">{id}</code>,
  refused: ({ id }) => <code className="font-mono text-xs">{id}</code>,
});
/** All that matters, in two lines. */
const CARD = toColumn({
  id: "request",
  header: "Request, time in UTC",
  wrap: true,
  cell: (row) => <Summary row={row} />,
  refused: (refusal) => <RefusedSummary refusal={refusal} />,
});

/** In the order of the table; the first one opens a row and is always there. */
export const ALL_COLUMNS: readonly RequestColumn[] = [
  TIME,
  CALLER,
  MODEL,
  PROVIDER,
  OUTCOME,
  TOKENS,
  COST,
  DURATION,
  FIRST_BYTE,
  TIER,
  CLIENT,
  TAGS,
  ID,
];

/** What is shown, by how much place there is; everything else stands in the panel of a request. */
export const COLUMNS: { readonly [room in Room]: readonly RequestColumn[] } = {
  little: [CARD],
  some: [TIME, CALLER, MODEL, OUTCOME, COST_ALONE],
  fair: [TIME, CALLER, MODEL, OUTCOME, COST_ALONE, DURATION],
  enough: [TIME, CALLER, MODEL, OUTCOME, TOKENS, COST, DURATION],
  much: [TIME, CALLER, MODEL, PROVIDER, OUTCOME, TOKENS, COST, DURATION],
  plenty: [TIME, CALLER, MODEL, PROVIDER, OUTCOME, TOKENS, COST, DURATION, FIRST_BYTE, CLIENT],
};

/** `laptop`; a key that was deleted has no label left, and one may have been made without. */
export function toCredential(row: RequestRow): string | null {
  if (row.relay_token_id !== null) return "relay token";
  if (row.key_id === null) return null;
  return row.key_label === null
    ? "deleted key"
    : row.key_label === ""
      ? "key without a label"
      : row.key_label;
}

interface PairProps {
  readonly main: string;
  readonly more: string | null;
  readonly arrow?: boolean | undefined;
}

function Pair({ main, more, arrow = false }: PairProps) {
  const mark = arrow ? " → " : " · ";
  return (
    <span title={more === null ? main : `${main}${mark}${more}`}>
      {main}
      {more !== null && (
        <span className="text-xs text-ink-faint">
          {mark}
          {more}
        </span>
      )}
    </span>
  );
}

/** Most providers report that nothing came from a cache: on a line that is noise. */
function withoutNothing(units: ReportQuantities): ReportQuantities {
  const { cached_input_tokens: cached, ...others } = units;
  return cached === 0 ? others : units;
}

/** Nothing was used, or it is unknown what: that is neither a cost of zero nor a missing price. */
function RowCost({ row }: { readonly row: RequestRow }) {
  return (
    <Cost
      value={row.cost}
      unpriced={isPartlyPriced(row)}
      used={Object.keys(row.units).length > 0}
      reason={row.unpriced_reason}
    />
  );
}

/** A stream that was left early may have told its input, and a price by the request may hold beside what was not told. */
function tellsNothing({ unmetered, pending, units }: RequestRow): boolean {
  return (unmetered === true || pending === true) && Object.keys(units).length === 0;
}

function CostOrNotReported({ row }: { readonly row: RequestRow }) {
  if (!tellsNothing(row)) return <RowCost row={row} />;
  return (
    <span className="text-xs">
      <Untold row={row} />
    </span>
  );
}

function Untold({ row: { pending } }: { readonly row: RequestRow }) {
  const title =
    pending === true
      ? "The provider works on it in the background: what it used is told when it is asked for by its id"
      : "It ended before its usage was told, or the answer told none, so the cost is unknown";
  return (
    <span className="text-ink-soft" title={title}>
      {pending === true ? "Pending" : "Not reported"}
    </span>
  );
}

/** Shortens a message that names the nearest model to that name: the model that was asked for stands beside it. */
function toReason(message: string): string {
  return /Did you mean [^?]+\?/.exec(message)?.[0] ?? message;
}

/** The reason stands where a status would; its words are those of the answer, with the nearest model. */
function Refused({ refusal: { code, message } }: { readonly refusal: RefusedRequest }) {
  return (
    <span className="flex min-w-0 items-center gap-1.5" title={message ?? code}>
      <OutcomeMark outcome="refused" />
      <span>Refused</span>
      <span className="truncate">{code}</span>
    </span>
  );
}

function RefusedSummary({ refusal }: { readonly refusal: RefusedRequest }) {
  const { at, model, endpoint, principal } = refusal;
  return (
    <span className="flex min-w-0 flex-col gap-0.5">
      <span className="flex min-w-0 items-center justify-between gap-3">
        <span className="truncate">{model ?? endpoint ?? "unknown"}</span>
        <Refused refusal={refusal} />
      </span>
      <span className="truncate text-xs">
        <Time ts={at} /> · {principal ?? "unknown"}
      </span>
    </span>
  );
}

function Summary({ row }: { readonly row: RequestRow }) {
  return (
    <span className="flex min-w-0 flex-col gap-0.5">
      <span className="flex min-w-0 items-center justify-between gap-3">
        <span className="flex min-w-0 items-center gap-1.5">
          <OutcomeMark outcome={row.outcome} />
          <span className="truncate" title={row.model ?? row.endpoint}>
            {row.model ?? row.endpoint}
          </span>
          {row.outcome !== "ok" && <span className="text-ink-faint">{row.status_code}</span>}
        </span>
        <CostOrNotReported row={row} />
      </span>
      <span className="flex min-w-0 justify-between gap-3 text-xs text-ink-soft">
        <span className="truncate">
          <Time ts={row.ts} /> · {row.principal}
        </span>
        <Duration durationMs={row.duration_ms} />
      </span>
    </span>
  );
}

/** The day is the same in many rows, and quieter; the year, and the zone of summer or winter, only where it is another one. */
function Time({ ts }: { readonly ts: string }) {
  const zone = useTimeZone();
  const at = new Date(ts);
  const time = zone === "utc" ? formatInstant(ts, "time") : localTime(at);
  return (
    <time dateTime={ts} title={formatInstant(ts, "full")}>
      <span className="text-ink-faint">{toDay(at, zone)}</span> {time}
      {toOtherZone(at, zone)}
    </time>
  );
}

const localTime = timeFormat("%H:%M:%S");
const DAY_FORMATS = {
  utc: { day: utcFormat("%-d %b"), year: utcFormat("%Y") },
  local: { day: timeFormat("%-d %b"), year: timeFormat("%Y") },
} as const satisfies { readonly [zone in TimeZone]: unknown };

function toDay(at: Date, zone: TimeZone): string {
  const { day, year } = DAY_FORMATS[zone];
  return year(at) === year(new Date()) ? day(at) : `${day(at)} ${year(at)}`;
}

function toOtherZone(at: Date, zone: TimeZone): string | null {
  const name = toZoneLabel(at, zone);
  return name === toZoneLabel(new Date(), zone) ? null : ` ${name}`;
}

/** How much of a request has place on a line. */
type Room = "little" | "some" | "fair" | "enough" | "much" | "plenty";

/** Least widths of the window in pixels, largest first, and those beside an open panel; the page's own frame takes some of it. */
const WIDTHS = [
  ["plenty", 1740, 2120],
  ["much", 1540, 1880],
  ["enough", 1380, 1732],
  ["fair", 1140, 1516],
  ["some", 640, 1416],
] as const;
const QUERIES = WIDTHS.map(([room, alone, beside]) => ({
  room,
  alone: window.matchMedia(`(min-width: ${alone}px)`),
  beside: window.matchMedia(`(min-width: ${beside}px)`),
}));

/** Known before the first paint, so that nothing moves. */
export function useRoom(isBesidePanel: boolean): Room {
  return useSyncExternalStore(subscribe, () => {
    const found = QUERIES.find(({ alone, beside }) => (isBesidePanel ? beside : alone).matches);
    return found?.room ?? "little";
  });
}

function subscribe(onChange: () => void): () => void {
  const queries = QUERIES.flatMap(({ alone, beside }) => [alone, beside]);
  for (const query of queries) query.addEventListener("change", onChange);
  return () => {
    for (const query of queries) query.removeEventListener("change", onChange);
  };
}

const choice = storedChoice("lockport.request-columns");

/** The ids of the columns that were chosen in this browser, in the order of the table; null when the room decides. */
export function useChosenColumns(): readonly string[] | null {
  const text = choice.use();
  return useMemo(() => toIds(text), [text]);
}

/** Null gives the choice back to the room. */
export function chooseColumns(ids: readonly string[] | null): void {
  choice.write(ids === null ? null : ids.join(" "));
}

/** What the table shows: where there is room for one column alone, all that matters stands in it. */
export function toColumns(room: Room, chosen: readonly string[] | null): readonly RequestColumn[] {
  if (chosen === null || room === "little") return COLUMNS[room];
  return ALL_COLUMNS.filter(({ id }) => chosen.includes(id));
}

/** The columns with times in this zone, which their headers name. */
export function inZone(columns: readonly RequestColumn[], zone: TimeZone): readonly RequestColumn[] {
  if (zone === "utc") return columns;
  const name = toZoneName(new Date());
  return columns.map((column) => ({
    ...column,
    header: column.header.replace("UTC", name),
    ...(column.id === "time" && { width: "w-48" }),
  }));
}

/** A row is opened by its time, which always stands first. */
function toIds(text: string | null): readonly string[] | null {
  if (text === null) return null;
  const asked = new Set([...text.split(" "), ALL_COLUMNS[0]?.id]);
  return ALL_COLUMNS.map(({ id }) => id).filter((id) => asked.has(id));
}
