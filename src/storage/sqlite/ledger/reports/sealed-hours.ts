import type { Database } from "bun:sqlite";
import { HOUR_US } from "#kernel/clock.ts";
import type { HourColumns } from "#storage/ledger/rows/hour-cells.ts";
import { CELL_MEASURES, CELL_OUTCOMES, decodeHour } from "#storage/ledger/rows/hour-cells.ts";
import { COST_SEAM } from "#storage/ledger/rows/sums.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import type { BucketRange, SeriesSum } from "./series-sum.ts";

interface HourRow {
  readonly hour: number;
  readonly cells: Uint8Array<ArrayBuffer>;
}

interface SealedSums {
  readonly sums: readonly SeriesSum[];
  /** What is left to be read row by row. */
  readonly rest: readonly BucketRange[];
}

/** Adds up the whole hours in the ranges that are in `sealed_hour`. Grouped ones need `saveGroups` before. */
export function sumSealedHours(
  database: Database,
  { ranges, filter }: { readonly ranges: readonly BucketRange[]; readonly filter: ResolvedFilter },
  isGrouped: boolean,
): SealedSums {
  const query = database.query<HourRow, [number, number]>(
    "SELECT hour, cells FROM sealed_hour WHERE hour >= ? AND hour < ? ORDER BY hour",
  );
  const cells = new CellSums(findGroups(database, filter, isGrouped), filter.outcomes);
  const sums: SeriesSum[] = [];
  const rest: BucketRange[] = [];
  for (const { bucket, from, to } of ranges) {
    let restFrom = from;
    for (const row of query.all(Math.ceil(from / HOUR_US), Math.floor(to / HOUR_US))) {
      const hourFrom = row.hour * HOUR_US;
      if (restFrom < hourFrom) rest.push({ bucket, from: restFrom, to: hourFrom });
      cells.add(decodeHour(row.cells));
      restFrom = hourFrom + HOUR_US;
    }
    if (restFrom < to) rest.push({ bucket, from: restFrom, to });
    for (const sum of cells.take(bucket)) sums.push(sum);
  }
  return { sums, rest };
}

const NOT_CHOSEN = -1;

/** The group of each combination by its id; 0 for all that are chosen where there are no groups. */
function findGroups(database: Database, { combinations }: ResolvedFilter, isGrouped: boolean): Int32Array {
  const rows = database
    .query<{ id: number; group_id: number }, []>(
      isGrouped
        ? "SELECT id, group_id FROM combination_group"
        : `SELECT id, 0 AS group_id FROM ${combinations}`,
    )
    .all();
  const last = rows.reduce((most, { id }) => Math.max(most, id), 0);
  const groups = new Int32Array(last + 1).fill(NOT_CHOSEN);
  for (const row of rows) groups[row.id] = row.group_id;
  return groups;
}

type Measure = (typeof CELL_MEASURES)[number];

/** What cells add up to by group. Column by column: half a million cells take some milliseconds. */
class CellSums {
  readonly #groupOf: Int32Array;
  /** By the place in `CELL_OUTCOMES`. */
  readonly #isChosen: readonly boolean[];
  readonly #touched: number[] = [];
  readonly #isTouched: Uint8Array;
  /** Requests by group, for each of `CELL_OUTCOMES`. */
  readonly #requests: readonly Float64Array[];
  /** By group, for each of `CELL_MEASURES`; NaN where nothing was reported. */
  readonly #sums: ReadonlyMap<Measure, Float64Array>;

  constructor(groupOf: Int32Array, outcomes: readonly string[] | null) {
    this.#groupOf = groupOf;
    this.#isChosen = CELL_OUTCOMES.map((outcome) => outcomes === null || outcomes.includes(outcome));
    const groups = groupOf.reduce((most, group) => Math.max(most, group), 0) + 1;
    this.#isTouched = new Uint8Array(groups);
    this.#requests = CELL_OUTCOMES.map(() => new Float64Array(groups));
    this.#sums = new Map(
      CELL_MEASURES.map((measure) => [measure, new Float64Array(groups).fill(Number.NaN)]),
    );
  }

  add({ count, combinations, outcomes, measures }: HourColumns): void {
    const places = new Int32Array(count);
    for (let cell = 0; cell < count; cell += 1) {
      const group = this.#groupOf[combinations[cell] ?? 0] ?? NOT_CHOSEN;
      const outcome = outcomes[cell] ?? 0;
      const place = this.#isChosen[outcome] === true ? group : NOT_CHOSEN;
      places[cell] = place;
      if (place === NOT_CHOSEN) continue;
      if (this.#isTouched[place] === 0) {
        this.#isTouched[place] = 1;
        this.#touched.push(place);
      }
      const requests = this.#requests[outcome];
      if (requests !== undefined) requests[place] = (requests[place] ?? 0) + (measures[0]?.[cell] ?? 0);
    }
    for (const [index, measure] of CELL_MEASURES.entries()) {
      const values = measures[index];
      const sums = this.#sums.get(measure);
      if (values !== undefined && sums !== undefined) addColumn(sums, places, values);
    }
  }

  /** The sums of every group that something was added to, which are forgotten. */
  *take(bucket: number): Generator<SeriesSum> {
    for (const group of this.#touched) {
      const sum = (measure: Measure) => this.#sums.get(measure)?.[group] ?? 0;
      const reported = (measure: Measure) => (Number.isNaN(sum(measure)) ? null : sum(measure));
      const [ok = 0, cancelled = 0, upstreamError = 0] = this.#requests.map((requests) => requests[group]);
      const carry = Math.floor(sum("cost_lo") / COST_SEAM);
      yield {
        period: bucket,
        group_id: group,
        requests: sum("requests"),
        ok,
        cancelled,
        upstream_error: upstreamError,
        priced_requests: sum("priced_requests"),
        unpriced_requests: sum("unpriced_requests"),
        cost_hi: sum("cost_hi") + carry,
        cost_lo: sum("cost_lo") - carry * COST_SEAM,
        input_tokens: reported("input_tokens"),
        output_tokens: reported("output_tokens"),
        cached_input_tokens: reported("cached_input_tokens"),
        audio_us: reported("audio_us"),
      };
      this.#isTouched[group] = 0;
      for (const requests of this.#requests) requests[group] = 0;
      for (const sums of this.#sums.values()) sums[group] = Number.NaN;
    }
    this.#touched.length = 0;
  }
}

function addColumn(sums: Float64Array, places: Int32Array, values: Float64Array): void {
  for (let cell = 0; cell < places.length; cell += 1) {
    const place = places[cell] ?? NOT_CHOSEN;
    const value = values[cell] ?? NOT_REPORTED;
    if (place === NOT_CHOSEN || value === NOT_REPORTED) continue;
    const sum = sums[place] ?? 0;
    sums[place] = Number.isNaN(sum) ? value : sum + value;
  }
}

const NOT_REPORTED = -1;
