import type { Breakdown } from "../api/reports.ts";

/** What a request costs on average, and how long it takes, in milliseconds; a percentile that cannot be told is null. */
export type Speed = Pick<Breakdown["total"], "cost_per_request" | "duration_ms">;

/** Why a breakdown has no percentiles, in words; null when it has. */
export const NO_PERCENTILES = {
  exact: null,
  too_many_requests: "More than a million requests: choose a shorter window for exact percentiles",
  rows_removed: "Single requests of this window are no longer kept",
} as const satisfies { readonly [known in Breakdown["percentiles"]]: string | null };
