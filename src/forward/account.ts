import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { CatalogStore } from "#catalog/store.ts";
import type { Clock } from "#kernel/clock.ts";
import { type Log, describeCause } from "#kernel/log.ts";
import { type LimitGate, NO_LIMITS } from "#limits/limit-gate.ts";
import type { Pico } from "#kernel/units.ts";
import type { ModelPrices } from "#kernel/price-variants.ts";
import { choosePrices, priceUsage, withBilledRequest } from "#usage/cost.ts";
import {
  isSuccess,
  type Outcome,
  type ReportedUsage,
  type UsageBeginning,
  type UsageEnding,
  NOTHING_USED,
  type TransportError,
  STATUS_CANCELLED,
  toDuration,
} from "#usage/event.ts";
import type { UsageCounter, UsageMetrics } from "#usage/metrics.ts";
import { type OpenUsage, UnconfirmedUsage, type UsageLedger, type UsageWatch } from "#usage/store.ts";
import { Settlements } from "./settlements.ts";
import type { ConnectionFailure } from "#kernel/system-code.ts";
import type { MeterReading } from "#usage/meter.ts";

/** The one usage event of one exchange, from before its upstream attempt until its end is written down. */
export interface Account {
  /** The head of the upstream's response has come. */
  answered(statusCode: number): void;
  /** The first byte of its body has come. */
  firstByte(): void;
  /** See `OpenUsage.background`. */
  background(): Promise<void>;
  /** Disposed of when the event is written, before the response ends. Must not throw. */
  own(held: Disposable): void;
  /** Writes the event, once; later calls change nothing. Fulfilled when it is in the ledger; rejects with `UnconfirmedUsage` alone. */
  settle(ending: AccountEnding): Promise<void>;
  /** The cost of a settled request; null where a unit has no price, or its usage is not told or not wholly. */
  readonly costPico: Pico | null;
}

/** An account whose subject is in a body that is still on its way. It counts as open, and is not in the ledger yet. */
export interface LateAccount extends Account {
  /** Its subject is known. Settling does it too, with what is known by then. Throws as `open` does. */
  begin(): void;
  /** Instead of `begin`: it was refused, and leaves no event unless the upstream has answered already. */
  abandon(): void;
}

export interface AccountSubject {
  readonly subject: UsageBeginning;
  readonly terms: AccountTerms;
}

/** How the quantities of a request are counted. Requests to one model share it. */
export interface AccountTerms {
  /** The provider's name in metrics. */
  readonly providerName: string;
  /** Counts it in metrics; absent: one is found by its labels. */
  readonly counter?: UsageCounter;
  readonly pricing: SubjectPricing;
  /** Finds the request under the model that its answer names; null when that is no name. Absent where the request named one. */
  readonly named?: (model: string) => AccountSubject | null;
  /** It only asks or counts: whatever its answer tells is no usage. */
  readonly usesNothing?: boolean;
  /** True when a price by the request holds for it; absent: where it uses something. */
  readonly isBilled?: boolean;
}

/** The prices that a request's quantities cost. */
export interface SubjectPricing {
  /** Prices in force now; null when the catalog no longer knows what was asked for. */
  readonly findIn: (catalog: CatalogSnapshot) => ModelPrices | null;
  /** Prices in force when the request came. */
  readonly known: ModelPrices;
}

export interface AccountsDeps {
  readonly catalog: Pick<CatalogStore, "peek" | "snapshot">;
  readonly ledger: UsageLedger;
  readonly metrics: Pick<UsageMetrics, "open">;
  /** Absent: everything passes. */
  readonly limits?: LimitGate;
  /** Absent: nobody else hears of events. */
  readonly watch?: UsageWatch;
  readonly clock: Clock;
  readonly log: Log;
  /** The lane that ends the ids of requests (`eventIdToUuid`); 0 when absent. */
  readonly lane?: number;
}

