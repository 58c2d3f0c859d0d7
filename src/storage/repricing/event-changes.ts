import type { InstantUs } from "#kernel/clock.ts";
import type { AppliedSums } from "#stats/repricing.ts";
import type { AppliedPrices } from "#kernel/price-variants.ts";
import type { Quantities } from "#kernel/units.ts";
import { COST_MEASURES, type CostChange } from "#storage/cells/counting.ts";
import { toDay, toHour } from "#storage/cells/calendar.ts";
import type { QuantityColumns } from "#storage/cells/event-row.ts";
import { toCellKey } from "#storage/cells/cells.ts";
import { packColumn, skipColumn, toPackedBytesMax, unpackColumn } from "#storage/cells/packed-column.ts";
import { joinCost, type SplitCost } from "#storage/cells/sums.ts";
import { toUnpricedBits } from "#storage/reports/event-measures.ts";

/** A row of `manner`: the result of an event, and its prices. */
export interface EventClass {
  readonly id: number;
  readonly result: number;
  readonly outcome: string;
  readonly status: number;
  readonly streamed: number;
  readonly prices: AppliedPrices;
  /** Equal for prices that are the same, however they are spelled. */
  readonly pricesKey: string;
}

export type EventRow = QuantityColumns & {
  readonly id: InstantUs;
  readonly lane: number;
  readonly combination: number;
  readonly manner: number;
  readonly duration_us: number;
  readonly cost_hi: number | null;
  readonly cost_lo: number | null;
};

/** The labels that the figures of a re-pricing are told by. */
export interface FigureLabels {
  readonly model: string;
  /** Undefined for the standard one. */
  readonly tier: string | undefined;
}

/** An event whose prices change. */
export interface EventChange {
  readonly row: EventRow;
  readonly labels: FigureLabels;
  /** What is billed: each token once. */
  readonly billed: Quantities;
  /** The request itself is billed from now on, and was not. */
  readonly isRequestGiven: boolean;
  readonly former: EventClass;
  readonly formerCost: SplitCost | null;
  /** False for a cost that its prices do not tell: it is kept beside them. */
  readonly isFormerCostDerived: boolean;
  readonly formerUnpriced: boolean;
  readonly prices: AppliedPrices;
  readonly pricesKey: string;
  readonly cost: SplitCost | null;
  readonly unpriced: boolean;
}

/** A row of `manner` that a change needs; 0 as `id` where it is to be found or made. */
export interface WantedClass {
  readonly id: number;
  readonly result: number;
  readonly streamed: number;
  /** As it is stored. */
  readonly prices: string;
  readonly unpriced: number;
}

/** No cost, in a column of halves. */
export const NO_COST = -1;

/** What is written of a stretch of the ledger, column by column, in the order of the events. */
export interface EventChanges {
  readonly ids: Float64Array;
  readonly lanes: Int32Array;
  /** Event classes that the events have until then. */
  readonly formers: Int32Array;
  /** By event, a place in `classes`. */
  readonly classOf: Int32Array;
  readonly classes: readonly WantedClass[];
  readonly costHi: Float64Array;
  readonly costLo: Float64Array;
  /** By event, 1 where the request itself is billed from then on, and -1 where it is no more (`GIVEN_REQUEST`). */
  readonly byRequest: Int32Array;
  /** What it changes of totals (`packTotals`). */
  readonly totals: Float64Array;
  /** What takes it back (`encodeFormers`); null for what takes something back itself. */
  readonly undo: Uint8Array | null;
}

/** In memory that all threads have: a copy of each stretch would hold up the one that hands it on and serves requests. */
export function toSharedBytes(bytes: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
}

function toSharedDoubles(values: ArrayLike<number>): Float64Array {
  const shared = new Float64Array(new SharedArrayBuffer(values.length * Float64Array.BYTES_PER_ELEMENT));
  shared.set(values);
  return shared;
}

function toSharedIntegers(values: ArrayLike<number>): Int32Array {
  const shared = new Int32Array(new SharedArrayBuffer(values.length * Int32Array.BYTES_PER_ELEMENT));
  shared.set(values);
  return shared;
}

