import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { ModelPrices } from "#kernel/price-variants.ts";
import type { Pico, Unit } from "#kernel/units.ts";
import type { StatsQuery } from "./store.ts";

/** Prices that hold from a moment on, until the next ones of the model do. */
export interface PriceSpan {
  readonly fromUs: InstantUs;
  readonly prices: ModelPrices;
}

/** The requests that are priced again, and at what (specification of money, section 3). */
export interface RepricingTerms {
  readonly query: StatsQuery;
  /** By the model that was asked for, in the order of time. Requests of other models, and those that ended before the first span, keep their prices. */
  readonly prices: readonly (readonly [model: string, spans: readonly PriceSpan[]])[];
  /** Present where these are the prices that were recorded as in force. */
  readonly history?: {
    /** Names that are models of the catalog. Their history is the model's: requests that were relayed under one keep their prices. */
    readonly models: readonly string[];
  };
  readonly isUnpricedOnly: boolean;
  /** Requests that ended later are not touched. */
  readonly plannedAtUs: InstantUs;
}

/** Changes of prices that a re-pricing keeps with it, and their size as JSON: a reader is sent all of them with each step. */
export const HISTORY_SPANS_MAX = 10_000;
const HISTORY_BYTES_MAX = 4 * 1024 * 1024;

/** The prices that were in force from a moment on, as terms have them. Throws `range_too_large`. */
export function toHistoryPrices(
  held: ReadonlyMap<string, readonly PriceSpan[]>,
  sinceUs: InstantUs | null,
): RepricingTerms["prices"] {
  const prices = [...held].map(([name, spans]) => {
    const first = sinceUs === null ? 0 : spans.findLastIndex(({ fromUs }) => fromUs <= sinceUs);
    return [name, spans.slice(Math.max(first, 0))] as const;
  });
  const count = prices.reduce((sum, [, spans]) => sum + spans.length, 0);
  if (count > HISTORY_SPANS_MAX || JSON.stringify(prices).length > HISTORY_BYTES_MAX)
    throw new ProxyError(
      "range_too_large",
      `The price history of this time has ${count} changes: a re-pricing takes up to ${HISTORY_SPANS_MAX}, and ${HISTORY_BYTES_MAX} bytes of them. Name models in filters, or begin later.`,
      { param: "prices" },
    );
  return prices;
}

/** Changes that were applied beyond these figures; undefined where there are none, or it is not known. */
export function toBeyondPlan(
  { requests, costBeforePico, costAfterPico, unpricedBefore, unpricedAfter }: RepricingFigures,
  applied: AppliedSums | null,
): AppliedSums | undefined {
  if (applied === null) return undefined;
  const beyond = {
    requests: applied.requests - requests,
    costPico: applied.costPico - (costAfterPico - costBeforePico),
    unpriced: applied.unpriced - (unpricedAfter - unpricedBefore),
  };
  const isNothing = beyond.requests === 0 && beyond.costPico === 0n && beyond.unpriced === 0;
  return isNothing ? undefined : beyond;
}

/** What changes of one unit of a model at one tier. Those that get a price by the request (unit `requests`) had none of it before. */
export interface RepricedUnit extends Omit<RepricingFigures, "units"> {
  readonly model: string;
  readonly unit: Unit;
  /** Null is the standard one. */
  readonly tier: string | null;
  /** In millionths, since quantities of audio have fractions. */
  readonly quantityMicros: bigint;
}

/** The sum of the changes that were applied, or its difference from the plan. */
export interface AppliedSums {
  readonly requests: number;
  /** By how much the cost is more. */
  readonly costPico: Pico;
  /** Requests that became unpriced; below zero where more became priced. */
  readonly unpriced: number;
}

/** The figures of a re-pricing: those of the requests that it changes. */
export interface RepricingFigures {
  readonly requests: number;
  readonly costBeforePico: Pico;
  readonly costAfterPico: Pico;
  /** Requests with a quantity that no price was known of. */
  readonly unpricedBefore: number;
  readonly unpricedAfter: number;
  /** By model, unit and tier. */
  readonly units: readonly RepricedUnit[];
}

export const NO_FIGURES: RepricingFigures = {
  requests: 0,
  costBeforePico: 0n,
  costAfterPico: 0n,
  unpricedBefore: 0,
  unpricedAfter: 0,
  units: [],
};

/** Adds up the figures of two parts of a re-pricing. */
export function addFigures(one: RepricingFigures, other: RepricingFigures): RepricingFigures {
  const units = new Map<string, RepricedUnit>();
  for (const unit of [...one.units, ...other.units]) {
    const key = JSON.stringify([unit.model, unit.tier ?? "", unit.unit]);
    const known = units.get(key);
    units.set(key, known === undefined ? unit : addUnit(known, unit));
  }
  return {
    requests: one.requests + other.requests,
    costBeforePico: one.costBeforePico + other.costBeforePico,
    costAfterPico: one.costAfterPico + other.costAfterPico,
    unpricedBefore: one.unpricedBefore + other.unpricedBefore,
    unpricedAfter: one.unpricedAfter + other.unpricedAfter,
    units: [...units].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, unit]) => unit),
  };
}

