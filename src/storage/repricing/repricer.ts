import { UNBILLED_ENDPOINTS } from "#catalog/endpoint.ts";
import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import type { AppliedPrices, ModelPrices } from "#kernel/price-variants.ts";
import { findUnitPrice, isUnit, type PricePico, type Quantities, type Unit, UNITS } from "#kernel/units.ts";
import type { PriceSpan, RepricedUnit, RepricingFigures, RepricingTerms } from "#stats/repricing.ts";
import { toDay } from "#storage/cells/calendar.ts";
import { QUANTITY_COLUMNS, type QuantityColumns, readQuantities } from "#storage/cells/event-row.ts";
import { joinCost, type SplitCost, splitCost } from "#storage/cells/sums.ts";
import { toChosenBindings, toEventJoins } from "#storage/reports/chosen-events.ts";
import { groupLabelSets, type LabelGroups, NOT_CHOSEN } from "#storage/reports/label-groups.ts";
import { resolveFilter, withConditions } from "#storage/reports/request-filter.ts";
import { all, type Binding, dialectOf, type Script } from "#storage/sql/script.ts";
import { choosePrices, isBilledByRequest, priceDisjoint, toDisjointQuantities } from "#usage/cost.ts";
import { isSuccess, RELAY_PROVIDER, type ReportedUsage } from "#usage/event.ts";
import { toPrices, toShape } from "#usage/journal-line.ts";
import type { EventChange, EventClass, EventRow, FigureLabels } from "./event-changes.ts";

type ClassRow = Omit<EventClass, "prices" | "pricesKey"> & { readonly prices: string };

/** The classes of events by their ids: some hundred. */
export function* readEventClasses(): Script<ReadonlyMap<number, EventClass>> {
  const rows = yield* all<ClassRow>(
    `SELECT m.id, m.result, r.outcome, r.status_code AS status, m.streamed, p.prices FROM manner AS m
     JOIN result AS r ON r.id = m.result JOIN price_set AS p ON p.id = m.price_set`,
  );
  return new Map(
    rows.map((row) => {
      const prices = toPrices(JSON.parse(row.prices));
      return [row.id, { ...row, prices, pricesKey: toPricesKey(prices) }];
    }),
  );
}

function toPricesKey(prices: AppliedPrices): string {
  const { when = null, lacks = null } = prices;
  return JSON.stringify([UNITS.map((unit) => prices[unit] ?? null), when, lacks]);
}

/** The columns of `event AS e` that an `EventRow` has. */
export function* toEventColumns(): Script<string> {
  const { toLane } = yield* dialectOf();
  return `e.id, ${toLane("e")} AS lane, e.combination, e.manner, e.duration_us, e.cost_hi, e.cost_lo,
    ${QUANTITY_COLUMNS.map((column) => `e.${column}`).join(", ")}`;
}

/** Rows without rare units, which are nearly all, are read without a list of all units. */
export function readUsage(row: QuantityColumns, told: ReportedUsage["shape"] | null): ReportedUsage {
  const shape = told ?? "begun";
  if (row.other_units !== null) return { shape, quantities: readQuantities(row) };
  const { input_tokens: input, output_tokens: output, cached_input_tokens: cached } = row;
  const quantities: { [unit in Unit]?: number } = {};
  if (input !== null) quantities.input_tokens = input;
  if (output !== null) quantities.output_tokens = output;
  if (cached !== null) quantities.cached_input_tokens = cached;
  return { shape, quantities };
}

export function readCost({
  cost_hi: hi,
  cost_lo: lo,
}: Pick<EventRow, "cost_hi" | "cost_lo">): SplitCost | null {
  return hi === null || lo === null ? null : { hi, lo };
}

export function isSameCost(one: SplitCost | null, other: SplitCost | null): boolean {
  return one === other || (one?.hi === other?.hi && one?.lo === other?.lo);
}

/** A stretch of the ledger that was looked at. */
export interface PricedStretch {
  /** Where it ends; all rows before are done. */
  readonly untilUs: InstantUs;
  /** Rows that were looked at. */
  readonly eventCount: number;
}

/** The labels that a price depends on. A price has one tier, so that `tier` is null for the standard one. */
interface PricedGroup extends FigureLabels {
  /** Null where no usage was told. */
  readonly shape: ReportedUsage["shape"] | null;
  /** True where a request is billed by itself if some price is by the request (`withBilledRequest`). */
  readonly isBilled: boolean;
  readonly isRelayed: boolean;
  readonly geo: string | undefined;
  readonly spans: readonly PriceSpan[];
}

