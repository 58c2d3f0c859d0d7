import { compareCodeUnits } from "#kernel/text.ts";
import {
  byUnit,
  findUnitPrice,
  type Pico,
  REPORT_UNITS,
  type ReportQuantities,
  type Unit,
  UNITS,
} from "#kernel/units.ts";
import { type BilledQuantities, CACHE_UNITS, priceQuantity, toMicros } from "#usage/cost.ts";
import type { RowState } from "./breakdown-query.ts";
import type { Window } from "./filter.ts";

/**
 * What the difference of two costs is made of, in the order in which one thing after the other is taken from the later window.
 * `unexplained` is what no step tells: rounding, and all that rows tell where they are not read.
 */
export const COST_TERMS = [
  "volume",
  "models",
  "tokens",
  "cache",
  "unpriced",
  "price",
  "unexplained",
] as const;
export type CostTerms = { readonly [term in (typeof COST_TERMS)[number]]: Pico };

export interface WindowCost {
  readonly requests: number;
  /** Failures are no volume: few cost anything, and a storm of retries would look like more work that got cheaper. */
  readonly failed: number;
  readonly unpricedRequests: number;
  /** Null when nothing was priced. */
  readonly costPico: Pico | null;
  readonly units: ReportQuantities;
}

/** The usage of one model in a window. */
export interface ModelCost extends WindowCost {
  /** Null for requests that name none. */
  readonly model: string | null;
  /** By the prices that they were billed at. */
  readonly billed: readonly BilledQuantities[];
}

export interface CostWindow {
  /** As it was counted. */
  readonly window: Window;
  readonly models: readonly ModelCost[];
  /** Tells why there is nothing in `billed`. */
  readonly rows: RowState;
}

/** A difference of costs whose terms add up to it, to the pico. */
export interface ComparedWindows {
  readonly before: WindowCost;
  readonly now: WindowCost;
  readonly differencePico: Pico;
  readonly terms: CostTerms;
}

export interface ModelChange extends ComparedWindows {
  readonly model: string | null;
}

export interface CostChange extends ComparedWindows {
  /** Their terms add up to those of the whole; the largest difference first. */
  readonly models: readonly ModelChange[];
}

/**
 * Why the cost of `now` is another one than that of `before`: stepwise replacement. Of each model one thing after the other is
 * taken from `now`, what it costs with that is worked out exactly and rounded to whole pico, and a term is the difference of two
 * such costs. The first is the cost of `before`, the last that of `now`, so that the terms add up to the difference.
 */
export function explainCost(before: CostWindow, now: CostWindow): CostChange {
  const areRowsRead = before.rows === "exact" && now.rows === "exact";
  const [beforeOf, nowOf] = [toModels(before, areRowsRead), toModels(now, areRowsRead)];
  const total = { before: addCosts([...beforeOf.values()]), now: addCosts([...nowOf.values()]) };
  const toModelChange = (model: string | null): ModelChange => {
    const [had, has] = [beforeOf.get(model) ?? NOTHING, nowOf.get(model) ?? NOTHING];
    const steps = toSteps(had, has, total);
    const terms = byTerm((_, place) => (steps[place + 1] ?? 0n) - (steps[place] ?? 0n));
    return { model, ...compare([had], [has], terms) };
  };
  const models = [...new Set([...beforeOf.keys(), ...nowOf.keys()])].map(toModelChange);
  models.sort(
    (left, right) =>
      Number(toSize(left) < toSize(right)) - Number(toSize(left) > toSize(right)) ||
      compareCodeUnits(left.model ?? "", right.model ?? ""),
  );
  return { ...compare([total.before], [total.now], addTerms(models)), models };
}

/** The models from the `count`-th on as one; null when there are none. */
export function foldModels(models: readonly ModelChange[], count: number): ComparedWindows | null {
  const others = models.slice(count);
  if (others.length === 0) return null;
  const [before, now] = [others.map((model) => model.before), others.map((model) => model.now)];
  return compare(before, now, addTerms(others));
}

