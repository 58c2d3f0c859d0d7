import { each, type Script } from "#storage/sql/script.ts";
import { TOKEN_UNITS, UNIT_TABLE } from "#kernel/units.ts";
import type { SeriesGrouping } from "#stats/series-grouping.ts";
import { COST_SEAM } from "#storage/cells/sums.ts";
import type { MeasureSource } from "./measure-sources.ts";

export interface LargestGroups {
  /** As many as a report tells apart. */
  readonly groups: readonly number[];
  /** How many groups there are. */
  readonly count: number;
}

/**
 * The largest groups of a window, read row by row, sixteen bytes for each group there is: a caller may send a tag of its own
 * with each request. `groupOf` has the group of each combination.
 */
export function* findLargestGroups(
  sources: readonly MeasureSource[],
  { groupOf, order, top }: { readonly groupOf: Int32Array } & Pick<SeriesGrouping, "order" | "top">,
): Script<LargestGroups> {
  const last = groupOf.reduce((most, group) => Math.max(most, group), 0);
  const requests = new Float64Array(last + 1);
  const sizes = new Float64Array(last + 1).fill(NO_SIZE);
  for (const { sql, bindings } of sources) {
    yield* each<Row>(
      `SELECT combination, requests, ${SIZES[order]} AS size FROM (${sql}) AS s`,
      bindings,
      (row) => {
        const group = groupOf[row.combination] ?? NO_SIZE;
        if (group < 0) return;
        requests[group] = (requests[group] ?? 0) + row.requests;
        if (row.size !== null) sizes[group] = Math.max(sizes[group] ?? NO_SIZE, 0) + row.size;
      },
    );
  }
  const groups = [...requests.keys()].filter((group) => requests[group] !== 0);
  const bySize = (left: number, right: number) =>
    (sizes[right] ?? NO_SIZE) - (sizes[left] ?? NO_SIZE) || (requests[right] ?? 0) - (requests[left] ?? 0);
  return { groups: groups.toSorted(bySize).slice(0, top), count: groups.length };
}

/** Without a number a group comes last. */
const NO_SIZE = -1;

interface Row {
  readonly combination: number;
  readonly requests: number;
  readonly size: number | null;
}

const TOKENS = TOKEN_UNITS.map((unit) => UNIT_TABLE[unit].column);

const SIZES: { readonly [order in SeriesGrouping["order"]]: string } = {
  cost: `CASE WHEN priced_requests > 0 THEN cost_hi * ${COST_SEAM} + cost_lo END`,
  requests: "requests",
  tokens: `CASE WHEN coalesce(${TOKENS.join(", ")}) IS NOT NULL THEN ${TOKENS.map((column) => `coalesce(${column}, 0)`).join(" + ")} END`,
};