interface RepricerParts {
  readonly terms: RepricingTerms;
  readonly classes: ReadonlyMap<number, EventClass>;
  readonly groups: LabelGroups;
  readonly sql: string;
  readonly rowsMax: number;
  readonly bindings: readonly Binding[];
  /** A byte for each result, by its id less one: 0 for one that is not chosen. */
  readonly results: Uint8Array;
}

/**
 * Prices events again by some terms and hands each on whose prices change: the figures of a plan and what is written are made of
 * the same changes.
 */
export class Repricer {
  readonly #parts: RepricerParts;
  readonly #priced: readonly (PricedGroup | null)[];
  /** Prices are a few objects that the terms hold. */
  readonly #keyOf = new Map<AppliedPrices, string>();
  readonly #byRequestOf = new Map<AppliedPrices, boolean>();
  readonly #freeOf = new Map<AppliedPrices, AppliedPrices>();

  private constructor(parts: RepricerParts) {
    this.#parts = parts;
    const pricesOf = new Map(parts.terms.prices);
    const modelsAlone = new Set(parts.terms.history?.models);
    this.#priced = parts.groups.values.map((values) => {
      const [model = null, tier = null, geo = null, told = null, provider = null, endpoint = null] = values;
      const isRelayed = provider === RELAY_PROVIDER;
      if (isRelayed && model !== null && modelsAlone.has(model)) return null;
      const spans = model === null ? undefined : pricesOf.get(model);
      if (model === null || spans === undefined) return null;
      const isBilled = endpoint !== null && !UNBILLED_ENDPOINTS.has(endpoint);
      const conditions = { tier: tier ?? undefined, geo: geo ?? undefined };
      return { model, shape: toShape(told), ...conditions, spans, isBilled, isRelayed };
    });
  }

  /** `rowsMax`: rows that are looked at at once. */
  static *open(terms: RepricingTerms, rowsMax: number): Script<Repricer> {
    const asked = yield* resolveFilter(terms.query);
    const models = new Set(terms.prices.map(([model]) => model));
    const filter = withConditions(
      asked,
      { label: "model", isMet: (model) => models.has(model) },
      // What waits for its settlement has no quantities, and its prices come with them.
      { label: "shape", isMet: (shape) => shape !== "pending", isMetByNone: true },
    );
    const labels = ["model", "tier", "geo", "shape", "provider_id", "endpoint"] as const;
    const groups = yield* groupLabelSets(
      filter,
      labels.map((label) => ({ label })),
    );
    const dialect = yield* dialectOf();
    const key = dialect.eventKey.map((column) => `e.${column}`).join(", ");
    const chosen = toChosenBindings({ filter, groups });
    const isJoined = filter.rows !== null || isNarrow(groups.shapes);
    return new Repricer({
      terms,
      classes: yield* readEventClasses(),
      groups,
      sql: `SELECT ${yield* toEventColumns()} FROM event AS e ${isJoined ? toEventJoins(dialect, filter) : ""}
        WHERE e.id >= ? AND e.id < ? ORDER BY ${key} LIMIT ${rowsMax}`,
      rowsMax,
      bindings: isJoined ? chosen : [],
      results: chosen[1],
    });
  }

  /** Looks at the rows of one UTC day, or as many of them as are looked at at once. */
  *price(
    fromUs: InstantUs,
    endUs: InstantUs,
    onChange: (change: EventChange) => void,
  ): Script<PricedStretch> {
    const { terms, classes, groups, sql, rowsMax, bindings, results } = this.#parts;
    const dayEndUs = Math.min((toDay(fromUs) + 1) * DAY_US, endUs);
    let rows = yield* all<EventRow>(sql, [...bindings, fromUs, dayEndUs]);
    let untilUs = dayEndUs;
    const last = rows.at(-1);
    if (rows.length === rowsMax && last !== undefined) {
      // Other lanes may have more of the last instant.
      untilUs = last.id;
      rows = rows.filter(({ id }) => id < untilUs);
    }
    let eventCount = 0;
    for (const row of rows) {
      const groupId = groups.groupOf[row.combination] ?? NOT_CHOSEN;
      const former = classes.get(row.manner);
      if (groupId === NOT_CHOSEN || former === undefined || !results[former.result - 1]) continue;
      if (row.id + row.duration_us > terms.plannedAtUs) continue;
      eventCount += 1;
      const group = this.#priced[groupId] ?? null;
      const change = group === null ? null : this.#toChange(row, group, former);
      if (change !== null) onChange(change);
    }
    return { untilUs, eventCount };
  }

  #toChange(row: EventRow, group: PricedGroup, former: EventClass): EventChange | null {
    const endedAtUs = row.id + row.duration_us;
    const span = findSpan(group.spans, endedAtUs);
    if (span === null) return null;
    const usage = readUsage(row, group.shape);
    const chosen = choosePrices(span, { tier: group.tier, geo: group.geo, usage, endedAtUs });
    const told = toDisjointQuantities(usage);
    const isByRequest = this.#isByRequest(chosen, span);
    const isRequestGiven = isByRequest && told.requests === undefined && isBillable(group, former, told);
    const billed = isRequestGiven ? { ...told, requests: 1 } : told;
    // Without its usage a request has no price but that one, and what used nothing by its nature, as a count of tokens, has none.
    if (group.shape === null ? billed.requests === undefined : isNothing(billed)) return null;
    const prices = told.requests !== undefined && !isByRequest ? this.#withoutFee(chosen) : chosen;
    const before = priceDisjoint(told, former.prices);
    if (this.#parts.terms.isUnpricedOnly && !before.unpriced) return null;
    const after = priceDisjoint(billed, prices);
    const cost = splitCost(after.costPico);
    const pricesKey = this.#toKey(prices);
    const formerCost = readCost(row);
    if (pricesKey === former.pricesKey && isSameCost(cost, formerCost) && !isRequestGiven) return null;
    return {
      row,
      labels: group,
      billed,
      isRequestGiven,
      former,
      formerCost,
      isFormerCostDerived: isSameCost(formerCost, splitCost(before.costPico)),
      formerUnpriced: before.unpriced,
      prices,
      pricesKey,
      cost,
      unpriced: after.unpriced,
    };
  }

  /**
   * A request that was billed by itself costs nothing where no price is by the request. Its quantity stays, since later prices may
   * be by the request again, and without a price it would leave the whole request unpriced.
   */
  #withoutFee(prices: AppliedPrices): AppliedPrices {
    let free = this.#freeOf.get(prices);
    if (free === undefined) this.#freeOf.set(prices, (free = { ...prices, requests: 0 }));
    return free;
  }

  #isByRequest(prices: AppliedPrices, of: ModelPrices): boolean {
    // What lacks prices is one object for all models.
    if (prices.lacks !== undefined) return isBilledByRequest(prices, of);
    let is = this.#byRequestOf.get(prices);
    if (is === undefined) this.#byRequestOf.set(prices, (is = isBilledByRequest(prices, of)));
    return is;
  }

  #toKey(prices: AppliedPrices): string {
    let key = this.#keyOf.get(prices);
    if (key === undefined) this.#keyOf.set(prices, (key = toPricesKey(prices)));
    return key;
  }
}