/** The sums of both windows. */
type Windows = Pick<ComparedWindows, "before" | "now">;

interface UsedModel extends WindowCost {
  readonly uses: UnitUses;
}

const NOTHING: UsedModel = {
  requests: 0,
  failed: 0,
  unpricedRequests: 0,
  costPico: null,
  units: {},
  uses: {},
};

function toModels({ models }: CostWindow, areRowsRead: boolean): ReadonlyMap<string | null, UsedModel> {
  return new Map(
    models.map((used) => [used.model, { ...used, uses: areRowsRead ? toUnitUses(used.billed) : {} }]),
  );
}

function compare(
  before: readonly WindowCost[],
  now: readonly WindowCost[],
  terms: CostTerms,
): ComparedWindows {
  const [had, has] = [addCosts(before), addCosts(now)];
  return { before: had, now: has, differencePico: (has.costPico ?? 0n) - (had.costPico ?? 0n), terms };
}

function addCosts(costs: readonly WindowCost[]): WindowCost {
  const add = (of: (cost: WindowCost) => number) => costs.reduce((sum, cost) => sum + of(cost), 0);
  return {
    requests: add(({ requests }) => requests),
    failed: add(({ failed }) => failed),
    unpricedRequests: add(({ unpricedRequests }) => unpricedRequests),
    costPico: costs.reduce<Pico | null>(
      (sum, { costPico }) => (costPico === null ? sum : (sum ?? 0n) + costPico),
      null,
    ),
    units: byUnit(REPORT_UNITS, (unit) => {
      const told = costs.flatMap(({ units }) => units[unit] ?? []);
      return told.length === 0 ? undefined : told.reduce((sum, quantity) => sum + quantity);
    }),
  };
}

function addTerms(changes: readonly ComparedWindows[]): CostTerms {
  return byTerm((term) => changes.reduce((sum, { terms }) => sum + terms[term], 0n));
}

function byTerm(find: (term: (typeof COST_TERMS)[number], place: number) => Pico): CostTerms {
  const [volume = 0n, models = 0n, tokens = 0n, cache = 0n, unpriced = 0n, price = 0n, unexplained = 0n] =
    COST_TERMS.map(find);
  return { volume, models, tokens, cache, unpriced, price, unexplained };
}

function toSize({ differencePico }: ComparedWindows): Pico {
  return differencePico < 0n ? -differencePico : differencePico;
}

/** The quantity of one unit in millionths, so that fractions are whole numbers. */
interface UnitUse {
  readonly quantity: bigint;
  /** The part of it that had a price. */
  readonly priced: bigint;
  readonly costPico: Pico;
}
type UnitUses = { readonly [unit in Unit]?: UnitUse };

function toUnitUses(billed: readonly BilledQuantities[]): UnitUses {
  return byUnit(UNITS, (unit) => {
    let [quantity, priced, costPico] = [0n, 0n, 0n];
    for (const { prices, quantities } of billed) {
      const used = quantities[unit] ?? 0;
      const pricePico = findUnitPrice(prices, unit);
      quantity += toMicros(used);
      if (pricePico === null) continue;
      priced += toMicros(used);
      costPico += priceQuantity(used, pricePico);
    }
    return quantity === 0n ? undefined : { quantity, priced, costPico };
  });
}

/**
 * What a model costs as one thing after the other becomes that of `now`, from what it did cost to what it does. Where one of
 * the windows has no request of it there is nothing to compare with: all of it is its share.
 */
