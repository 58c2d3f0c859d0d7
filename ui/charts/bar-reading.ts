import { range } from "d3-array";
import type { Bucket } from "#stats/bucket.ts";
import type { PlacedBar } from "./bar-layout.ts";
import { toRangeText } from "./bucket-range.ts";
import { addUp, type Series } from "./series.ts";

/** What a chart says of one bucket, or of several in a row: the words of its tooltip, its table and its live region. */
export interface BarReading {
  readonly title: string;
  /** One for each series, in their order; a dash where there is no number. */
  readonly entries: readonly ReadingEntry[];
  readonly total: string;
  /** Requests without a price; 0 when none or not asked for. */
  readonly unpricedRequests: number;
}

export interface ReadingEntry {
  readonly label: string;
  readonly value: string;
}

export interface BarReadingRequest {
  readonly bars: readonly PlacedBar[];
  readonly series: readonly Series[];
  readonly bucket: Bucket;
  readonly format: (value: number) => string;
  readonly unpriced: ((index: number) => number) | undefined;
  /** Both inclusive. */
  readonly from: number;
  readonly to: number;
}

export const NO_NUMBER = "–";

/** Null when `from` and `to` point at no bucket. */
export function toBarReading(request: BarReadingRequest): BarReading | null {
  const { bars, series, bucket, format, unpriced, from, to } = request;
  const chosen = bars.slice(from, to + 1);
  const [first, last] = [chosen[0], chosen.at(-1)];
  if (first === undefined || last === undefined) return null;
  const sums = range(series.length).map((key) => addUp(chosen.map(({ values }) => values[key] ?? null)));
  const unpricedRequests = countUnpriced(chosen, unpriced);
  const total = addUp(sums);
  return {
    title: toRangeText(bucket, first.start, last.start),
    entries: series.map(({ label }, key) => ({ label, value: toText(sums[key] ?? null, format) })),
    total: total === null && unpricedRequests > 0 ? "unpriced" : toText(total, format),
    unpricedRequests,
  };
}

/** The same in one sentence: `Tue 3 Mar 2026 UTC: total $3.20; small $3.00; large $0.20`. Series without a number are left out. */
export function toSpoken({ title, entries, total, unpricedRequests }: BarReading): string {
  const told = entries
    .filter(({ value }) => value !== NO_NUMBER)
    .map(({ label, value }) => `${label} ${value}`);
  const unpriced = unpricedRequests === 0 ? [] : [toUnpricedText(unpricedRequests)];
  return `${title}: ${[`total ${total}`, ...told, ...unpriced].join("; ")}`;
}

export function toUnpricedText(requests: number): string {
  return `${requests.toLocaleString("en-US")} unpriced ${requests === 1 ? "request" : "requests"}`;
}

function countUnpriced(bars: readonly PlacedBar[], unpriced: BarReadingRequest["unpriced"]): number {
  if (unpriced === undefined) return 0;
  return bars.reduce((count, { index }) => count + (index === null ? 0 : unpriced(index)), 0);
}

function toText(value: number | null, format: (value: number) => string): string {
  return value === null ? NO_NUMBER : format(value);
}