function isNothing(quantities: Quantities): boolean {
  for (const unit in quantities) if (isUnit(unit)) return false;
  return true;
}

/** To choose rows in SQL takes 0.4 µs each (measured), which pays where most of them are left out. */
function isNarrow(shapes: Uint8Array): boolean {
  let count = 0;
  for (const shape of shapes) count += Number(shape > 0);
  return count < shapes.length / 2;
}

/** As `withBilledRequest` is asked: its upstream answered 2xx, and it used something. */
function isBillable(
  { isBilled, isRelayed, shape }: PricedGroup,
  { status }: EventClass,
  told: Quantities,
): boolean {
  if (!isBilled || !isSuccess(status)) return false;
  // The relay tells what only asks or counts as a usage without quantities.
  return !isRelayed || shape === null || Object.keys(told).length > 0;
}

/** The last that begins by then. */
function findSpan(spans: readonly PriceSpan[], atUs: InstantUs): ModelPrices | null {
  for (let index = spans.length - 1; index >= 0; index -= 1) {
    const span = spans[index];
    if (span !== undefined && span.fromUs <= atUs) return span.prices;
  }
  return null;
}

const MICROS = 1_000_000;

interface UnitSum {
  /** Whole quantities, and millionths of those that have fractions. */
  whole: number;
  micros: bigint;
  requests: number;
  /** Requests that get the unit: before, they had none of it. */
  given: number;
}

/** The requests of a model and tier that change from one price set to another, by unit. */
interface PriceChange {
  readonly labels: FigureLabels;
  readonly before: AppliedPrices;
  readonly after: AppliedPrices;
  readonly units: Map<Unit, UnitSum>;
}