function toSteps(had: UsedModel, has: UsedModel, total: Windows): readonly Pico[] {
  const [first, last] = [had.costPico ?? 0n, has.costPico ?? 0n];
  const endingHere = (steps: readonly Pico[]) =>
    COST_TERMS.map((_, place) => steps[place] ?? last).concat(last);
  const [all, allNow] = [countAnswered(total.before), countAnswered(total.now)];
  if (all === 0n) return endingHere([first]);
  const ofVolume = round({ over: first * allNow, under: all });
  const [count, countNow] = [countAnswered(had), countAnswered(has)];
  if (count === 0n || countNow === 0n) return endingHere([first, ofVolume]);
  const inProportion = (amount: Pico): Ratio => ({ over: amount * countNow, under: count });
  const known = Object.values(had.uses).reduce((sum, { costPico }) => sum + costPico, 0n);
  // What rows do not tell of `before` goes along with the requests.
  const untold = inProportion(first - known);
  const ofUnits = listUnitSteps(had.uses, has.uses).map((step) => round(addRatios([...step, untold])));
  return endingHere([first, ofVolume, round(inProportion(first)), ...ofUnits]);
}

/** Requests that did not fail. */
function countAnswered({ requests, failed }: WindowCost): bigint {
  return BigInt(requests - failed);
}

/** The parts of a prompt that a cache gave or took, and the rest of it. */
const PROMPT_UNITS: ReadonlySet<Unit> = new Set(["input_tokens", ...CACHE_UNITS]);
const UNUSED: UnitUse = { quantity: 0n, priced: 0n, costPico: 0n };

/** The cost of each unit with the usage of `now`, and then with its cache, the part of it that has a price, and its price. */
function listUnitSteps(had: UnitUses, has: UnitUses): readonly (readonly Ratio[])[] {
  const [prompt, promptNow] = [had, has].map((uses) =>
    UNITS.reduce((sum, unit) => sum + (PROMPT_UNITS.has(unit) ? (uses[unit]?.quantity ?? 0n) : 0n), 0n),
  );
  const steps = UNITS.map((unit): readonly Ratio[] => {
    const [before, now] = [had[unit] ?? UNUSED, has[unit] ?? UNUSED];
    // What was not used, or had no price, tells nothing: it is as it is now.
    const share = before.quantity > 0n ? before : now;
    const price = before.priced > 0n ? before : now;
    const quantity = { over: now.quantity, under: 1n };
    const isSplit = PROMPT_UNITS.has(unit) && prompt !== undefined && prompt > 0n;
    const asCachedBefore = isSplit ? { over: (promptNow ?? 0n) * before.quantity, under: prompt } : quantity;
    return [
      multiply(asCachedBefore, toShare(share), toPrice(price)),
      multiply(quantity, toShare(share), toPrice(price)),
      multiply(quantity, toShare(now), toPrice(price)),
      multiply(quantity, toShare(now), toPrice(now)),
    ];
  });
  return [0, 1, 2, 3].map((step) => steps.map((of) => of[step] ?? NONE));
}

function toShare({ quantity, priced }: UnitUse): Ratio {
  return quantity === 0n ? NONE : { over: priced, under: quantity };
}

function toPrice({ priced, costPico }: UnitUse): Ratio {
  return priced === 0n ? NONE : { over: costPico, under: priced };
}

/** An exact fraction; `under` is above zero. */
interface Ratio {
  readonly over: bigint;
  readonly under: bigint;
}
const NONE: Ratio = { over: 0n, under: 1n };

function multiply(...factors: readonly Ratio[]): Ratio {
  return factors.reduce((left, right) => ({
    over: left.over * right.over,
    under: left.under * right.under,
  }));
}

function addRatios(parts: readonly Ratio[]): Ratio {
  return parts.reduce(
    (sum, part) =>
      part.over === 0n
        ? sum
        : { over: sum.over * part.under + part.over * sum.under, under: sum.under * part.under },
    NONE,
  );
}

/** To whole pico, half up. */
function round({ over, under }: Ratio): Pico {
  const doubled = 2n * over + under;
  const whole = doubled / (2n * under);
  // Division of negative numbers rounds towards zero.
  return doubled < 0n && whole * 2n * under !== doubled ? whole - 1n : whole;
}
