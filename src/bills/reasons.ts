import { compareCodeUnits, toCounted } from "#kernel/text.ts";
import { picoToNumber, type Pico } from "#kernel/units.ts";
import {
  areWithin,
  type ComparedCell,
  type Measure,
  type ReasonCode,
  type UpstreamDay,
} from "./compared-cell.ts";

export interface Reason {
  readonly code: ReasonCode;
  /** A sentence with its facts, for people. */
  readonly text: string;
}

interface Surroundings {
  /** The days before and after, of the same model and tier. */
  readonly neighbors: readonly ComparedCell[];
  /** All tiers of the day and model, where the bill tells them apart. */
  readonly tiers: readonly ComparedCell[];
}

/** The likely reasons of a line. One that agrees has none but its name. */
export function findReasons(compared: ComparedCell, { neighbors, tiers }: Surroundings): readonly Reason[] {
  const named = toNamed(compared);
  if (compared.agrees) return named;
  return [
    ...toUnpriced(compared),
    ...toNoUsage(compared),
    ...toOtherPrices(compared),
    ...toTierOrBand(compared, tiers),
    ...toDayShifted(compared, neighbors),
    ...named,
    ...toTools(compared),
    ...toCostAlone(compared),
  ];
}

/** The reasons of a line whose answers told another cost than ours. */
export function findReportedReasons(
  compared: ComparedCell,
  { requests, pico }: NonNullable<UpstreamDay["costReported"]>,
): readonly Reason[] {
  const text = `The answers of ${toCounted(requests, "request")} told a cost of ${toAmount(pico)} themselves.`;
  return [{ code: "cost_reported", text }, ...toUnpriced(compared)];
}

function toUnpriced({ cell, measures }: ComparedCell): readonly Reason[] {
  const { unpricedRequests, unpricedUnits } = cell.here;
  const cost = findOf(measures, "cost");
  if (unpricedRequests === 0 || cost === undefined || cost.there <= cost.here) return [];
  const units = [...unpricedUnits].sort(compareCodeUnits).join(", ");
  const used = units === "" ? "a unit that has no price here" : `units that have no price here: ${units}`;
  const text = `${toCounted(unpricedRequests, "request")} used ${used}.`;
  return [{ code: "unpriced", text }];
}

function toNoUsage(compared: ComparedCell): readonly Reason[] {
  const { unmeteredRequests } = compared.cell.here;
  const isMoreThere = compared.measures.some(
    (measure) => measure.there > measure.here && !compared.isWithin(measure),
  );
  if (unmeteredRequests === 0 || !isMoreThere) return [];
  const text = `The provider billed what no answer told us: ${toCounted(unmeteredRequests, "request")} ended without usage.`;
  return [{ code: "no_usage", text }];
}

const TOKENS: ReadonlySet<string> = new Set(["input_tokens", "cached_input_tokens", "output_tokens"]);
/** Units are compared in millionths, and prices are told per million. */
const MILLIONTHS_PER_MILLION = 10n ** 12n;

/** The mean price of a token on both sides, where both tell tokens and cost and nothing is unpriced. */
function toOtherPrices({ cell, units, measures }: ComparedCell): readonly Reason[] {
  const cost = findOf(measures, "cost");
  const tokens = units.filter(({ name }) => TOKENS.has(name));
  const here = tokens.reduce((sum, each) => sum + each.here, 0n);
  const there = tokens.reduce((sum, each) => sum + each.there, 0n);
  if (cost === undefined || here === 0n || there === 0n || cost.here <= 0n || cost.there <= 0n) return [];
  if (cell.here.unpricedRequests > 0) return [];
  const price: Measure = { name: "cost", here: toMean(cost.here, here), there: toMean(cost.there, there) };
  if (areWithin([price], undefined)) return [];
  const text = `A million tokens cost ${toAmount(price.here)} here and ${toAmount(price.there)} there, on average.`;
  return [{ code: "other_prices", text }];
}

