import type { ReportQuery } from "../search/filters.ts";
import { callWithHeaders } from "./client.ts";
import { KEYS } from "./keys.ts";
import { reportQuery, type SeriesGroups, type SeriesQuery } from "./reports.ts";

/** What a caller used itself (specification, section 4.3). */

type OwnWindow = Pick<ReportQuery, "since" | "until">;

/** By model and endpoint. */
export function myUsageQuery(window: OwnWindow) {
  return reportQuery([...KEYS.myUsage, window], (signal) =>
    callWithHeaders("GET /my/usage", { signal, query: { ...window } }),
  );
}

/** The figures of each model, failed requests among them. */
export function myBreakdownQuery(window: OwnWindow) {
  return reportQuery([...KEYS.myBreakdown, window], (signal) =>
    callWithHeaders("GET /my/usage/breakdown", {
      signal,
      query: { ...window, by: "model", limit: OWN_MODELS_MAX },
    }),
  );
}

/** As many as one answer can have. */
const OWN_MODELS_MAX = 500;

export function mySeriesQuery(query: OwnWindow & Pick<SeriesQuery, "bucket"> & Partial<SeriesGroups>) {
  return reportQuery([...KEYS.mySeries, query], (signal) =>
    callWithHeaders("GET /my/usage/series", { signal, query: { ...query } }),
  );
}
