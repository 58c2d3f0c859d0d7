import { Type } from "@sinclair/typebox";
import { BREAKDOWN_SORTS, PERCENTILE_STATES } from "#stats/breakdown-query.ts";
import { Cost, Count, fields, Instant, nullable, oneOf, PendingRequests, Units, view } from "./shared.ts";

/** Wire shape of `GET /stats/breakdown` (docs/decisions.md). */

const milliseconds = nullable(Type.Number({ minimum: 0 }));
const percentiles = fields({ p50: milliseconds, p95: milliseconds });
const figures = {
  requests: Count,
  ok: Count,
  failed: Count,
  cancelled: Count,
  unpriced: Count,
  unmetered: Type.Integer({
    minimum: 0,
    description:
      "Ended without their usage: answers that told none, and callers that left before it was told.",
  }),
  pending_requests: PendingRequests,
  cost: Cost,
  cost_per_request: nullable(Type.Number({ minimum: 0, description: "Of the requests that have a cost." })),
  units: Units,
  duration_ms: percentiles,
  time_to_first_byte_ms: percentiles,
  last_ok_at: nullable(Instant),
};

export const Breakdown = view("Breakdown", {
  by: Type.String(),
  sort: oneOf(BREAKDOWN_SORTS),
  rows: Type.Array(
    view("BreakdownRow", {
      value: nullable(Type.String({ description: "Null for requests that have no value." })),
      label: Type.Optional(
        nullable(Type.String({ description: "By key: its label; null for a key that was deleted." })),
      ),
      key_suffix: Type.Optional(nullable(Type.String({ description: "By key." }))),
      ...figures,
    }),
  ),
  total: fields(figures),
  row_count: Type.Integer({ minimum: 0, description: "How many values there are." }),
  truncated: Type.Boolean({ description: "There are more values than rows; the total has them all." }),
  percentiles: Type.Unsafe<(typeof PERCENTILE_STATES)[number]>({
    type: "string",
    enum: [...PERCENTILE_STATES],
    description:
      "By nearest rank, of requests that ended `ok`; of first bytes only where they were streamed. `exact`, or why all of them are null: more than a million requests in the window, or retention has removed rows of it.",
  }),
});
