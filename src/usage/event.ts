import type { InstantUs } from "#kernel/clock.ts";
import type { ConnectionFailure } from "#kernel/system-code.ts";
import type { EventOrigin } from "#kernel/ids.ts";
import type { AppliedPrices } from "#kernel/price-variants.ts";
import type { Pico, Quantities } from "#kernel/units.ts";

export const OUTCOMES = ["ok", "upstream_error", "unreachable", "cancelled"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * The transport class of an `unreachable` outcome (specification, section 2.10). `interrupted`: this server was killed or
 * stopped meanwhile, so that nothing is known of the upstream.
 */
export const TRANSPORT_ERRORS = ["timeout", "connection_error", "response_too_large", "interrupted"] as const;
export type TransportError = (typeof TRANSPORT_ERRORS)[number];

/** The provider of every relayed request; no provider row has this name, since names hold no colon. */
export const RELAY_PROVIDER = "transparent:messages";

/** The status of a request whose caller left before the upstream's head came: nginx's number for it (decisions, "Reports"). */
export const STATUS_CANCELLED = 499;

export function isSuccess(statusCode: number): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/**
 * True when a request ended without its usage: it probably used something, and no answer said how much (decisions, amendments
 * of 2026-11-23). It was answered with success on whatever endpoint, or its caller left before an error came. What uses
 * nothing by its nature is told as `NOTHING_USED`; an upstream that could not be reached or that failed is left out. A usage
 * of which only the beginning was told counts as none.
 */
export function isUnmetered({
  outcome,
  statusCode,
  usage,
}: Pick<UsageEnding, "outcome" | "statusCode" | "usage">): boolean {
  if (usage !== null && usage.shape !== "begun") return false;
  return (
    (outcome === "ok" && isSuccess(statusCode)) ||
    (outcome === "cancelled" && (isSuccess(statusCode) || statusCode === STATUS_CANCELLED))
  );
}

/**
 * True when limits count a request among those whose usage is unknown: it ended without one (`isUnmetered`), or its usage is
 * still to come.
 */
export function isUnknown(ending: Pick<UsageEnding, "outcome" | "statusCode" | "usage">): boolean {
  return ending.usage?.shape === "pending" || isUnmetered(ending);
}

export const CLIENT_LENGTH_MAX = 256;
export const ERROR_KIND_LENGTH_MAX = 64;

/**
 * An upstream's way to count its input: `inclusive` when the input contains cache reads and cache writes (OpenAI), `exclusive`
 * when both are counted beside it (the messages dialect). Reports normalise by it. `begun` is exclusive, of a stream that its
 * caller left behind the event that tells the input and before the one that tells the output. `pending` has no quantities:
 * the upstream works on in the background, and tells later what it used (`Settlement`).
 */
export const USAGE_SHAPES = ["inclusive", "exclusive", "begun", "pending"] as const;
export type UsageShape = (typeof USAGE_SHAPES)[number];

/** Usage as an upstream reported it. Whole numbers or fractions (`audio_seconds`), never negative. */
export interface ReportedUsage {
  readonly shape: UsageShape;
  readonly quantities: Quantities;
}

/** The usage of a request that cannot use anything: it only asks or counts, or it never reached its upstream. */
export const NOTHING_USED: ReportedUsage = { shape: "exclusive", quantities: {} };

/** The usage of a request whose upstream works on in the background: it is told later, once (`Settlement`), or never. */
export const PENDING_USAGE: ReportedUsage = { shape: "pending", quantities: {} };

/** Who asks whom for what: the fields that repeat from request to request. */
export interface UsageDimensions {
  readonly principalId: string;
  readonly principalName: string;
  readonly keyId: string | null;
  readonly relayTokenId: string | null;
  /** The provider's internal id, or `RELAY_PROVIDER`. */
  readonly providerId: string;
  /** The caller-facing name; null for a relay call without one. */
  readonly model: string | null;
  readonly upstreamName: string | null;
  /** `chat`, `completions`, `embeddings`, or the relayed path. */
  readonly endpoint: string;
  /** User-Agent, cut to `CLIENT_LENGTH_MAX` code points; null when there was none. */
  readonly client: string | null;
  /** Normalised `key:value` pairs, sorted by key. */
  readonly tags: readonly string[];
  /** Those of `tags` that are set by an admin, and that no caller can change. */
  readonly fixedTags: readonly string[];
}

/** A copy of what may be far more, such as a whole request. */
export function toDimensions(of: UsageDimensions): UsageDimensions {
  return {
    principalId: of.principalId,
    principalName: of.principalName,
    keyId: of.keyId,
    relayTokenId: of.relayTokenId,
    providerId: of.providerId,
    model: of.model,
    upstreamName: of.upstreamName,
    endpoint: of.endpoint,
    client: of.client,
    tags: of.tags,
    fixedTags: of.fixedTags,
  };
}

/** A request when it is dispatched. */
export interface UsageBeginning extends UsageDimensions {
  readonly arrivedAtUs: InstantUs;
  /** True when the request asked for a stream. */
  readonly streamed: boolean;
}

/** The end of a request. */
export interface UsageEnding {
  readonly statusCode: number;
  readonly outcome: Outcome;
  readonly errorKind: string | null;
  /** Why its upstream gave no answer, where that is known. */
  readonly failure?: ConnectionFailure | undefined;
  readonly durationUs: number;
  /** From arrival to the first byte of the upstream's body; null when none came. */
  readonly timeToFirstByteUs: number | null;
  /** Null when the upstream reported nothing. */
  readonly usage: ReportedUsage | null;
  /** The service tier that it was answered at (`toTier`); absent for the standard one. */
  readonly tier?: string | undefined;
  /** The region that it was answered from (`toGeoName`); absent for a standard one. */
  readonly geo?: string | undefined;
  /** As they were in force when the event was written. */
  readonly prices: AppliedPrices;
  /** Null when no unit was priced. */
  readonly costPico: Pico | null;
  /** True when a unit with a quantity above zero had no price. */
  readonly unpriced: boolean;
  /** The cost that the provider told, which is never mixed with ours; absent where it told none. */
  readonly costReportedPico?: Pico | undefined;
}

/**
 * The end of a request whose event is pending: the first terminal status of its answer. It takes the place of what the event
 * says of its outcome, usage and cost, once.
 */
export interface Settlement extends Pick<
  UsageEnding,
  | "statusCode"
  | "outcome"
  | "errorKind"
  | "usage"
  | "tier"
  | "geo"
  | "prices"
  | "costPico"
  | "unpriced"
  | "costReportedPico"
> {
  readonly event: EventOrigin;
  /** Limits count the event from then on, and reports where it arrived. */
  readonly settledAtUs: InstantUs;
}

/**
 * An event as a settlement finds it. `unsettled`: it is pending, or a kill has cut it off, which may have come behind the
 * answer that told its id. `settled`: any other. `absent`: it is not in the ledger, or not yet, where another replica has
 * recorded it.
 */
export type FoundEvent =
  | { readonly kind: "unsettled"; readonly subject: UsageBeginning; readonly ending: UsageEnding }
  | { readonly kind: "settled" | "absent" };

/** One request, accounted for: metadata and numbers, never content. */
export interface UsageEvent extends UsageBeginning, UsageEnding {}

/** In the year 2255: leaves room below 2^53 for ids that count on from a shared instant. */
const ARRIVAL_US_MAX = 9e15;
/** 115 days, longer than an answer in the background is waited for: 900,000 of them still add up to an INTEGER. */
export const DURATION_US_MAX = 1e13;

/** Whole and not negative: what an INTEGER column takes, whatever a caller handed in. */
export function toCount(value: unknown): number {
  if (typeof value !== "number" || !(value > 0)) return 0;
  return Math.min(Math.round(value), Number.MAX_SAFE_INTEGER);
}

export function toArrival(value: unknown): number {
  return Math.min(toCount(value), ARRIVAL_US_MAX);
}

export function toDuration(value: unknown): number {
  return Math.min(toCount(value), DURATION_US_MAX);
}