function toMean(costPico: Pico, tokens: bigint): Pico {
  return (costPico * MILLIONTHS_PER_MILLION) / tokens;
}

/** Six digits are enough for a price per million. */
function toAmount(pico: Pico): string {
  return `$${Number(picoToNumber(pico).toPrecision(6))}`;
}

function toTierOrBand(compared: ComparedCell, tiers: readonly ComparedCell[]): readonly Reason[] {
  const { cell, measures } = compared;
  const cost = findOf(measures, "cost");
  const differing = tiers.filter((each) => !each.agrees);
  if (differing.length > 1 && isBalanced(differing, ({ name }) => name !== "cost")) {
    const names = differing
      .map((each) => each.cell.tier ?? "")
      .sort(compareCodeUnits)
      .join(", ");
    return [{ code: "tier_or_band", text: `Both have the same over these tiers together: ${names}.` }];
  }
  if (cost === undefined || compared.isWithin(cost)) return [];
  const conditions = [...(cell.tier === null ? cell.here.tiers : []), ...cell.there.conditions];
  if (conditions.length === 0) return [];
  const text = `It has usage with prices of its own: ${conditions.join(", ")}.`;
  return [{ code: "tier_or_band", text }];
}

function toDayShifted(compared: ComparedCell, neighbors: readonly ComparedCell[]): readonly Reason[] {
  const neighbor = neighbors.find(
    (each) => !each.agrees && isBalanced([compared, each], ({ name }) => name !== "requests"),
  );
  if (neighbor === undefined) return [];
  const side = neighbor.cell.day < compared.cell.day ? "before" : "after";
  return [{ code: "day_shifted", text: `Together with the day ${side} both have the same.` }];
}

/** True when the sums of the cells agree in the measures that are chosen, of which each has some. */
function isBalanced(cells: readonly ComparedCell[], isChosen: (measure: Measure) => boolean): boolean {
  const sums = new Map<string, Measure>();
  for (const { measures } of cells) {
    for (const { name, here, there } of measures) {
      const sum = sums.get(name);
      sums.set(name, { name, here: (sum?.here ?? 0n) + here, there: (sum?.there ?? 0n) + there });
    }
  }
  const chosen = [...sums.values()].filter(isChosen);
  return chosen.some(({ here }) => here !== 0n) && areWithin(chosen, sums.get("requests"));
}

function toNamed({ cell }: ComparedCell): readonly Reason[] {
  const others = [...cell.there.names].filter((name) => name !== cell.model);
  if (cell.model === null || others.length === 0 || !cell.here.isThere) return [];
  return [{ code: "named_otherwise", text: `The bill calls ${cell.model} ${others.join(" and ")}.` }];
}

function toTools({ cell }: ComparedCell): readonly Reason[] {
  const { toolPico } = cell.there;
  const { mixedCalls } = cell.here;
  const billed = `${toAmount(toolPico)} of it is for tools, which are billed by the call.`;
  const mixed = `The cost here has that of ${toCounted(mixedCalls, "call")} of tools, which the bill has apart: rows no longer tell how much, or are too many.`;
  const texts = [...(toolPico === 0n ? [] : [billed]), ...(mixedCalls === 0 ? [] : [mixed])];
  return texts.map((text) => ({ code: "tools_by_call", text }));
}

/** Tokens equal, and cost not. */
function toCostAlone(compared: ComparedCell): readonly Reason[] {
  const { units, measures } = compared;
  const cost = findOf(measures, "cost");
  const isUsed = units.some(({ here, there }) => here > 0n && there > 0n);
  if (cost === undefined || compared.isWithin(cost) || !isUsed) return [];
  if (!units.every((unit) => compared.isWithin(unit))) return [];
  return [{ code: "cost_alone", text: "Tokens are equal, and cost is not." }];
}

function findOf(measures: readonly Measure[], name: Measure["name"]): Measure | undefined {
  return measures.find((measure) => measure.name === name);
}
