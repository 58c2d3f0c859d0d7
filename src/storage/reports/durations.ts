import { dialectOf, each, type Script } from "#storage/sql/script.ts";
import type { PercentileState } from "#stats/breakdown-query.ts";
import type { Window } from "#stats/filter.ts";
import type { Percentiles } from "#stats/store.ts";
import type { RawRange, WindowCut } from "./window-cut.ts";
import { toRowsFrom } from "./window-cut.ts";
import { prepareEvents, toEventJoins } from "./chosen-events.ts";
import { readEdges } from "./ledger-edges.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { countInHours } from "./row-window.ts";

/** Requests of which durations are read: 0.45 s (measured), and 40 MB of memory. */
const DURATIONS_MAX = 1_000_000;

interface DurationPercentiles {
  readonly durationUs: Percentiles;
  readonly firstByteUs: Percentiles;
}

interface Durations {
  readonly total: DurationPercentiles;
  /** In the order of the groups. */
  readonly ofGroups: readonly DurationPercentiles[];
}

const NONE: Percentiles = { p50: null, p95: null };
/** Where durations are not read. */
export const NO_DURATIONS: Durations = { total: { durationUs: NONE, firstByteUs: NONE }, ofGroups: [] };

type DurationRange =
  | { readonly state: "exact"; readonly ranges: readonly RawRange[] }
  | { readonly state: Exclude<PercentileState, "exact"> };

/** The rows of a window that was cut, if all are there and there are not too many: percentiles are exact, or there are none. */
export function* findDurationRange(
  {
    cut,
    window,
    filter,
  }: { readonly cut: WindowCut; readonly window: Window; readonly filter: ResolvedFilter },
  durationsMax = DURATIONS_MAX,
): Script<DurationRange> {
  const ranges = filter.rows === null ? yield* findRanges(cut, window) : cut.raw;
  if (ranges === null) return { state: "rows_removed" };
  let count = 0;
  for (const range of ranges) count += yield* countInHours(range);
  return count > durationsMax ? { state: "too_many_requests" } : { state: "exact", ranges };
}

/** Null when retention has removed rows of the window. */
function* findRanges({ snapped }: WindowCut, window: Window): Script<readonly RawRange[] | null> {
  const edges = yield* readEdges();
  if (edges === null) return [];
  const rowsFromUs = toRowsFrom(edges);
  const fromUs = Math.max(window.sinceUs ?? edges.firstUs, edges.firstUs);
  const toUs = Math.min(window.untilUs ?? edges.endUs, edges.endUs);
  const isRemoved = rowsFromUs > edges.firstUs && (snapped !== null || fromUs < rowsFromUs);
  if (fromUs >= toUs) return [];
  return isRemoved ? null : [{ fromUs, toUs }];
}

/**
 * Percentiles of requests that ended `ok`, of all and of each of `groups`, which are numbers that `groupOf` has for
 * combinations. Row by row: no row is kept but its two durations.
 */
export function* readDurations(
  filter: ResolvedFilter,
  {
    ranges,
    groupOf,
    groups,
  }: {
    readonly ranges: readonly RawRange[];
    readonly groupOf: Int32Array;
    readonly groups: readonly (readonly number[])[];
  },
): Script<Durations> {
  const placeOf = new Map(groups.flatMap((group, place) => group.map((one) => [one, place] as const)));
  const durations = groups.map(() => new Column());
  const firstBytes = groups.map(() => new Column());
  const rest = { durations: new Column(), firstBytes: new Column() };
  const joins = toEventJoins(yield* dialectOf(), filter);
  if (ranges.length > 0) yield* prepareEvents(filter);
  for (const { fromUs, toUs } of ranges) {
    yield* each<DurationRow>(
      `SELECT e.combination, e.duration_us, CASE WHEN m.streamed = 1 THEN e.first_byte_us END AS first_byte_us
       FROM event AS e ${joins} WHERE e.id >= ? AND e.id < ? AND m.ok = 1`,
      [fromUs, toUs],
      (row) => {
        const place = placeOf.get(groupOf[row.combination] ?? 0) ?? -1;
        (durations[place] ?? rest.durations).push(row.duration_us);
        if (row.first_byte_us !== null) (firstBytes[place] ?? rest.firstBytes).push(row.first_byte_us);
      },
    );
  }
  return {
    total: {
      durationUs: toPercentiles(joinColumns([...durations, rest.durations])),
      firstByteUs: toPercentiles(joinColumns([...firstBytes, rest.firstBytes])),
    },
    ofGroups: durations.map((column, place) => ({
      durationUs: toPercentiles(column.values()),
      firstByteUs: toPercentiles(firstBytes[place]?.values() ?? new Float64Array()),
    })),
  };
}

interface DurationRow {
  readonly combination: number;
  readonly duration_us: number;
  readonly first_byte_us: number | null;
}

/** Sorts what it is given. */
function toPercentiles(values: Float64Array): Percentiles {
  values.sort();
  const at = (percent: number) => values[Math.ceil((values.length * percent) / 100) - 1] ?? null;
  return { p50: at(50), p95: at(95) };
}

function joinColumns(columns: readonly Column[]): Float64Array {
  const parts = columns.map((column) => column.values());
  const joined = new Float64Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

const VALUES_MIN = 16;

/** Numbers one behind the other; grows by doubling. */
class Column {
  #values = new Float64Array(VALUES_MIN);
  #length = 0;

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const grown = new Float64Array(this.#length * 2);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.#length] = value;
    this.#length += 1;
  }

  /** The numbers themselves, in the order in which they came. */
  values(): Float64Array {
    return this.#values.subarray(0, this.#length);
  }
}