function addUnit(one: RepricedUnit, other: RepricedUnit): RepricedUnit {
  return {
    ...one,
    quantityMicros: one.quantityMicros + other.quantityMicros,
    requests: one.requests + other.requests,
    costBeforePico: one.costBeforePico + other.costBeforePico,
    costAfterPico: one.costAfterPico + other.costAfterPico,
    unpricedBefore: one.unpricedBefore + other.unpricedBefore,
    unpricedAfter: one.unpricedAfter + other.unpricedAfter,
  };
}

/**
 * `planned` when its figures are being added up or there, `running` while it is applied and `reverting` while it is taken back;
 * `failed` has changed nothing, or was taken back, unless `failure` says otherwise.
 */
export const REPRICING_STATES = ["planned", "running", "applied", "reverting", "reverted", "failed"] as const;
export type RepricingState = (typeof REPRICING_STATES)[number];

export interface Repricing {
  readonly id: string;
  readonly state: RepricingState;
  readonly terms: RepricingTerms;
  /** Applied by itself once it is planned, unless it is a dry run. */
  readonly isDryRun: boolean;
  readonly createdAtUs: InstantUs;
  /** Null while they are added up. */
  readonly figures: RepricingFigures | null;
  /** Requests that it looks at, as they were planned. */
  readonly eventCount: number;
  /** Requests that the step under way has looked at; while it is taken back those that it has changed and that are not yet as before. */
  readonly doneCount: number;
  /**
   * What applying has changed beside the figures of its plan; absent where it is nothing. Requests that ended before the plan was
   * made may be recorded behind it: another replica's, whose database was away. Rows that retention removed are less than nothing.
   */
  readonly beyondPlan?: AppliedSums;
  /** Requests that were not taken back: their rows were removed meanwhile. */
  readonly goneCount?: number;
  /** Rows that arrived before it were removed by retention when it was planned: their requests keep their prices. */
  readonly rowsFromUs: InstantUs;
  /** When it was applied, or taken back, last. */
  readonly changedAtUs: InstantUs | null;
  /** Why it failed, or why it is applied although it was to be taken back. While it changes costs: it was turned back. */
  readonly failure: string | null;
}

/** A re-pricing that this process does, or does not. */
export interface ActiveRepricing {
  readonly repricing: Repricing;
  readonly isOwn: boolean;
}

/** A step through the ledger that has come to `untilUs`; null at its end. */
export interface RepricingStep {
  readonly untilUs: InstantUs | null;
}

export interface PlannedStep extends RepricingStep {
  readonly figures: RepricingFigures;
  readonly eventCount: number;
  readonly rowsFromUs: InstantUs;
}

/**
 * Keeps re-pricings in the ledger that they change. One is under way at a time, over all processes: it is this one's while
 * `claim` says so, and another process takes it over when its own has been silent.
 */
export interface RepricingStore {
  /** Adds up a part of a plan, from the last `untilUs` on, or null; changes nothing. */
  plan(terms: RepricingTerms, fromUs: InstantUs | null): Promise<PlannedStep>;
  /** Makes it the one under way. False when another one is. */
  create(repricing: Repricing): Promise<boolean>;
  /** Writes one down that this process has under way; `isActive: false` ends that. False when it is another process's by now. */
  save(repricing: Repricing, isActive: boolean): Promise<boolean>;
  /** Makes one that rests the one under way, if it is in one of these states. */
  begin(
    id: string,
    change: { readonly from: readonly RepricingState[]; readonly to: RepricingState },
  ): Promise<BeginOutcome>;
  /** The one under way; it is this process's if it was, or if the process that had it has been silent. */
  claim(): Promise<ActiveRepricing | null>;
  /** Prices the next part of it again, from the last `untilUs` on, in one transaction with its totals; null when another process has it. */
  applyStep(repricing: Repricing, fromUs: InstantUs | null): Promise<RepricingStep | null>;
  /** The changes of its applied parts; null where they are not known: they were applied by an earlier version. */
  sumApplied(id: string): Promise<AppliedSums | null>;
  /** Takes the last part of it back in the same way. */
  revertStep(repricing: Repricing): Promise<RepricingStep | null>;
  find(id: string): Promise<Repricing | null>;
  /** Without prices, and without figures by unit. */
  list(page: Page): Promise<Paged<Repricing>>;
}

export type BeginOutcome =
  | { readonly kind: "begun"; readonly repricing: Repricing }
  | { readonly kind: "absent" }
  | { readonly kind: "running" }
  | { readonly kind: "state"; readonly state: RepricingState }
  /** Another one has changed the same time since: `id`. */
  | { readonly kind: "overlap"; readonly id: string };