/** Changes of the rows of events, by their ids in the order of the log. */
export type EventCosts = Pick<
  EventChanges,
  "ids" | "lanes" | "formers" | "costHi" | "costLo" | "byRequest"
> & {
  /** Ids of the classes that they have from then on. */
  readonly classIds: Int32Array;
};

const TOTAL_MEMBERS = [
  "hour",
  "endedDay",
  "combination",
  "result",
  "lane",
  "priced",
  "unpriced",
  "byRequest",
  "hi",
  "lo",
] as const satisfies readonly (keyof CostChange)[];

/** Changes of totals as numbers, member by member: thousands of objects would hold up the thread that hands them on. */
function packTotals(totals: readonly CostChange[]): Float64Array {
  return toSharedDoubles(totals.flatMap((total) => TOTAL_MEMBERS.map((member) => total[member])));
}

export function unpackTotals(
  packed: Float64Array,
  outcomes: ReadonlyMap<number, string>,
): readonly CostChange[] {
  return Array.from({ length: packed.length / TOTAL_MEMBERS.length }, (_, row) => {
    const at = row * TOTAL_MEMBERS.length;
    const [
      hour = 0,
      endedDay = 0,
      combination = 0,
      result = 0,
      lane = 0,
      priced = 0,
      unpriced = 0,
      byRequest = 0,
      hi = 0,
      lo = 0,
    ] = packed.subarray(at, at + TOTAL_MEMBERS.length);
    const outcome = outcomes.get(result) ?? "";
    return { hour, endedDay, combination, result, outcome, lane, priced, unpriced, byRequest, hi, lo };
  });
}

/** One event to be written. */
interface Written {
  readonly row: EventRow;
  readonly from: EventClass;
  readonly fromCost: SplitCost | null;
  readonly fromUnpriced: boolean;
  /** The place of the class that it has from then on. */
  readonly toPlace: number;
  readonly toCost: SplitCost | null;
  readonly toUnpriced: boolean;
  /** See `EventChanges`. */
  readonly byRequest: -1 | 0 | 1;
}

type GrowingTotal = { -readonly [Name in keyof CostChange]: CostChange[Name] };

