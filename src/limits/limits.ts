import type { Clock, InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { withinLimit } from "#kernel/timer.ts";
import type { UsageBeginning, UsageEnding } from "#usage/event.ts";
import type { LimitBoard } from "./open-elsewhere.ts";
import { LimitBook } from "./limit-book.ts";
import { LimitExchange, Pace, PeerKnowledge } from "./limit-exchange.ts";
import type { LimitGate } from "./limit-gate.ts";
import { type LimitRefusalCount, RefusalCounts, toLongest, toRefusal } from "./limit-refusal.ts";
import type { LimitLedger, LimitSum } from "./limit-sums.ts";
import type { LimitedRequest, Limit, UseWatch } from "./limit.ts";
import type { LimitSet, LimitStore } from "./store.ts";

interface LimitsDeps {
  readonly store: Pick<LimitStore, "peek" | "snapshot">;
  readonly ledger: LimitLedger;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Where other processes record in the same ledger: what they have used is read again at short intervals, and what they have
   * under way from there. Null or absent: there is no other.
   */
  readonly board?: LimitBoard | null;
  /** Absent: nothing is asked of what moves. */
  readonly watch?: UseWatch;
}

/** How long a request waits for limits that have just changed; it is refused then, since what they allow is not known. */
const REQUEST_WAIT_MS_MAX = 5_000;
/** How long who asks for limits waits for what was used of them, and a start, which then serves what they do not concern. */
const SUM_WAIT_MS_MAX = 30_000;
/** A clock that was set back further than this has left windows that memory no longer holds. */
const CLOCK_BACK_US_MAX = 1_000_000;
const SWEEP_INTERVAL_MS = 60_000;
/** With the time until a batch is committed, a replica knows within a second what others have let through. */
const RENEW_INTERVAL_MS = 750;
/** How long the ledger may take to add up hours with millions of requests; on PostgreSQL it gives up by then. */
const RENEW_MS_MAX = 120_000;

/** The limits of a running server: what was used stays in step with the ledger and with changes by any process. */
export class Limits implements LimitGate {
  readonly #deps: LimitsDeps;
  #book: LimitBook;
  readonly #exchange: LimitExchange | null;
  /** Counts beside the book until the ledger's sums for it are there. */
  #successor: LimitBook | null = null;
  readonly #renewals = new Pace();
  readonly #knowledge: PeerKnowledge;
  #set: LimitSet | null = null;
  /** How many times the limits were asked for, and of which time those are that are taken in. */
  #askedCount = 0;
  #takenCount = 0;
  readonly #adding: AddingUp;
  #latestUs: InstantUs = 0;
  readonly #refusals = new RefusalCounts();
  readonly #timers: readonly ReturnType<typeof setInterval>[];

  constructor(deps: LimitsDeps) {
    this.#deps = deps;
    const { board = null, ledger, clock, log, watch } = deps;
    this.#book = new LimitBook(watch, { isShared: board !== null });
    this.#adding = new AddingUp({ ledger, clock, book: () => this.#book });
    this.#knowledge = new PeerKnowledge({ clock, log });
    const shared = { book: () => this.#book, follow: () => this.#takeChanged(), knowledge: this.#knowledge };
    this.#exchange = board === null ? null : new LimitExchange({ board, ...shared, clock, log });
    this.#timers = [
      setInterval(() => this.book.sweep(clock.nowUs()), SWEEP_INTERVAL_MS),
      ...(board === null ? [] : [setInterval(() => void this.renew(), RENEW_INTERVAL_MS)]),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  get book(): LimitBook {
    return this.#book;
  }

  /** Before anything is served: what a process before has left in the journal counts as well. */
  async start(waitMsMax = SUM_WAIT_MS_MAX): Promise<void> {
    await this.#take();
    const { log } = this.#deps;
    const added = this.#adding.all().catch((cause: unknown) => {
      log.error(`${NOT_ADDED_UP}, and is tried again by the next`, describeCause(cause));
    });
    let isLate = false;
    await withinLimit(added, waitMsMax, () => {
      isLate = true;
      log.warn(`${NOT_ADDED_UP} until it is`);
    });
    if (isLate) void this.#tellAdded(added);
  }

  current(request: LimitedRequest): Promise<void> | null {
    const set = this.#deps.store.peek();
    if (set === null || set !== this.#set) return this.#waitFor(request);
    // Requests that none of the limits concerns whose sums are missing go on meanwhile, however long the ledger takes.
    if (!this.book.isHeard && this.book.isUnheard(request)) return this.#waitFor(request);
    if (!this.book.isComplete) return this.book.isWaitedFor(request) ? this.#waitFor(request) : null;
    if (this.book.isEmpty) return null;
    const nowUs = this.#deps.clock.nowUs();
    const isSetBack = nowUs < this.#latestUs - CLOCK_BACK_US_MAX;
    this.#latestUs = isSetBack ? nowUs : Math.max(nowUs, this.#latestUs);
    if (!isSetBack) return null;
    this.#deps.log.warn("the clock was set back: what limits have counted is read from the ledger again");
    this.distrust();
    return this.book.isComplete ? null : this.#waitFor(request);
  }

  /** Takes in the limits as they are now, and what the ledger holds of those that are new. */
  async follow(): Promise<void> {
    await withinLimit(
      this.#take().then(() => Promise.all([this.#adding.all(), this.#hear()])),
      SUM_WAIT_MS_MAX,
      () => {
        throw new ProxyError(
          "internal_error",
          "The limits hold, and what was used of them is still being added up: ask again.",
        );
      },
    );
  }

  admit(request: UsageBeginning, hasPrice: () => boolean): readonly string[] | null {
    if (this.book.isEmpty) return null;
    const nowUs = this.#deps.clock.nowUs();
    const met = this.book.findMet(request, nowUs, hasPrice);
    if (met.length === 0) return null;
    const refusing = toLongest(
      met.filter(({ limit }) => limit.action === "refuse"),
      nowUs,
    );
    if (refusing === null) return met.map(({ limit }) => limit.name);
    this.book.refused(refusing, nowUs);
    this.#refusals.add(refusing.limit);
    throw toRefusal(refusing, nowUs, request.model);
  }

  dependsOnModel(request: LimitedRequest): boolean {
    return this.book.dependsOnModel(request);
  }

  began(request: UsageBeginning): void {
    this.book.began(request);
    this.#successor?.began(request);
  }

  ended(request: UsageBeginning, ending: UsageEnding, named?: UsageBeginning): void {
    this.book.ended(request, ending, named);
    this.#successor?.ended(request, ending, named);
  }

  settled(request: UsageBeginning, before: UsageEnding, after: UsageEnding): void {
    this.book.settled(request, before, after);
    this.#successor?.settled(request, before, after);
  }

  distrust(): void {
    if (this.#set === null) return;
    this.#successor = null;
    this.book.forget(this.#set.limits);
  }

  lost(request: UsageBeginning): void {
    this.book.lost(request);
    this.#successor?.lost(request);
  }

  /**
   * Takes in what other processes have recorded since: another book is counted beside the one in force and replaces it, so
   * that no request waits. Nothing changes when the ledger does not answer in time, or limits change meanwhile.
   */
  async renew(): Promise<void> {
    const set = this.#set;
    this.#knowledge.need("used", !this.book.isEmpty);
    if (set === null || this.#adding.isUnderWay || this.#successor !== null) return;
    if (this.book.isEmpty || !this.book.isComplete) return;
    const { clock } = this.#deps;
    const startedMs = clock.monotonicMs();
    if (!this.#renewals.isDue(startedMs)) return;
    // One turn from here to the call of the ledger.
    const { book, missing } = this.book.toSuccessor();
    this.#successor = book;
    let isAnswered = false;
    try {
      const sums = await withinLimit(this.#adding.sum(missing), RENEW_MS_MAX, () => null);
      isAnswered = sums !== null;
      if (sums === null || this.#set !== set || this.#successor !== book) return;
      book.load(missing, sums);
      this.#book = book;
      this.#knowledge.answered("used", startedMs);
      book.tellAll(this.#deps.clock.nowUs());
    } catch (cause) {
      this.#deps.log.debug("what other replicas have used could not be read", describeCause(cause));
    } finally {
      this.#renewals.took(startedMs, clock.monotonicMs(), isAnswered);
      if (this.#successor === book) this.#successor = null;
    }
  }

  /** Tells other processes what is under way, and takes in what they have. Never throws. */
  async exchange(): Promise<void> {
    await this.#exchange?.run();
  }

  /** Age of what this process knows of the others' use, in milliseconds; 0 where no limit needs it, or there are no others. */
  peersAgeMs(): number {
    return this.#knowledge.ageMs;
  }

  refusals(): readonly LimitRefusalCount[] {
    return this.#refusals.list();
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#exchange?.close();
  }

  async #tellAdded(added: Promise<void>): Promise<void> {
    await added;
    if (this.book.isComplete) this.#deps.log.info("what was used of limits is added up");
  }

  async #take(): Promise<void> {
    const count = (this.#askedCount += 1);
    const set = await this.#deps.store.snapshot();
    // What was asked for later is newer.
    if (count < this.#takenCount) return;
    this.#takenCount = count;
    if (set === this.#set) return;
    // A successor that is being counted has the limits of before.
    this.#successor = null;
    this.#set = set;
    this.book.replace(set.limits);
    // An amount that was lowered may be used up already.
    this.book.tellAll(this.#deps.clock.nowUs());
  }

  /** Never throws: a request that needs them reads them itself. */
  async #takeChanged(): Promise<void> {
    const set = this.#deps.store.peek();
    if (set === null || set === this.#set) return;
    await this.#take().catch((cause: unknown) => {
      this.#deps.log.debug("limits that have changed could not be read", describeCause(cause));
    });
  }

  async #hear(): Promise<void> {
    if (!this.book.isHeard) await this.#exchange?.hear();
  }

  async #waitFor(request: LimitedRequest): Promise<void> {
    try {
      await withinLimit(this.#readFor(request), REQUEST_WAIT_MS_MAX, () => {
        throw refuseUnknown();
      });
    } catch (cause) {
      if (!(cause instanceof ProxyError))
        this.#deps.log.error("limits could not be read", describeCause(cause));
      throw cause;
    }
  }

  async #readFor(request: LimitedRequest): Promise<void> {
    await this.#take();
    if (this.book.isUnheard(request)) await this.#hear();
    while (this.book.isWaitedFor(request)) await this.#adding.next();
  }
}

const NOT_ADDED_UP = "what was used of limits is not added up: requests that they concern are refused";

function refuseUnknown(): ProxyError {
  return new ProxyError(
    "internal_error",
    "The limits have just changed and could not be read yet: try again.",
  );
}

interface AddingUpDeps {
  readonly ledger: LimitLedger;
  readonly clock: Clock;
  /** The one in force. */
  readonly book: () => LimitBook;
}

/** What the ledger adds up for limits: one question after the other, and what changes meanwhile is asked for next. */
class AddingUp {
  readonly #deps: AddingUpDeps;
  #round: Promise<void> | null = null;

  constructor(deps: AddingUpDeps) {
    this.#deps = deps;
  }

  get isUnderWay(): boolean {
    return this.#round !== null;
  }

  /** Fulfilled once nothing is missing. */
  async all(): Promise<void> {
    while (!this.#deps.book().isComplete) await this.next();
  }

  /** What is missing now, or what is being added up already. */
  next(): Promise<void> {
    return (this.#round ??= this.#addUp().finally(() => (this.#round = null)));
  }

  /** To be called in the turn in which the limits begin to count. */
  async sum(limits: readonly Limit[]): Promise<readonly LimitSum[]> {
    const counted = limits.filter(({ measure }) => measure !== "concurrent");
    const { ledger, clock } = this.#deps;
    return counted.length === 0 ? [] : await ledger.sumLimits(counted, clock.nowUs());
  }

  async #addUp(): Promise<void> {
    const book = this.#deps.book();
    const missing = book.askMissing();
    try {
      book.load(missing, await this.sum(missing));
    } catch (cause) {
      // Who waits next asks again.
      book.giveUp(missing);
      throw cause;
    }
    // A process that ended before it told anybody may have counted a part of it.
    book.tellAll(this.#deps.clock.nowUs());
  }
}
