import type { OwnUsageRow } from "../../api/my.ts";
import type { Breakdown } from "../../api/reports.ts";
import { toGroupId } from "../../reports/groups.ts";
import type { Speed } from "../../reports/speed.ts";
import type { Totals } from "../../reports/totals.ts";

/** What one used of a model. */
export interface OwnModel extends Totals {
  readonly id: string;
  /** Null for requests that asked for none. */
  readonly model: string | null;
  /** Where it was answered, the one with the most requests first; empty where nothing was. */
  readonly endpoints: readonly string[];
  readonly speed: Speed;
}

export function toOwnModels({ rows }: Breakdown, usage: readonly OwnUsageRow[]): readonly OwnModel[] {
  const byModel = Map.groupBy(usage, ({ model }) => model);
  return rows.map((row) => ({
    ...toSums(row),
    id: toGroupId(row.value),
    model: row.value,
    endpoints: (byModel.get(row.value ?? "") ?? [])
      .toSorted((a, b) => b.requests - a.requests)
      .map(({ endpoint }) => endpoint),
    speed: row,
  }));
}

/** With the names that totals of a series have. */
export function toSums({ requests, cancelled, failed, unpriced, cost, units }: Breakdown["total"]): Totals {
  return { requests, cancelled, failed, unpriced_requests: unpriced, cost, units };
}
