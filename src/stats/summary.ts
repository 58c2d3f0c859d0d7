import { type Pico, isRareUnit, REPORT_UNITS, type ReportUnit, UNIT_TABLE } from "#kernel/units.ts";
import { toCost, toCostReported } from "./series.ts";
import { makeOnce, toChunks, toMembers } from "./chunks.ts";
import { type CsvCell, toCsvRow } from "./csv.ts";
import {
  type ReportSubject,
  groupBySubject,
  keepMostUsed,
  OTHER,
  splitTags,
  toProviderName,
} from "./grouping.ts";
import type { EncodedReport, ReportContext, ReportFormat, SummaryGrouping } from "./store.ts";

/** What one subject used in a part of the window: answered and cancelled requests that have a model. */
export interface SummaryPart {
  readonly subject: ReportSubject;
  readonly requests: number;
  readonly cancelled: number;
  /** How many of the requests have a usage that is still to come. */
  readonly pending: number;
  /** Null when nothing was priced. */
  readonly costPico: Pico | null;
  /** Null where no provider told a cost. */
  readonly costReportedPico: Pico | null;
  /** Quantities as tables of totals keep them, in the order of REPORT_UNITS; null when no provider reported the unit. */
  readonly totals: readonly (number | null)[];
}

interface SummaryOptions {
  readonly grouping: SummaryGrouping;
  readonly format: ReportFormat;
  readonly context: ReportContext;
}

/**
 * `{usage: [UsageSummaryRow]}` (specification, section 2.10), or the same rows as CSV with units in columns and tags joined
 * by commas. Sorted by the grouping's key, by code unit, null first.
 */
export function encodeSummary(
  parts: readonly SummaryPart[],
  options: SummaryOptions,
): Pick<EncodedReport, "chunks" | "truncated"> {
  const { rows, truncated } = toRows(parts, options);
  const pieces = options.format === "csv" ? toCsv(rows, options.grouping) : toJson(rows, options.grouping);
  return { chunks: toChunks(pieces), truncated };
}

type Key = "principal" | "provider" | "model" | "endpoint" | "client" | "tags";

/** The key of each grouping in the order in which its rows are sorted. */
const KEYS: { readonly [grouping in SummaryGrouping]: readonly Key[] } = {
  own: ["model", "endpoint"],
  admin: ["principal", "model", "endpoint"],
  team: ["principal", "provider", "model", "endpoint", "client", "tags"],
};

/** What is added up, part by part. */
type Row = { -readonly [Member in keyof SummaryPart]: SummaryPart[Member] } & { readonly provider: string };

function toRows(parts: readonly SummaryPart[], { grouping, context }: SummaryOptions) {
  const toKeyPart = (key: Key) =>
    key === "provider"
      ? ({ providerId }: ReportSubject) => toProviderName(providerId, context)
      : (subject: ReportSubject) => subject[key];
  const { groupOf, count } = groupBySubject(parts, KEYS[grouping].map(toKeyPart));
  const groups = Array.from({ length: count }, (): Row | null => null);
  for (const [index, part] of parts.entries()) {
    const group = groupOf[index] ?? 0;
    const row = groups[group] ?? null;
    if (row === null) {
      groups[group] = { ...part, provider: toProviderName(part.subject.providerId, context) };
      continue;
    }
    row.requests += part.requests;
    row.cancelled += part.cancelled;
    row.pending += part.pending;
    row.costPico = plusPico(row.costPico, part.costPico);
    row.costReportedPico = plusPico(row.costReportedPico, part.costReportedPico);
    row.totals = row.totals.map((total, unit) => plus(total, part.totals[unit] ?? null));
  }
  return keepMostUsed(groups.filter((row) => row !== null));
}

function plusPico(sum: Pico | null, more: Pico | null): Pico | null {
  return more === null ? sum : (sum ?? 0n) + more;
}

/** Nothing reported and nothing reported stay nothing; a zero counts as reported. */
function plus(sum: number | null, more: number | null): number | null {
  return more === null ? sum : (sum ?? 0) + more;
}

function* toJson(rows: readonly Row[], grouping: SummaryGrouping): Generator<string> {
  const tagsOf = makeOnce((tags: string) => ({ tags: splitTags(tags), app: toApp(tags) }));
  yield '{"usage":[';
  yield* toMembers(rows, (row) => {
    const { principal, model, endpoint, client, tags } = row.subject;
    return {
      ...(grouping === "own" ? {} : { principal }),
      ...(grouping === "team" ? { provider: row.provider } : {}),
      model,
      endpoint,
      ...(grouping === "team" ? { client, ...tagsOf(tags) } : {}),
      requests: row.requests,
      cancelled: row.cancelled,
      ...(row.pending > 0 && { pending_requests: row.pending }),
      cost: toCost(row.costPico),
      ...toCostReported(row),
      units: toUnits(row),
    };
  });
  yield "]}";
}

const APP_KEY = "app:";

function toApp(tags: string): string {
  if (tags === OTHER) return OTHER;
  return (
    splitTags(tags)
      .find((pair) => pair.startsWith(APP_KEY))
      ?.slice(APP_KEY.length) ?? "untagged"
  );
}

function toUnits(row: Row): { [unit in ReportUnit]?: number } {
  const units: ReturnType<typeof toUnits> = {};
  for (const [index, unit] of REPORT_UNITS.entries()) {
    const quantity = toQuantity(row, index);
    if (quantity !== null) units[unit] = quantity;
  }
  return units;
}

const SCALES = REPORT_UNITS.map((unit) => UNIT_TABLE[unit].scale);

function toQuantity({ totals }: Row, index: number): number | null {
  const total = totals[index] ?? null;
  return total === null ? null : total / (SCALES[index] ?? 1);
}

type Column = readonly [name: string, toCell: (row: Row) => CsvCell];

const FIGURES: readonly Column[] = [
  ["requests", (row) => row.requests],
  ["cancelled", (row) => row.cancelled],
  ["cost", (row) => row.costPico],
];

/** These stand last, and only where there are any. */
const PENDING: Column = ["pending_requests", (row) => row.pending];
const COST_REPORTED: Column = ["cost_reported", (row) => row.costReportedPico];

function* toCsv(rows: readonly Row[], grouping: SummaryGrouping): Generator<string> {
  const keys = KEYS[grouping].map((key): Column => [
    key,
    (row) => (key === "provider" ? row.provider : row.subject[key]),
  ]);
  const app: Column = ["app", ({ subject }) => toApp(subject.tags)];
  const units = REPORT_UNITS.flatMap((unit, index): Column[] => {
    const isShown = !isRareUnit(unit) || rows.some((row) => toQuantity(row, index) !== null);
    return isShown ? [[unit, (row) => toQuantity(row, index)]] : [];
  });
  // The count of all requests is a column `requests` already.
  const named = units.map(([unit, toCell]): Column => [
    unit === "requests" ? "billed_requests" : unit,
    toCell,
  ]);
  const pending = rows.some((row) => row.pending > 0) ? [PENDING] : [];
  const reported = rows.some((row) => row.costReportedPico !== null) ? [COST_REPORTED] : [];
  const rare = [...pending, ...reported];
  const columns = [...keys, ...(grouping === "team" ? [app] : []), ...FIGURES, ...named, ...rare];
  yield toCsvRow(columns.map(([name]) => name));
  for (const row of rows) yield toCsvRow(columns.map(([, toCell]) => toCell(row)));
}
