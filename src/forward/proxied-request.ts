import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { Caller, Cancellation } from "#kernel/cancellation.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { describeCause } from "#kernel/log.ts";
import { type AppliedPrices, type ModelPrices, NO_PRICES } from "#kernel/price-variants.ts";
import type { ConnectionFailure } from "#kernel/system-code.ts";
import type { Pico } from "#kernel/units.ts";
import { choosePrices, priceDisjoint, toDisjointQuantities, withBilledRequest } from "#usage/cost.ts";
import {
  isSuccess,
  NOTHING_USED,
  type Outcome,
  type ReportedUsage,
  STATUS_CANCELLED,
  toDimensions,
  toDuration,
  type UsageBeginning,
  type UsageDimensions,
  type UsageEnding,
} from "#usage/event.ts";
import type { UsageCounter } from "#usage/metrics.ts";
import type { ToldResponse } from "#usage/dialects.ts";
import { isOfCredential, type MeterReading } from "#usage/meter.ts";
import { type OpenUsage, UnconfirmedUsage } from "#usage/store.ts";
import { isFromBrowser, type Proxied, type ProxiedBy, toStoredClient, toTags } from "./headers.ts";
import type { OpenRequests } from "./open-requests.ts";
import type { Breach } from "./upstream.ts";

/** What a request asks for, and how what it uses is counted. Requests to one endpoint of a model share it. */
export interface RequestTerms extends Pick<
  UsageDimensions,
  "providerId" | "model" | "upstreamName" | "endpoint"
> {
  /** The provider's name in metrics. */
  readonly providerName: string;
  readonly proxiedBy: ProxiedBy;
  /** The credential that the provider is called with, if it is ours: an error answer must not repeat it. */
  readonly credential: string | null;
  /** The longest silence of an upstream whose response is passed on. */
  readonly idleMs: number;
  /** Counts it in metrics; absent: one is found by its labels. */
  readonly counter?: UsageCounter;
  /** Prices in force when the request came. */
  readonly knownPrices: ModelPrices;
  /** Prices in force now; null when the catalog no longer knows what was asked for. */
  findPrices(catalog: CatalogSnapshot): ModelPrices | null;
  /** Finds the terms under the model that its answer names; null when that is no name, or the request named one. */
  named?(model: string): RequestTerms | null;
  /** It only asks or counts: whatever its answer tells is no usage. */
  readonly usesNothing: boolean;
  /** True when a price by the request holds for it; absent: where it uses something. */
  readonly isBilled?: boolean;
}

/** Who asks, and when. */
export interface RequestHead {
  readonly caller: {
    readonly principalId: string;
    readonly principalName: string;
    readonly keyId?: string | null;
    readonly relayTokenId?: string;
    readonly fixedTags: readonly string[];
  };
  readonly headers: Headers;
  readonly arrivedAtUs: InstantUs;
  /** Monotonic. */
  readonly arrivedAtMs: number;
  /** The connection that the request came by. */
  readonly connection: Caller;
}

/** Follows what an answer tells of a response that its provider keeps. Most endpoints have none. */
export interface ResponseWatch {
  /** The head of the answer has come. */
  answered(statusCode: number): void;
  /** Hears what a stream has told, before the bytes that told it go on; null: they may go on at once. */
  told(response: ToldResponse): Promise<void> | null;
  /** True when `told` has no more to hear. */
  readonly hasHeard: boolean;
  /** The reading as the usage event of this request has it. Called once, before the event is written. Never rejects. */
  ended(reading: MeterReading): MeterReading | Promise<MeterReading>;
  /** The event of this request is written. */
  recorded(): void;
}

/** A step of recording an event: the log names the one that failed. */
type SettlingStep = "begin" | "price" | "end" | "count" | "write";

/**
 * One request, from its resolution until its usage event is written down: that event in the making, with what the request holds
 * meanwhile. It must not outlive its end, since it knows its caller's connection.
 */
