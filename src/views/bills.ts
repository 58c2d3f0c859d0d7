import { type BillSummary, BILLED_UNITS } from "#bills/bill.ts";
import type { LineKind, ReasonCode, Source } from "#bills/compared-cell.ts";
import type { LedgerSide, Line, Reconciliation, Side } from "#bills/reconciliation.ts";
import { DAY_US, formatInstant } from "#kernel/clock.ts";
import { toCsvRow } from "#stats/csv.ts";
import { toCost } from "#stats/series.ts";

interface Compared extends Reconciliation {
  readonly bills: readonly BillSummary[];
  /** Names; null for every provider. */
  readonly providers: readonly string[] | null;
}

/** Bills against the ledger → wire JSON. */
export function toReconciliationView({ bills, providers, lines, counts, agrees, total }: Compared) {
  return {
    agrees,
    counts,
    since: toDate(Math.min(...bills.map(({ firstDay }) => firstDay))),
    until: toDate(Math.max(...bills.map(({ lastDay }) => lastDay)) + 1),
    providers,
    files: bills.map(({ file, format, rowCount, skippedRows }) => ({
      name: file,
      format,
      rows: rowCount,
      skipped_rows: skippedRows,
    })),
    total: { here: toCost(total.here), there: toCost(total.there) },
    lines: lines.map(toLineView),
  };
}

function toDate(day: number): string {
  return formatInstant(day * DAY_US).slice(0, "2026-01-31".length);
}

function toLineView({ comparedWith, day, model, billedAs, tier, kind, here, there, reasons }: Line) {
  return {
    compared_with: comparedWith,
    day: toDate(day),
    model,
    ...(billedAs.length > 0 && { billed_as: billedAs }),
    tier,
    kind,
    here: here === null ? null : toLedgerView(here),
    there: there === null ? null : toSideView(there),
    reasons,
  };
}

function toSideView({ requests, units, costPico }: Side) {
  return { requests, units, cost: toCost(costPico) };
}

function toLedgerView({ unpricedRequests, unmeteredRequests, ...side }: LedgerSide) {
  return {
    ...toSideView(side),
    requests: side.requests,
    unpriced_requests: unpricedRequests,
    unmetered_requests: unmeteredRequests,
  };
}

/** What the CSV is made of. */
export interface ReconciledLine {
  readonly compared_with: Source;
  readonly day: string;
  readonly model: string | null;
  readonly billed_as?: readonly string[];
  readonly tier: string | null;
  readonly kind: LineKind;
  readonly here: FiguresView | null;
  readonly there: FiguresView | null;
  readonly reasons: readonly { readonly code: ReasonCode; readonly text: string }[];
}

interface FiguresView {
  readonly requests: number | null;
  readonly units: { readonly [unit: string]: number };
  readonly cost: number | null;
  readonly unpriced_requests?: number;
  readonly unmetered_requests?: number;
}

const MEASURES = ["requests", ...BILLED_UNITS, "cost"] as const;

/** The lines as CSV (RFC 4180), a column for each measure of each side. */
export function toReconciliationCsv(lines: readonly ReconciledLine[]): string {
  const head = [
    "compared_with",
    "day",
    "model",
    "billed_as",
    "tier",
    "kind",
    ...MEASURES.flatMap((measure) => [`${measure}_here`, `${measure}_there`]),
    "unpriced_requests",
    "unmetered_requests",
    "reasons",
  ];
  const rows = lines.map((line) =>
    toCsvRow([
      line.compared_with,
      line.day,
      line.model,
      line.billed_as?.join(" ") ?? null,
      line.tier,
      line.kind,
      ...MEASURES.flatMap((measure) => [toMeasure(line.here, measure), toMeasure(line.there, measure)]),
      line.here?.unpriced_requests ?? null,
      line.here?.unmetered_requests ?? null,
      line.reasons.map(({ text }) => text).join(" "),
    ]),
  );
  return [toCsvRow(head), ...rows].join("");
}

function toMeasure(side: FiguresView | null, measure: (typeof MEASURES)[number]): number | null {
  if (side === null) return null;
  return measure === "requests" || measure === "cost" ? side[measure] : (side.units[measure] ?? null);
}
