import type { InstantUs } from "#kernel/clock.ts";
import type { ReportUnit, UnitTotals } from "#kernel/units.ts";

/** Limits on use (`docs/spec/limits.md`): what may be used, by whom, in which window. */

export const LIMIT_MEASURES = ["cost", "requests", "tokens", "uncached_tokens", "concurrent"] as const;
export type LimitMeasure = (typeof LIMIT_MEASURES)[number];

interface Measure {
  /** Stands behind an amount, in the plural, which ends in one `s`; null for money. */
  readonly noun: string | null;
  /** In the page's form. */
  readonly label: string;
  readonly detail?: string;
  /** What it adds up of a request's usage; none where it counts money or requests. */
  readonly units: readonly (ReportUnit & keyof UnitTotals)[];
}

/** What each measure counts, and its words. */
export const MEASURES: { readonly [measure in LimitMeasure]: Measure } = {
  cost: { noun: null, label: "Cost", detail: "In the currency of the prices", units: [] },
  requests: { noun: "requests", label: "Requests", units: [] },
  tokens: {
    noun: "tokens",
    label: "Tokens",
    detail: "Input and output together",
    units: ["input_tokens", "cached_input_tokens", "output_tokens"],
  },
  uncached_tokens: {
    noun: "uncached tokens",
    label: "Uncached tokens",
    detail: "Input and output without cache reads",
    units: ["input_tokens", "output_tokens"],
  },
  concurrent: {
    noun: "requests",
    label: "Concurrent",
    detail: "Requests in progress at the same time",
    units: [],
  },
};

/** `minute` and `hour` slide; `day`, `week` (from Monday) and `month` are UTC calendar windows; `total` has no beginning. */
export const LIMIT_WINDOWS = ["minute", "hour", "day", "week", "month", "total"] as const;
export type LimitWindow = (typeof LIMIT_WINDOWS)[number];

/** `warn` lets the request pass and says so in a header. */
export const LIMIT_ACTIONS = ["refuse", "warn"] as const;
export type LimitAction = (typeof LIMIT_ACTIONS)[number];

/** What a limit of cost does with usage that has no price. */
export const UNPRICED_RULES = ["allow", "refuse"] as const;
export type UnpricedRule = (typeof UNPRICED_RULES)[number];

/** Who is limited. A principal's name comes from its row, and is never stored with the limit. */
export type LimitSubject =
  | { readonly kind: "everybody" }
  | { readonly kind: "principal"; readonly id: string; readonly name: string }
  | { readonly kind: "key"; readonly id: string }
  | { readonly kind: "relay_token"; readonly id: string }
  | { readonly kind: "tag"; readonly pair: string };

/** What the limit holds for separately. `tag`: each value of one tag key. */
export type LimitEach =
  | { readonly kind: "principal" }
  | { readonly kind: "key" }
  | { readonly kind: "tag"; readonly key: string };

/** A model's name, and where requests under it go. */
export interface NamedTarget {
  readonly name: string;
  readonly providerId: string;
  readonly upstreamName: string;
}

export interface Limit {
  readonly id: string;
  readonly name: string;
  readonly subject: LimitSubject;
  /** Null: any model, and requests without one. */
  readonly model: string | null;
  /** What the model was called before: usage under it still counts, but for what goes where `otherTargets` say. */
  readonly formerModels: readonly string[];
  /** Where other models go that have taken a former name since. Absent: none. */
  readonly otherTargets?: readonly NamedTarget[];
  /** Null: all that it holds for share one amount. */
  readonly each: LimitEach | null;
  readonly measure: LimitMeasure;
  /** Above zero: pico for cost, whole numbers for the others. */
  readonly amount: bigint;
  /** Null for `concurrent` alone. */
  readonly window: LimitWindow | null;
  readonly action: LimitAction;
  readonly unpriced: UnpricedRule;
  /** How many requests of a window may end without usage before it refuses; null: any number. */
  readonly unknownMax: number | null;
  /** True when tags that callers send do not count, and fixed ones alone do. */
  readonly fixed: boolean;
  readonly enabled: boolean;
  readonly createdAtUs: InstantUs;
}

/** What of a limit may change. Subject and measure are what the limit is. */
export type LimitChange = Partial<
  Pick<Limit, "name" | "amount" | "window" | "action" | "unpriced" | "unknownMax" | "enabled">
>;

/** A request, as far as limits tell requests apart. */
export interface LimitedRequest {
  readonly principalId: string;
  readonly keyId: string | null;
  readonly relayTokenId: string | null;
  readonly model: string | null;
  readonly providerId: string;
  readonly upstreamName: string | null;
  /** `chat`, or another endpoint by its name; of the relay the path. */
  readonly endpoint: string;
  /** Normalised `key:value` pairs. */
  readonly tags: readonly string[];
  /** Those of `tags` that no caller can change. */
  readonly fixedTags: readonly string[];
}

/** True when two limits count the same usage: one may go on with what the other has counted. */
export function isCountedAlike(one: Limit, other: Limit): boolean {
  return one.measure === other.measure && one.window === other.window && toScope(one) === toScope(other);
}

function toScope({ subject, each, model, formerModels, otherTargets, fixed }: Limit): string {
  const who = subject.kind === "principal" ? { kind: subject.kind, id: subject.id } : subject;
  return JSON.stringify([who, each, model, formerModels, otherTargets, fixed]);
}

/** What one limit, or one value of its `each`, has counted. The same object for as long as it is counted. */
export interface WatchedUse {
  readonly value: string;
  readonly label: string;
}

/** How much was used of a limit, and when. */
export interface UseNow {
  readonly used: bigint;
  readonly atUs: InstantUs;
}

/**
 * Hears of each limit with a window that a request has moved, in the request's own turn, and of all when they are read or
 * changed: only of those that are used from `toWatchedFrom` on.
 */
export interface UseWatch {
  /** Takes a microsecond at most; never throws. */
  moved(limit: Limit, use: WatchedUse, now: UseNow): void;
}

/** 80 % of the amount. */
export function toWatchedFrom({ amount }: Pick<Limit, "amount">): bigint {
  return (amount * 4n + 4n) / 5n;
}
