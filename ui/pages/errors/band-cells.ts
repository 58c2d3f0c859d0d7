import { OUTCOMES } from "#usage/event.ts";
import type { ErrorsRow, Outcome } from "../../api/reports.ts";
import type { HeatMeasure } from "../../search/pages.ts";
import { addTo, countOf, NO_REQUESTS, toShare, type OutcomeCounts } from "./outcomes.ts";

/** The times to an outcome that the report tells apart, shortest first (specification, section 4.4). */
export const BANDS = [
  "<1s",
  "1-5s",
  "5-15s",
  "15-30s",
  "30-60s",
  "60-120s",
  ">=120s",
] as const satisfies readonly (keyof ErrorsRow["bands"])[];

/** As the columns are headed. */
export const BAND_LABELS: readonly string[] = [
  "< 1 s",
  "1–5 s",
  "5–15 s",
  "15–30 s",
  "30–60 s",
  "1–2 min",
  "≥ 2 min",
];

/** A provider's model, or its calls without one. */
export interface BandRow {
  readonly id: string;
  readonly label: string;
  readonly provider: string;
  readonly model: string | null;
  /** A number for each of `BANDS`: requests, or a share from 0 to 1. */
  readonly values: readonly number[];
}

export interface BandQuery {
  readonly outcomes: readonly Outcome[];
  readonly measure: HeatMeasure;
}

/** How long requests took to end by provider and model: those with the most of what is counted first, those with none left out. */
export function toBandRows(
  breakdown: readonly ErrorsRow[],
  { outcomes, measure }: BandQuery,
): readonly BandRow[] {
  const sums = new Map<string, Sum>();
  for (const row of breakdown) {
    const id = JSON.stringify([row.provider, row.model]);
    const byBand = sums.get(id)?.byBand ?? BANDS.map(() => NO_REQUESTS);
    sums.set(id, {
      provider: row.provider,
      model: row.model,
      byBand: byBand.map((counts, place) => addTo(counts, row.outcome, row.bands[BANDS[place] ?? "<1s"])),
    });
  }
  const counted = measure === "all" ? OUTCOMES : outcomes;
  return [...sums]
    .map(([id, sum]) => ({
      id,
      sum,
      total: sum.byBand.reduce((all, counts) => all + countOf(counts, counted), 0),
    }))
    .filter(({ total }) => total > 0)
    .toSorted((left, right) => right.total - left.total)
    .map(({ id, sum: { provider, model, byBand } }) => ({
      id,
      label: `${provider} · ${model ?? "no model"}`,
      provider,
      model,
      values: byBand.map((counts) =>
        measure === "share" ? (toShare(counts, outcomes) ?? 0) : countOf(counts, counted),
      ),
    }));
}

interface Sum {
  readonly provider: string;
  readonly model: string | null;
  readonly byBand: readonly OutcomeCounts[];
}
