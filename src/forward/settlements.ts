import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { CatalogStore } from "#catalog/store.ts";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import { type EventOrigin, eventIdToUuid } from "#kernel/ids.ts";
import { type Log, describeCause } from "#kernel/log.ts";
import type { LimitGate } from "#limits/limit-gate.ts";
import { type ModelPrices, NO_PRICES } from "#kernel/price-variants.ts";
import { choosePrices, priceUsage, withBilledRequest } from "#usage/cost.ts";
import {
  type FoundEvent,
  type Outcome,
  type UsageBeginning,
  type UsageEnding,
  toDuration,
} from "#usage/event.ts";
import type { MeterReading } from "#usage/meter.ts";
import type { UsageCounter } from "#usage/metrics.ts";
import type { UsageLedger, UsageWatch } from "#usage/store.ts";

/** The first terminal status of an answer that was given in the background. */
export interface BackgroundEnd extends Pick<MeterReading, "usage" | "tier" | "geo" | "costReportedPico"> {
  /** The event of the request that the answer was begun by. */
  readonly event: EventOrigin;
  readonly outcome: Outcome;
  readonly errorKind: string | null;
  readonly providerName: string;
  /** Prices in force now; null when its model is gone, which leaves it unpriced. */
  readonly findPrices: (catalog: CatalogSnapshot) => ModelPrices | null;
  readonly counter: Pick<UsageCounter, "settle">;
}

interface SettlementsDeps {
  readonly catalog: Pick<CatalogStore, "peek" | "snapshot">;
  readonly ledger: UsageLedger;
  readonly limits: LimitGate;
  /** Hears of each settlement. */
  readonly watch?: UsageWatch | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** The lane of the requests of this process; 0 when absent. */
  readonly lane?: number;
}

/** Counted once the request has ended. */
interface EarlyEnd extends Pick<BackgroundEnd, "providerName" | "counter"> {
  readonly after: UsageEnding;
}

/** The status of an answer that was begun: what the ledger has of a request that a kill cut off is not known to be another. */
const STATUS_ANSWERED = 200;

/** Settles pending events, each once. */
export class Settlements {
  readonly #deps: SettlementsDeps;
  /** Settlements under way: a second poll that comes meanwhile waits for the first one's. */
  readonly #underWay = new Map<string, Promise<void>>();
  /** By its arrival each open request that may have an answer in the background, with what was told of that meanwhile. */
  readonly #open = new Map<InstantUs, EarlyEnd | null>();

  constructor(deps: SettlementsDeps) {
    this.#deps = deps;
  }

  /**
   * Fulfilled when the event is settled and that survives a kill, or when it was settled before, which changes nothing.
   * Rejects with `internal_error` when the ledger cannot take it: it stays pending, and a later poll settles it.
   */
  settle(end: BackgroundEnd): Promise<void> {
    const key = eventIdToUuid(end.event.eventId, end.event.lane);
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined) return underWay;
    const settling = this.#settle(end).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, settling);
    return settling;
  }

  /** True when the ledger has the event with its usage; false when it could not be asked. */
  async isSettled(event: EventOrigin): Promise<boolean> {
    return (await this.#find(event))?.kind === "settled";
  }

  /** A request has begun whose answer may be asked for while it is open. */
  began({ arrivedAtUs }: UsageBeginning): void {
    this.#open.set(arrivedAtUs, null);
  }

  /** Called in the turn in which the end goes to the ledger: what was told of a pending answer before counts from now on. */
  ended(request: UsageBeginning, ending: UsageEnding): void {
    const early = this.#open.get(request.arrivedAtUs) ?? null;
    this.#open.delete(request.arrivedAtUs);
    if (early === null || ending.usage?.shape !== "pending") return;
    const { timeToFirstByteUs } = ending;
    this.#count(request, ending, { ...early, after: { ...early.after, timeToFirstByteUs } });
  }

  /** It has ended without an event. */
  lost({ arrivedAtUs }: UsageBeginning): void {
    this.#open.delete(arrivedAtUs);
  }

  #count(request: UsageBeginning, before: UsageEnding, { after, providerName, counter }: EarlyEnd): void {
    this.#deps.limits.settled(request, before, after);
    this.#deps.watch?.settled(request, providerName, after);
    counter.settle(after);
  }

  async #settle(end: BackgroundEnd): Promise<void> {
    const { ledger, limits, catalog, clock, lane = 0 } = this.#deps;
    const found = await this.#find(end.event);
    if (found?.kind === "settled") return;
    const snapshot = catalog.peek() ?? (await catalog.snapshot());
    // Nothing is awaited from here to `#count`: sums of the ledger have both, or neither.
    const { event, outcome, errorKind, tier, geo, costReportedPico, providerName, counter } = end;
    const settledAtUs = clock.nowUs();
    const facts = { tier, geo, usage: end.usage, endedAtUs: settledAtUs };
    const inForce = end.findPrices(snapshot) ?? NO_PRICES;
    const prices = choosePrices(inForce, facts);
    const usage = withBilledRequest(end.usage, prices, inForce);
    const { costPico, unpriced } = priceUsage(usage, prices);
    const before = found?.kind === "unsettled" ? found.ending : null;
    const isAnswered = before !== null && before.outcome !== "unreachable";
    const statusCode = isAnswered ? before.statusCode : STATUS_ANSWERED;
    const priced = { usage, tier, geo, prices, costPico, unpriced, costReportedPico };
    const figures = { statusCode, outcome, errorKind, ...priced };
    const written = ledger.settle({ event, settledAtUs, ...figures });
    const after: UsageEnding = {
      ...figures,
      durationUs: toDuration(settledAtUs - event.eventId),
      timeToFirstByteUs: before?.timeToFirstByteUs ?? null,
    };
    const told = { providerName, counter, after };
    const isOwn = event.lane === lane;
    if (found?.kind === "unsettled") this.#count(found.subject, found.ending, told);
    else if (isOwn && this.#open.has(event.eventId)) {
      // As in the ledger, the first counts.
      if (this.#open.get(event.eventId) === null) this.#open.set(event.eventId, told);
    } else {
      // It may have ended since it was asked for.
      if (found === null || isOwn) limits.distrust();
      counter.settle(after);
    }
    await written;
  }

  /** Null when the ledger could not be read: the settlement is written all the same, since no other poll may come. */
  async #find(event: EventOrigin): Promise<FoundEvent | null> {
    try {
      return await this.#deps.ledger.findEvent(event);
    } catch (cause) {
      this.#deps.log.warn("an event that may be pending could not be read", describeCause(cause));
      return null;
    }
  }
}