/** Every account that is open. */
export class Accounts {
  readonly deps: AccountsDeps;
  readonly limits: LimitGate;
  readonly unreached: UnreachedLog;
  /** Settles events whose usage is pending. */
  readonly settlements: Settlements;
  #openCount = 0;
  #openStreamCount = 0;
  #waiting: (() => void)[] = [];

  constructor(deps: AccountsDeps) {
    this.deps = deps;
    this.limits = deps.limits ?? NO_LIMITS;
    this.unreached = new UnreachedLog(deps);
    this.settlements = new Settlements({ ...deps, limits: this.limits });
  }

  /** `arrivedAtMs` is monotonic. Throws `internal_error` when the ledger cannot take another event. */
  open(arrivedAtMs: number, subject: AccountSubject): Account {
    const account = new RecordedAccount(this, arrivedAtMs, subject);
    account.begin();
    this.#openCount += 1;
    return account;
  }

  /** For a request whose subject comes with its body. `findSubject` is asked once. */
  openLate(arrivedAtMs: number, findSubject: () => AccountSubject): LateAccount {
    this.#openCount += 1;
    return new RecordedAccount(this, arrivedAtMs, findSubject);
  }

  /** Fulfilled when what has begun so far survives a kill: only then may it go upstream. */
  written(): Promise<void> {
    return this.deps.ledger.written();
  }

  openCount(): number {
    return this.#openCount;
  }

  /** Open accounts whose request asked for a stream. */
  openStreamCount(): number {
    return this.#openStreamCount;
  }

