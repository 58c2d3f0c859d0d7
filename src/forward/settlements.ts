import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { CatalogStore } from "#catalog/store.ts";
import type { Clock } from "#kernel/clock.ts";
import { type EventOrigin, eventIdToUuid } from "#kernel/ids.ts";
import { type Log, describeCause } from "#kernel/log.ts";
import type { LimitGate } from "#limits/limit-gate.ts";
import type { PriceSet } from "#kernel/units.ts";
import { withBilledRequest } from "#usage/billed-request.ts";
import { priceUsage } from "#usage/cost.ts";
import type { FoundEvent, Outcome, ReportedUsage, UsageEnding } from "#usage/event.ts";
import { toDuration } from "#usage/journal-fields.ts";
import type { UsageCounter } from "#usage/metrics.ts";
import { toTierPrices } from "#usage/tier.ts";
import type { UsageLedger, UsageWatch } from "#usage/store.ts";

/** The first terminal status of an answer that was given in the background. */
export interface BackgroundEnd {
  /** The event of the request that the answer was begun by. */
  readonly event: EventOrigin;
  readonly outcome: Outcome;
  readonly errorKind: string | null;
  /** Null when it was not reported. */
  readonly usage: ReportedUsage | null;
  readonly tier?: string | undefined;
  readonly providerName: string;
  /** Prices in force now; null when its model is gone, which leaves it unpriced. */
  readonly findPrices: (catalog: CatalogSnapshot) => PriceSet | null;
  readonly counter: Pick<UsageCounter, "settle">;
}

export interface SettlementsDeps {
  readonly catalog: Pick<CatalogStore, "peek" | "snapshot">;
  readonly ledger: UsageLedger;
  readonly limits: LimitGate;
  /** Hears of each settlement. */
  readonly watch?: UsageWatch | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** The status of an answer that was begun: what the ledger has of a request that a kill cut off is not known to be another. */
const STATUS_ANSWERED = 200;

/** Settles pending events, each once. */
export class Settlements {
  readonly #deps: SettlementsDeps;
  /** Settlements under way: a second poll that comes meanwhile waits for the first one's. */
  readonly #underWay = new Map<string, Promise<void>>();

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

  async #settle(end: BackgroundEnd): Promise<void> {
    const { ledger, limits, catalog, clock, watch } = this.#deps;
    const found = await this.#find(end.event);
    if (found?.kind === "settled") return;
    const snapshot = catalog.peek() ?? (await catalog.snapshot());
    // Nothing is awaited from here to `limits.settled`: sums of the ledger have both, or neither.
    const { event, outcome, errorKind, tier, providerName } = end;
    const prices = toTierPrices(end.findPrices(snapshot) ?? {}, tier);
    const usage = withBilledRequest(end.usage, prices);
    const { costPico, unpriced } = priceUsage(usage, prices);
    const settledAtUs = clock.nowUs();
    const before = found?.kind === "unsettled" ? found.ending : null;
    const isAnswered = before !== null && before.outcome !== "unreachable";
    const statusCode = isAnswered ? before.statusCode : STATUS_ANSWERED;
    const told = { statusCode, outcome, errorKind, usage, tier, prices, costPico, unpriced };
    const written = ledger.settle({ event, settledAtUs, ...told });
    const after: UsageEnding = {
      ...told,
      durationUs: toDuration(settledAtUs - event.eventId),
      timeToFirstByteUs: before?.timeToFirstByteUs ?? null,
    };
    if (found?.kind === "unsettled") {
      limits.settled(found.subject, found.ending, after);
      watch?.settled(found.subject, providerName, after);
    } else if (found === null) limits.distrust();
    end.counter.settle(after);
    await written;
  }

  /** Null when the ledger could not be read: the settlement is written all the same, since no other poll may come. */
  async #find(event: EventOrigin): Promise<FoundEvent | null> {
    try {
      return await this.#deps.ledger.findEvent(event);
    } catch (cause) {
      this.#deps.log.warn("a pending event could not be read before it was settled", describeCause(cause));
      return null;
    }
  }
}