/** Gathers what is written of a stretch. */
export class ChangeGatherer {
  readonly #written = {
    ids: new Array<number>(),
    lanes: new Array<number>(),
    formers: new Array<number>(),
    classOf: new Array<number>(),
    costHi: new Array<number>(),
    costLo: new Array<number>(),
    byRequest: new Array<number>(),
  };
  readonly #classes: WantedClass[] = [];
  readonly #placeOf = new Map<string, number>();
  /** Finds places by objects that many changes hold: spelling a key for each event takes as long as all else. */
  readonly #knownPlaces = new Map<EventClass, Map<AppliedPrices, number>>();
  /** By hour, day of the end and lane, and then by label set and result. */
  readonly #totals = new Map<string, Map<number, GrowingTotal>>();
  /** The last that was asked for: events come in the order of their hours. */
  #last = { hour: -1, endedDay: -1, lane: -1, totals: new Map<number, GrowingTotal>() };
  readonly #exceptions: { readonly at: number; readonly cost: SplitCost | null }[] = [];
  readonly #given: number[] = [];

  add({
    row,
    former,
    formerCost,
    formerUnpriced,
    prices,
    pricesKey,
    cost,
    unpriced,
    isFormerCostDerived,
    isRequestGiven,
  }: EventChange): void {
    const at = this.#written.ids.length;
    if (!isFormerCostDerived) this.#exceptions.push({ at, cost: formerCost });
    if (isRequestGiven) this.#given.push(at);
    const known = getMap(this.#knownPlaces, former);
    let toPlace = known.get(prices);
    if (toPlace === undefined) {
      const { result, streamed } = former;
      const spelled = { prices: JSON.stringify(prices), unpriced: toUnpricedBits(prices) };
      toPlace = this.place(`${result} ${streamed} ${pricesKey}`, { id: 0, result, streamed, ...spelled });
      known.set(prices, toPlace);
    }
    this.write({
      row,
      from: former,
      fromCost: formerCost,
      fromUnpriced: formerUnpriced,
      toPlace,
      toCost: cost,
      toUnpriced: unpriced,
      byRequest: isRequestGiven ? 1 : 0,
    });
  }

  /** The place of a class whose key is equal for classes that are the same. */
  place(key: string, wanted: WantedClass): number {
    let place = this.#placeOf.get(key);
    if (place === undefined) {
      this.#placeOf.set(key, (place = this.#classes.length));
      this.#classes.push(wanted);
    }
    return place;
  }

  write({ row, from, fromCost, fromUnpriced, toPlace, toCost, toUnpriced, byRequest }: Written): void {
    const { ids, lanes, formers, classOf, costHi, costLo, byRequest: requests } = this.#written;
    ids.push(row.id);
    lanes.push(row.lane);
    formers.push(from.id);
    classOf.push(toPlace);
    costHi.push(toCost?.hi ?? NO_COST);
    costLo.push(toCost?.lo ?? NO_COST);
    requests.push(byRequest);
    const total = this.#getTotal(row, from);
    total.priced += Number(toCost !== null) - Number(fromCost !== null);
    total.unpriced += Number(toUnpriced) - Number(fromUnpriced);
    total.byRequest += byRequest;
    total.hi += (toCost?.hi ?? 0) - (fromCost?.hi ?? 0);
    total.lo += (toCost?.lo ?? 0) - (fromCost?.lo ?? 0);
  }

  #getTotal({ id, duration_us, lane, combination }: EventRow, { result, outcome }: EventClass): GrowingTotal {
    const [hour, endedDay] = [toHour(id), toDay(id + duration_us)];
    if (this.#last.hour !== hour || this.#last.endedDay !== endedDay || this.#last.lane !== lane)
      this.#last = { hour, endedDay, lane, totals: getMap(this.#totals, `${hour} ${endedDay} ${lane}`) };
    const key = toCellKey(combination, result);
    let total = this.#last.totals.get(key);
    if (total === undefined) {
      const place = { hour, endedDay, combination, result, outcome, lane };
      this.#last.totals.set(key, (total = { ...place, priced: 0, unpriced: 0, byRequest: 0, hi: 0, lo: 0 }));
    }
    return total;
  }

  get isEmpty(): boolean {
    return this.#written.ids.length === 0;
  }

  /** What it changes of totals, in any order. */
  totals(): readonly CostChange[] {
    return [...this.#totals.values()].flatMap((totals) => [...totals.values()].filter(isChange));
  }

  /** Without `areCellsOpen` those of an hour are one for each outcome, unless they are carried: thousands less to hand on. */
  toChanges({
    isUndone,
    areCellsOpen,
  }: {
    readonly isUndone: boolean;
    readonly areCellsOpen: boolean;
  }): EventChanges {
    const { ids, lanes, formers, classOf, costHi, costLo, byRequest } = this.#written;
    const totals = areCellsOpen
      ? this.totals()
      : [...this.#totals.values()].flatMap((ofHour) => joinUncarried(ofHour));
    return {
      ids: toSharedDoubles(ids),
      lanes: toSharedIntegers(lanes),
      formers: toSharedIntegers(formers),
      classOf: toSharedIntegers(classOf),
      classes: this.#classes,
      costHi: toSharedDoubles(costHi),
      costLo: toSharedDoubles(costLo),
      byRequest: toSharedIntegers(byRequest),
      totals: packTotals(totals),
      undo: isUndone
        ? toSharedBytes(
            encodeFormers({ ids, lanes, formers, exceptions: this.#exceptions, given: this.#given }, totals),
          )
        : null,
    };
  }
}

const CHANGED_MEMBERS = Object.values(COST_MEASURES);

function isChange(total: CostChange): boolean {
  return CHANGED_MEMBERS.some((member) => total[member] !== 0);
}

/** Those of an hour, a day of the end and a lane. */
function joinUncarried(totals: ReadonlyMap<number, CostChange>): readonly CostChange[] {
  const joined = new Map<string, GrowingTotal>();
  for (const total of totals.values()) {
    if (total.endedDay !== Math.floor(total.hour / 24)) return [...totals.values()].filter(isChange);
    const sum = joined.get(total.outcome);
    if (sum === undefined) joined.set(total.outcome, { ...total });
    else for (const member of CHANGED_MEMBERS) sum[member] += total[member];
  }
  return [...joined.values()].filter(isChange);
}

function getMap<Key, InnerKey, Value>(maps: Map<Key, Map<InnerKey, Value>>, key: Key): Map<InnerKey, Value> {
  let found = maps.get(key);
  if (found === undefined) maps.set(key, (found = new Map<InnerKey, Value>()));
  return found;
}

/** The events of a stretch as they were: their classes, and costs that these do not tell. */
export interface FormerEvents {
  readonly ids: readonly InstantUs[];
  readonly lanes: readonly number[];
  readonly formers: readonly number[];
  readonly exceptions: readonly { readonly at: number; readonly cost: SplitCost | null }[];
  /** Places of requests that were not billed by themselves. */
  readonly given: readonly number[];
}

const COUNT_BYTES = 4;

/** Columns behind the numbers of their rows, compressed: some three bytes an event. The last one is read by `readApplied`. */
function encodeFormers(
  { ids, lanes, formers, exceptions, given }: FormerEvents,
  totals: readonly CostChange[],
): Uint8Array<ArrayBuffer> {
  const add = (member: "unpriced" | "hi" | "lo") => totals.reduce((sum, total) => sum + total[member], 0);
  const columns = [
    Float64Array.from(ids, (id, row) => id - (ids[row - 1] ?? 0)),
    Float64Array.from(lanes),
    Float64Array.from(formers),
    Float64Array.from(exceptions, ({ at }) => at),
    Float64Array.from(exceptions, ({ cost }) => cost?.hi ?? NO_COST),
    Float64Array.from(exceptions, ({ cost }) => cost?.lo ?? NO_COST),
    Float64Array.from(given),
    Float64Array.of(add("unpriced"), add("hi"), add("lo")),
  ];
  const sizeMax = columns.reduce((sum, { length }) => sum + COUNT_BYTES + toPackedBytesMax(length), 0);
  const view = new DataView(new ArrayBuffer(sizeMax));
  let end = 0;
  for (const column of columns) {
    view.setUint32(end, column.length, true);
    end = packColumn(view, end + COUNT_BYTES, column);
  }
  return new Uint8Array(Bun.zstdCompressSync(new Uint8Array(view.buffer, 0, end)));
}

/** The number of columns before the sums. */
const FORMER_COLUMNS = 7;

/** The sum of a stretch's changes; null where it was written without one. */
export function readApplied(encoded: Uint8Array<ArrayBuffer>): AppliedSums | null {
  const bytes = Bun.zstdDecompressSync(encoded);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  for (let column = 0; column < FORMER_COLUMNS && at < bytes.length; column += 1)
    at = skipColumn(view, at + COUNT_BYTES, view.getUint32(at, true));
  if (at === bytes.length) return null;
  const sums = unpackColumn(view, at + COUNT_BYTES, view.getUint32(at, true));
  const [unpriced = 0, hi = 0, lo = 0] = sums;
  return { requests: view.getUint32(0, true), costPico: joinCost(hi, lo), unpriced };
}

export function decodeFormers(encoded: Uint8Array<ArrayBuffer>): FormerEvents {
  const bytes = Bun.zstdDecompressSync(encoded);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const read = () => {
    // What was written when no request was given a price of its own ends before the last column.
    if (at === bytes.length) return [];
    const count = view.getUint32(at, true);
    const begin = at + COUNT_BYTES;
    at = skipColumn(view, begin, count);
    return [...unpackColumn(view, begin, count)];
  };
  const differences = read();
  const [lanes, formers, places, highs, lows, given] = [read(), read(), read(), read(), read(), read()];
  let id = 0;
  return {
    ids: differences.map((difference) => (id += difference)),
    lanes,
    formers,
    exceptions: places.map((place, row) => {
      const [hi = NO_COST, lo = NO_COST] = [highs[row], lows[row]];
      return { at: place, cost: hi === NO_COST ? null : { hi, lo } };
    }),
    given,
  };
}