  /** Fulfilled as soon as no account is open. */
  settled(): Promise<void> {
    if (this.#openCount === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  begun(subject: UsageBeginning): void {
    this.limits.began(subject);
    if (subject.endpoint === "responses") this.settlements.began(subject);
    if (subject.streamed) this.#openStreamCount += 1;
  }

  lost(subject: UsageBeginning): void {
    this.limits.lost(subject);
    this.settlements.lost(subject);
  }

  /** Null: a subject that could not be begun. */
  closed(subject: UsageBeginning | null): void {
    this.#openCount -= 1;
    if (subject?.streamed === true) this.#openStreamCount -= 1;
    if (this.#openCount > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** A step of recording an event: the log names the one that failed. */
type SettlingStep = "begin" | "price" | "end" | "count" | "write";

class RecordedAccount implements LateAccount {
  readonly #accounts: Accounts;
  readonly #arrivedAtMs: number;
  readonly #of: AccountSubject | (() => AccountSubject);
  #begun: { readonly of: AccountSubject; readonly usage: OpenUsage } | null = null;
  #upstreamStatus: number | null = null;
  #timeToFirstByteUs: number | null = null;
  #settling: Promise<void> | null = null;
  #held: Disposable[] | null = null;
  #isCounted = false;
  costPico: Pico | null = null;

  constructor(accounts: Accounts, arrivedAtMs: number, of: AccountSubject | (() => AccountSubject)) {
    this.#accounts = accounts;
    this.#arrivedAtMs = arrivedAtMs;
    this.#of = of;
  }

  begin() {
    if (this.#begun !== null) return this.#begun;
    const of = typeof this.#of === "function" ? this.#of() : this.#of;
    this.#begun = { of, usage: this.#accounts.deps.ledger.open(of.subject) };
    this.#accounts.begun(of.subject);
    return this.#begun;
  }

  answered(statusCode: number): void {
    this.#upstreamStatus = statusCode;
  }

  firstByte(): void {
    this.#timeToFirstByteUs ??= this.#sinceArrivalUs();
  }

  background(): Promise<void> {
    return this.begin().usage.background();
  }

  own(held: Disposable): void {
    if (this.#held === null) this.#held = [held];
    else this.#held.push(held);
  }

  settle(ending: AccountEnding): Promise<void> {
    return (this.#settling ??= this.#close(ending));
  }

  abandon(): void {
    if (this.#begun !== null || this.#settling !== null || this.#upstreamStatus !== null) return;
    this.#settling = Promise.resolve();
    this.#release();
  }

  async #close(ending: AccountEnding): Promise<void> {
    let refusal: UnconfirmedUsage | null = null;
    // A body that never came to its end was no request to its upstream.
    const isUnsent = this.#begun === null && this.#upstreamStatus === null;
    let step: SettlingStep = "begin";
    try {
      const { of: begun, usage } = this.begin();
      const { subject, terms } = toNamed(begun, ending);
      const named = subject === begun.subject ? undefined : subject;
      step = "price";
      const { outcome, statusCode, errorKind, failure } = classifyOutcome(ending, this.#upstreamStatus);
      const durationUs = this.#sinceArrivalUs();
      const usedNothing = isUnsent || terms.usesNothing === true;
      const inForce = this.#findPrices(terms.pricing);
      const { tier, geo, costReportedPico } = (usedNothing ? null : ending.metered) ?? NOTHING_TOLD;
      const told = usedNothing ? NOTHING_USED : toReported(ending, outcome);
      const priced = inForce instanceof Promise ? await inForce : inForce;
      const prices = choosePrices(priced, {
        tier,
        geo,
        usage: told,
        endedAtUs: begun.subject.arrivedAtUs + durationUs,
      });
      const { isBilled = !usedNothing } = terms;
      const isAnswered = isBilled && this.#upstreamStatus !== null && isSuccess(this.#upstreamStatus);
      const reported = isAnswered ? withBilledRequest(told, prices, priced) : told;
      const { costPico, unpriced } = priceUsage(reported, prices);
      if (!unpriced && reported?.shape !== "begun") this.costPico = costPico;
      const ended = {
        outcome,
        statusCode,
        errorKind,
        failure,
        durationUs,
        timeToFirstByteUs: this.#timeToFirstByteUs,
        usage: reported,
        tier,
        geo,
        prices,
        costPico,
        unpriced,
        costReportedPico,
      };
      step = "end";
      const written = usage.end(ended, named);
      step = "count";
      // In the same turn: a request that comes next meets what this one has used.
      this.#accounts.limits.ended(begun.subject, ended, named);
      this.#isCounted = true;
      // It counts also when the disk does not confirm it: its line is among those that the journal writes.
      (terms.counter ?? this.#openCounter(subject, terms)).count(ended);
      this.#accounts.deps.watch?.ended(subject, terms.providerName, ended);
      if (subject.endpoint === "responses") this.#accounts.settlements.ended(subject, ended);
      if (failure !== undefined) this.#accounts.unreached.tell(terms.providerName, failure);
      step = "write";
      await written;
    } catch (failure) {
      if (this.#begun !== null && !this.#isCounted) this.#accounts.lost(this.#begun.of.subject);
      if (failure instanceof UnconfirmedUsage) refusal = failure;
      // Else the answer, which has been paid for by then, is not taken away: that would not bring the event back.
      this.#accounts.deps.log.error("a usage event could not be written", {
        step,
        ...(this.#begun === null ? {} : { endpoint: this.#begun.of.subject.endpoint }),
        ...describeCause(failure),
      });
    }
    this.#release();
    if (refusal !== null) throw refusal;
  }

  #release(): void {
    this.#accounts.closed(this.#begun?.of.subject ?? null);
    if (this.#held !== null) for (const held of this.#held) held[Symbol.dispose]();
  }

  #sinceArrivalUs(): number {
    // As the journal has it: limits count by the end, in memory and in the ledger alike.
    return toDuration((this.#accounts.deps.clock.monotonicMs() - this.#arrivedAtMs) * 1000);
  }

  #openCounter({ endpoint, model }: UsageBeginning, { providerName }: AccountTerms): UsageCounter {
    return this.#accounts.deps.metrics.open({ endpoint, provider: providerName, model });
  }

  /** The prices in force now, since a request may run for minutes after it came. */
  #findPrices(pricing: SubjectPricing): ModelPrices | Promise<ModelPrices> {
    try {
      const current = this.#accounts.deps.catalog.peek();
      if (current !== null) return pricing.findIn(current) ?? pricing.known;
    } catch {
      // What keeps memory from telling is told when the catalog is read.
    }
    return this.#readPrices(pricing);
  }

  async #readPrices({ findIn, known }: SubjectPricing): Promise<ModelPrices> {
    const { catalog, log } = this.#accounts.deps;
    try {
      return findIn(await catalog.snapshot()) ?? known;
    } catch (failure) {
      log.warn("prices could not be read again", describeCause(failure));
      return known;
    }
  }
}

const NOTHING_TOLD: Pick<MeterReading, "tier" | "geo" | "costReportedPico"> = {};

function toNamed(begun: AccountSubject, { metered }: AccountEnding): AccountSubject {
  const model = metered?.model;
  return (model === undefined ? null : begun.terms.named?.(model)) ?? begun;
}

/** The usage of a stream whose caller has left is only begun where it was told before the answer. */
function toReported({ metered }: AccountEnding, outcome: Outcome): ReportedUsage | null {
  if (metered === null || metered.usage === null) return null;
  const { usage, isUsageBegun = false } = metered;
  return outcome === "cancelled" && isUsageBegun && usage.shape === "exclusive"
    ? { ...usage, shape: "begun" }
    : usage;
}

/** A provider that is down fails every request: one line for each reason in so much time. */
const SILENT_MS = 60_000;

/** The log's word of providers that give no answer, with the reason that no caller is told. */
class UnreachedLog {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #log: Pick<Log, "warn">;
  /** By provider and reason, of which there are few: names are the catalog's. */
  readonly #told = new Map<string, { atMs: number; untold: number }>();

  constructor({ clock, log }: Pick<AccountsDeps, "clock" | "log">) {
    this.#clock = clock;
    this.#log = log;
  }

  tell(provider: string, failure: ConnectionFailure): void {
    const key = `${failure} ${provider}`;
    const nowMs = this.#clock.monotonicMs();
    const told = this.#told.get(key);
    if (told !== undefined && nowMs - told.atMs < SILENT_MS) {
      told.untold += 1;
      return;
    }
    this.#told.set(key, { atMs: nowMs, untold: 0 });
    const before = told === undefined || told.untold === 0 ? {} : { untold: told.untold };
    this.#log.warn("a provider gave no answer", { provider, failure, ...before });
  }
}

/** The failure that kept an upstream's answer from coming whole. */
export interface Breach {
  /** Its class, which the caller is told as well. */
  readonly error: TransportError;
  /** Why, where that is known: for the operator alone. */
  readonly failure?: ConnectionFailure | undefined;
}

/** The end of an exchange, as the data plane saw it. The usage event's outcome follows from it and from what was metered. */
export type AccountEnding =
  /** The upstream's response ended as it should, whatever it said. */
  | { readonly kind: "answered"; readonly metered: MeterReading }
  | ({ readonly kind: "unreachable"; readonly metered: MeterReading | null } & Breach)
  | { readonly kind: "cancelled"; readonly metered: MeterReading | null };

type ClassifiedOutcome = Pick<UsageEnding, "outcome" | "statusCode" | "errorKind" | "failure">;

const STATUS_UNREACHABLE = 502;

/** Outcome, status and error kind (specification, section 2.10; decisions, "Usage and prices" and "Reports"). */
export function classifyOutcome(ending: AccountEnding, upstreamStatus: number | null): ClassifiedOutcome {
  const { kind, metered } = ending;
  if (kind === "unreachable")
    return {
      outcome: kind,
      statusCode: STATUS_UNREACHABLE,
      errorKind: ending.error,
      failure: ending.failure,
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