export class ProxiedRequest<Terms extends RequestTerms = RequestTerms>
  implements UsageBeginning, UsageEnding, Proxied
{
  readonly requests: OpenRequests;
  /** Those of a relayed request are known when its body has come, and never change once it has begun. */
  terms: Terms;
  readonly arrivedAtUs: InstantUs;
  readonly #arrivedAtMs: number;
  readonly principalId: string;
  readonly principalName: string;
  readonly keyId: string | null;
  readonly relayTokenId: string | null;
  readonly client: string | null;
  readonly tags: readonly string[];
  readonly fixedTags: readonly string[];
  streamed = false;
  readonly isBrowser: boolean;
  /** Names of the limits that it has met and that only warn. */
  warnings: readonly string[] | null = null;
  /** False for one that leaves no event. */
  isRecorded = true;
  /** Null where no answer tells of a response that its provider keeps. */
  responses: ResponseWatch | null = null;
  /** Both are disposed of when the event is written, before the response ends. They must not throw. */
  permit: Disposable | null = null;
  held: Disposable | null = null;
  /** The moment, of the monotonic clock, that bounds all of it; null: none. */
  untilMs: number | null = null;
  upstreamStatus: number | null = null;

  statusCode = 0;
  outcome: Outcome = "ok";
  errorKind: string | null = null;
  failure: ConnectionFailure | undefined;
  durationUs = 0;
  timeToFirstByteUs: number | null = null;
  usage: ReportedUsage | null = null;
  tier: string | undefined;
  geo: string | undefined;
  prices: AppliedPrices = NO_PRICES.prices;
  costPico: Pico | null = null;
  unpriced = false;
  costReportedPico: Pico | undefined;

  readonly #connection: Caller;
  #cancellation: Cancellation | null = null;
  #record: OpenUsage | null = null;
  #settling: Promise<void> | null = null;

  constructor(requests: OpenRequests, head: RequestHead, terms: Terms) {
    const { caller, headers } = head;
    this.requests = requests;
    this.terms = terms;
    this.arrivedAtUs = head.arrivedAtUs;
    this.#arrivedAtMs = head.arrivedAtMs;
    this.principalId = caller.principalId;
    this.principalName = caller.principalName;
    this.keyId = caller.keyId ?? null;
    this.relayTokenId = caller.relayTokenId ?? null;
    this.client = toStoredClient(headers);
    this.tags = toTags(headers, caller.fixedTags);
    this.fixedTags = caller.fixedTags;
    this.isBrowser = isFromBrowser(headers);
    this.#connection = head.connection;
  }

  get providerId(): string {
    return this.terms.providerId;
  }

  get model(): string | null {
    return this.terms.model;
  }

  get upstreamName(): string | null {
    return this.terms.upstreamName;
  }

  get endpoint(): string {
    return this.terms.endpoint;
  }

  get proxiedBy(): ProxiedBy {
    return this.terms.proxiedBy;
  }

  get lane(): number {
    return this.requests.lane;
  }

  get endedAtUs(): InstantUs {
    return this.arrivedAtUs + this.durationUs;
  }

  /** Made when it is first asked for: a request that is refused has none. */
  get cancellation(): Cancellation {
    return (this.#cancellation ??= this.requests.openCancellation(this.#connection));
  }

  /** Known once it is settled; null where a unit has no price, or its usage is not told or not wholly. */
  get toldCostPico(): Pico | null {
    return this.unpriced || this.usage?.shape === "begun" ? null : this.costPico;
  }

  /** It is known what it asks for, unless its event has begun. */
  ask(terms: Terms, streamed: boolean): void {
    if (this.#record !== null) return;
    this.terms = terms;
    this.streamed = streamed;
  }

  /** It counts as open. Its event may begin later, as long as it is not known what is asked for. */
  open(): void {
    if (this.isRecorded) this.requests.opened();
  }

  /** Begins its event, once; settling does it too, with what is known by then. Throws `internal_error` when the ledger cannot take another. */
  begin(): OpenUsage {
    if (this.#record !== null) return this.#record;
    this.#record = this.requests.deps.ledger.open(this);
    this.requests.begun(this);
    return this.#record;
  }

  /** The head of the upstream's response has come. */
  answered(statusCode: number): void {
    this.upstreamStatus = statusCode;
    this.responses?.answered(statusCode);
  }

  /** The first byte of its body has come. */
  firstByte(): void {
    this.timeToFirstByteUs ??= this.#sinceArrivalUs();
  }

  /** See `OpenUsage.background`. */
  background(): Promise<void> {
    return this.begin().background();
  }

  /** Writes the event, once; later calls change nothing. Fulfilled when it is in the ledger; rejects with `UnconfirmedUsage` alone. */
  settle(end: RequestEnd): Promise<void> {
    return (this.#settling ??= this.isRecorded ? this.#close(end) : this.#leave());
  }

  /** Instead of beginning: it was refused, and leaves no event unless the upstream has answered already. */
  abandon(): void {
    if (this.#record === null && this.upstreamStatus === null) this.#settling ??= this.#leave();
  }

  async #close(end: RequestEnd): Promise<void> {
    const { deps, limits, settlements, unreached } = this.requests;
    // A body that never came to its end was no request to its upstream.
    const isUnsent = this.#record === null && this.upstreamStatus === null;
    let refusal: UnconfirmedUsage | null = null;
    let isCounted = false;
    let step: SettlingStep = "begin";
    try {
      const record = this.begin();
      const model = end.metered?.model;
      const terms = (model === undefined ? null : this.terms.named?.(model)) ?? this.terms;
      const named = terms === this.terms ? undefined : this.#toNamed(terms);
      step = "price";
      this.#classify(end);
      this.durationUs = this.#sinceArrivalUs();
      const inForce = this.#findPrices(terms);
      const usedNothing = isUnsent || terms.usesNothing;
      const known = inForce instanceof Promise ? await inForce : inForce;
      this.#price(usedNothing ? null : end, terms, known);
      step = "end";
      const written = record.end(this, named);
      step = "count";
      // In the same turn: a request that comes next meets what this one has used.
      limits.ended(this, this, named);
      isCounted = true;
      // It counts also when the disk does not confirm it: its line is among those that the journal writes.
      const { endpoint, model: alias, providerName: provider } = terms;
      (terms.counter ?? deps.metrics.open({ endpoint, provider, model: alias })).count(this);
      deps.watch?.ended(named ?? this, provider, this);
      if (endpoint === "responses") settlements.ended(this, this);
      if (this.failure !== undefined) unreached.tell(provider, this.failure);
      step = "write";
      await written;
    } catch (failure) {
      if (this.#record !== null && !isCounted) this.requests.lost(this);
      if (failure instanceof UnconfirmedUsage) refusal = failure;
      // Else the answer, which has been paid for by then, is not taken away: that would not bring the event back.
      deps.log.error("a usage event could not be written", {
        step,
        ...(this.#record === null ? {} : { endpoint: this.endpoint }),
        ...describeCause(failure),
      });
    }
    this.#release();
    if (refusal !== null) throw refusal;
  }

  #toNamed({ model, upstreamName }: RequestTerms): UsageBeginning {
    const { arrivedAtUs, streamed } = this;
    return { ...toDimensions(this), model, upstreamName, arrivedAtUs, streamed };
  }

  #classify(end: RequestEnd): void {
    const { outcome, statusCode, errorKind, failure } = classifyOutcome(end, this.upstreamStatus);
    this.outcome = outcome;
    this.statusCode = statusCode;
    this.errorKind = isOfCredential(errorKind, this.terms.credential) ? `http_${statusCode}` : errorKind;
    this.failure = failure;
  }

  /** `end`: null for one that used nothing, whatever its answer tells. */
  #price(end: RequestEnd | null, { isBilled = end !== null }: RequestTerms, inForce: ModelPrices): void {
    this.tier = end?.metered?.tier;
    this.geo = end?.metered?.geo;
    this.costReportedPico = end?.metered?.costReportedPico;
    this.usage = end === null ? NOTHING_USED : toReported(end, this.outcome);
    this.prices = choosePrices(inForce, this);
    const isAnswered = isBilled && this.upstreamStatus !== null && isSuccess(this.upstreamStatus);
    if (isAnswered) this.usage = withBilledRequest(this.usage, this.prices, inForce);
    if (this.usage === null) return;
    const { costPico, unpriced } = priceDisjoint(toDisjointQuantities(this.usage), this.prices);
    this.costPico = costPico === null ? null : BigInt(costPico);
    this.unpriced = unpriced;
  }

  /** It leaves without an event. */
  #leave(): Promise<void> {
    this.#release();
    return Promise.resolve();
  }

  #release(): void {
    if (this.isRecorded) this.requests.closed(this.#record === null ? null : this);
    this.responses?.recorded();
    this.held?.[Symbol.dispose]();
    this.permit?.[Symbol.dispose]();
  }

  #sinceArrivalUs(): number {
    // As the journal has it: limits count by the end, in memory and in the ledger alike.
    return toDuration((this.requests.deps.clock.monotonicMs() - this.#arrivedAtMs) * 1000);
  }

  /** The prices in force now, since a request may run for minutes after it came. */
  #findPrices(terms: RequestTerms): ModelPrices | Promise<ModelPrices> {
    try {
      const current = this.requests.deps.catalog.peek();
      if (current !== null) return terms.findPrices(current) ?? terms.knownPrices;
    } catch {
      // What keeps memory from telling is told when the catalog is read.
    }
    return this.#readPrices(terms);
  }

  async #readPrices(terms: RequestTerms): Promise<ModelPrices> {
    const { catalog, log } = this.requests.deps;
    try {
      return terms.findPrices(await catalog.snapshot()) ?? terms.knownPrices;
    } catch (failure) {
      log.warn("prices could not be read again", describeCause(failure));
      return terms.knownPrices;
    }
  }
}

/** The end of a request, as the data plane saw it. The usage event's outcome follows from it and from what was metered. */
export type RequestEnd =
  /** The upstream's response ended as it should, whatever it said. */
  | { readonly kind: "answered"; readonly metered: MeterReading }
  | ({ readonly kind: "unreachable"; readonly metered: MeterReading | null } & Breach)
  | { readonly kind: "cancelled"; readonly metered: MeterReading | null };

type ClassifiedOutcome = Pick<UsageEnding, "outcome" | "statusCode" | "errorKind" | "failure">;

const STATUS_UNREACHABLE = 502;

/** Outcome, status and error kind (specification, section 2.10; decisions, "Usage and prices" and "Reports"). */
export function classifyOutcome(end: RequestEnd, upstreamStatus: number | null): ClassifiedOutcome {
  const { kind, metered } = end;
  if (kind === "unreachable")
    return {
      outcome: kind,
      statusCode: STATUS_UNREACHABLE,
      errorKind: end.error,
      failure: end.failure,
    };
  // A caller that leaves after the last event, or after an error event, has had its answer.
  const errorKind = metered?.errorKind ?? null;
  const statusCode = upstreamStatus ?? STATUS_CANCELLED;
  if (kind === "cancelled" && errorKind === null && metered?.complete !== true) {
    return { outcome: "cancelled", statusCode, errorKind: null };
  }
  if (errorKind === null && statusCode < 400 && metered?.response?.status === "cancelled")
    return { outcome: "cancelled", statusCode, errorKind: null };
  if (statusCode >= 400)
    return { outcome: "upstream_error", statusCode, errorKind: errorKind ?? `http_${statusCode}` };
  return { outcome: errorKind === null ? "ok" : "upstream_error", statusCode, errorKind };
}

/** The outcome of a response that was made in the background, by its terminal status. */
export function toOutcome({
  errorKind,
  response,
}: MeterReading): Pick<ClassifiedOutcome, "outcome" | "errorKind"> {
  const status = response?.status ?? null;
  if (status === "cancelled") return { outcome: "cancelled", errorKind: null };
  if (status === "failed") return { outcome: "upstream_error", errorKind: errorKind ?? status };
  return { outcome: errorKind === null ? "ok" : "upstream_error", errorKind };
}

/** The usage of a stream whose caller has left is only begun where it was told before the answer. */
function toReported({ metered }: RequestEnd, outcome: Outcome): ReportedUsage | null {
  if (metered === null || metered.usage === null) return null;
  const { usage, isUsageBegun = false } = metered;
  return outcome === "cancelled" && isUsageBegun && usage.shape === "exclusive"
    ? { ...usage, shape: "begun" }
    : usage;
}
