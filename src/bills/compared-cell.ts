import type { InstantUs } from "#kernel/clock.ts";
import type { Pico, ReportQuantities, ReportUnit } from "#kernel/units.ts";
import type { BilledUnit, Day, ToolUnit } from "./bill.ts";

/** How the two sides of a line stand to each other. `within`: they differ by 1 %, or by five requests, at most. */
export const LINE_KINDS = [
  "equal",
  "within",
  "lockport_more",
  "bill_more",
  "only_here",
  "only_there",
] as const;
export type LineKind = (typeof LINE_KINDS)[number];

/** Why two sides may differ, as far as the facts show it. */
export const REASON_CODES = [
  "unpriced",
  "no_usage",
  "other_prices",
  "tier_or_band",
  "day_shifted",
  "named_otherwise",
  "tools_by_call",
  "cost_alone",
  "cost_reported",
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];

/** What the ledger is held against: the files, or the costs that answers told. */
export const SOURCES = ["bill", "answers"] as const;
export type Source = (typeof SOURCES)[number];

/** Calls of a tool that is billed by the call. */
export interface ToolUse {
  readonly unit: ToolUnit;
  readonly requests: number;
  /** Those whose calls have no price. */
  readonly unpricedRequests: number;
  /** Part of the cost of the model. */
  readonly costPico: Pico;
}

/** What was used of one upstream model at one tier on one day, UTC. */
export interface UpstreamDay {
  readonly dayUs: InstantUs;
  /** The upstream's name for it, or of relayed requests the name that their caller sent. */
  readonly model: string;
  /** Null for the standard one. */
  readonly tier: string | null;
  /** Those that told their usage or will, and those that were answered: what a provider may count. */
  readonly requests: number;
  /** Those that told no usage, however they ended: a provider may bill them, and no answer said how much. */
  readonly unmeteredRequests: number;
  readonly unpricedRequests: number;
  /** Units of them that have no price; none where rows are too many to be looked at, or were removed. */
  readonly unpricedUnits: readonly ReportUnit[];
  /** Null when nothing was priced. */
  readonly costPico: Pico | null;
  /** How many answers told their cost, and the sum of it; null when none did. */
  readonly costReported: { readonly requests: number; readonly pico: Pico } | null;
  /** Normalised as reports count them. */
  readonly units: ReportQuantities;
  /** Null where rows, which alone tell what a unit cost, are too many to be looked at, or were removed. */
  readonly tools: readonly ToolUse[] | null;
}

/** What is known of one day, model and tier. */
export interface Cell {
  readonly day: Day;
  readonly model: string | null;
  readonly tier: string | null;
  readonly told: Told;
  readonly here: LedgerSum;
  readonly there: BillSum;
}

export interface Sum {
  isThere: boolean;
  requests: number;
  costPico: Pico;
  readonly units: { [unit in BilledUnit]: number };
}
interface LedgerSum extends Sum {
  isPriced: boolean;
  unpricedRequests: number;
  unmeteredRequests: number;
  readonly unpricedUnits: Set<ReportUnit>;
  /** Calls of tools whose cost cannot be told from the model's. */
  mixedCalls: number;
  /** Tiers other than the standard one. */
  readonly tiers: Set<string>;
}
interface BillSum extends Sum {
  readonly names: Set<string>;
  readonly conditions: Set<string>;
  toolPico: Pico;
}

/** The measures that bills tell. */
export interface Told {
  readonly requests: boolean;
  readonly units: readonly BilledUnit[];
  readonly cost: boolean;
}

/** One number that both sides have, scaled to a whole one. */
export interface Measure {
  readonly name: "requests" | "cost" | BilledUnit;
  readonly here: bigint;
  readonly there: bigint;
}

/** `audio_seconds` and the like are fractions, of millionths at most. */
const UNIT_SCALE = 1_000_000;

function toWhole(quantity: number): bigint {
  return Number.isInteger(quantity)
    ? BigInt(quantity) * BigInt(UNIT_SCALE)
    : BigInt(Math.round(quantity * UNIT_SCALE));
}

/** Requests that are no difference worth a look, whatever they used. */
const REQUESTS_WITHIN = 5n;
const PERCENT = 100n;

/** A cell with its measures compared. */
export class ComparedCell {
  readonly cell: Cell;
  readonly measures: readonly Measure[];
  readonly kind: LineKind;

  constructor(cell: Cell) {
    const { here, there, told } = cell;
    this.cell = cell;
    this.measures = [
      ...(told.cost ? [{ name: "cost" as const, here: here.costPico, there: there.costPico }] : []),
      ...told.units.map((name) => ({
        name,
        here: toWhole(here.units[name]),
        there: toWhole(there.units[name]),
      })),
      ...(told.requests
        ? [{ name: "requests" as const, here: BigInt(here.requests), there: BigInt(there.requests) }]
        : []),
    ];
    this.kind = this.#toKind();
  }

  /** True when neither side has anything of what is compared: a failed request that no bill tells of. */
  get isNothing(): boolean {
    return this.measures.every(({ here, there }) => here === 0n && there === 0n);
  }

  get agrees(): boolean {
    return this.kind === "equal" || this.kind === "within";
  }

  /** The units that are compared. */
  get units(): readonly Measure[] {
    return this.measures.filter(({ name }) => name !== "cost" && name !== "requests");
  }

  find(name: Measure["name"]): Measure | undefined {
    return this.measures.find((measure) => measure.name === name);
  }

  isWithin(measure: Measure): boolean {
    return areWithin([measure], this.find("requests"));
  }

  #toKind(): LineKind {
    const { here, there } = this.cell;
    const isEmpty = (side: "here" | "there") => this.measures.every((measure) => measure[side] === 0n);
    // What was used without a price costs nothing here, and is used all the same.
    if (!here.isThere || (here.requests === 0 && isEmpty("here"))) return "only_there";
    if (!there.isThere || isEmpty("there")) return "only_here";
    if (this.measures.every((measure) => measure.here === measure.there)) return "equal";
    const outside = this.measures.find((measure) => !this.isWithin(measure));
    if (outside === undefined) return "within";
    return outside.here > outside.there ? "lockport_more" : "bill_more";
  }
}

/** True when all differ by 1 % at most, or by what five requests may have used where the numbers of requests differ by so many. */
export function areWithin(measures: readonly Measure[], requests: Measure | undefined): boolean {
  const apart = requests === undefined ? 0n : distance(requests);
  const most = requests === undefined ? 0n : larger(requests);
  const isFew = apart > 0n && apart <= REQUESTS_WITHIN;
  return measures.every((measure) => {
    const [difference, amount] = [distance(measure), larger(measure)];
    return difference * PERCENT <= amount || (isFew && difference * most <= amount * REQUESTS_WITHIN);
  });
}

function distance({ here, there }: Measure): bigint {
  return here > there ? here - there : there - here;
}

function larger({ here, there }: Measure): bigint {
  const [one, other] = [here < 0n ? -here : here, there < 0n ? -there : there];
  return one > other ? one : other;
}