/** Adds changes up to the figures of a re-pricing: of some million at most, whose halves of costs then add up exactly. */
export class FigureSums {
  readonly #changes = new Map<string, PriceChange>();
  /** Finds changes by objects that many events hold: spelling a key for each event takes as long as all else. */
  readonly #known = new Map<FigureLabels, Map<EventClass, Map<AppliedPrices, PriceChange>>>();
  #requests = 0;
  readonly #before = { hi: 0, lo: 0 };
  readonly #after = { hi: 0, lo: 0 };
  #unpricedBefore = 0;
  #unpricedAfter = 0;

  add(change: EventChange): void {
    this.#requests += 1;
    addCost(this.#before, change.formerCost);
    addCost(this.#after, change.cost);
    if (change.formerUnpriced) this.#unpricedBefore += 1;
    if (change.unpriced) this.#unpricedAfter += 1;
    const { labels, former, prices } = change;
    const known = this.#known.get(labels)?.get(former)?.get(prices) ?? this.#getChange(change);
    addQuantities(known.units, change.billed);
    const ofRequests = change.isRequestGiven ? known.units.get("requests") : undefined;
    if (ofRequests !== undefined) ofRequests.given += 1;
  }

  #getChange({ labels, former, prices, pricesKey }: EventChange): PriceChange {
    const key = `${labels.model}\0${labels.tier ?? ""}\0${former.pricesKey}\0${pricesKey}`;
    let found = this.#changes.get(key);
    if (found === undefined) {
      found = { labels, before: former.prices, after: prices, units: new Map() };
      this.#changes.set(key, found);
    }
    const ofLabels = this.#known.get(labels) ?? new Map<EventClass, Map<AppliedPrices, PriceChange>>();
    const ofClass = ofLabels.get(former) ?? new Map<AppliedPrices, PriceChange>();
    this.#known.set(labels, ofLabels.set(former, ofClass.set(prices, found)));
    return found;
  }

  toFigures(): RepricingFigures {
    const units = [...this.#changes.values()].flatMap((change) =>
      [...change.units].map(([unit, sum]) => toRepricedUnit(change, unit, sum)),
    );
    return {
      requests: this.#requests,
      costBeforePico: joinCost(this.#before.hi, this.#before.lo),
      costAfterPico: joinCost(this.#after.hi, this.#after.lo),
      unpricedBefore: this.#unpricedBefore,
      unpricedAfter: this.#unpricedAfter,
      units,
    };
  }
}

function addCost(sum: { hi: number; lo: number }, cost: SplitCost | null): void {
  if (cost === null) return;
  sum.hi += cost.hi;
  sum.lo += cost.lo;
}

function addQuantities(units: Map<Unit, UnitSum>, quantities: Quantities): void {
  for (const unit in quantities) {
    if (!isUnit(unit)) continue;
    const quantity = quantities[unit];
    if (quantity === undefined || quantity <= 0) continue;
    let sum = units.get(unit);
    if (sum === undefined) units.set(unit, (sum = { whole: 0, micros: 0n, requests: 0, given: 0 }));
    sum.requests += 1;
    const whole = Math.floor(quantity);
    if (sum.whole + whole <= Number.MAX_SAFE_INTEGER) sum.whole += whole;
    else sum.micros += BigInt(whole) * BigInt(MICROS);
    if (whole !== quantity) sum.micros += BigInt(Math.round((quantity - whole) * MICROS));
  }
}

function toRepricedUnit({ labels, before, after }: PriceChange, unit: Unit, sum: UnitSum): RepricedUnit {
  const quantityMicros = BigInt(sum.whole) * BigInt(MICROS) + sum.micros;
  const givenMicros = BigInt(sum.given) * BigInt(MICROS);
  const [priceBefore, priceAfter] = [findUnitPrice(before, unit), findUnitPrice(after, unit)];
  const toCost = (micros: bigint, price: PricePico | null) =>
    price === null ? 0n : (micros * BigInt(price) + BigInt(MICROS / 2)) / BigInt(MICROS);
  return {
    model: labels.model,
    unit,
    tier: labels.tier ?? null,
    quantityMicros,
    requests: sum.requests,
    costBeforePico: toCost(quantityMicros - givenMicros, priceBefore),
    costAfterPico: toCost(quantityMicros, priceAfter),
    unpricedBefore: priceBefore === null ? sum.requests - sum.given : 0,
    unpricedAfter: priceAfter === null ? sum.requests : 0,
  };
}
