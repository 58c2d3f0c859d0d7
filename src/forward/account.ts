import type { CatalogSnapshot, ResolvedModel } from "#catalog/snapshot.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";
import { describeCause } from "#kernel/log.ts";
import type { PriceSet } from "#kernel/units.ts";
import { priceUsage } from "#usage/cost.ts";
import type { Outcome, TransportError, UsageSubject } from "#usage/event.ts";
import type { OpenUsage, UsageLedger } from "#usage/store.ts";
import type { MeterReading } from "#usage/meter.ts";

/** How an exchange ended, as the data plane saw it. The usage event's outcome follows from it and from what was metered. */
export type AccountEnding =
  /** The upstream's response ended as it should, whatever it said. */
  | { readonly kind: "answered"; readonly metered: MeterReading }
  | { readonly kind: "unreachable"; readonly error: TransportError; readonly metered: MeterReading | null }
  | { readonly kind: "cancelled"; readonly metered: MeterReading | null };

/** The one usage event of one exchange, from before its upstream attempt until its end is written down. */
export interface Account {
  /** The head of the upstream's response has come. */
  answered(statusCode: number): void;
  /** The first byte of its body has come. */
  firstByte(): void;
  /** Called when the event is written, before the response ends. Must not throw. */
  whenSettled(callback: () => void): void;
  /** Writes the event, once; later calls change nothing. Fulfilled when it is in the ledger; never rejects. */
  settle(ending: AccountEnding): Promise<void>;
}

export interface AccountSubject {
  readonly subject: UsageSubject;
  readonly arrivedAtMs: number;
  readonly resolved: ResolvedModel;
}

export interface Accounts {
  /** Throws `internal_error` when the ledger cannot take another event. */
  open(subject: AccountSubject): Account;
  openCount(): number;
  /** Fulfilled as soon as no account is open. */
  settled(): Promise<void>;
}

export interface AccountsDeps {
  readonly catalog: { snapshot(): Promise<CatalogSnapshot> };
  readonly ledger: UsageLedger;
  readonly clock: Clock;
  readonly log: Log;
}

/** The client left before the upstream's head came: nginx's number for it (decisions, "Reports"). */
const STATUS_CANCELLED = 499;
const STATUS_UNREACHABLE = 502;

export function createAccounts(deps: AccountsDeps): Accounts {
  const { catalog, ledger, clock, log } = deps;
  let openCount = 0;
  let waiting: (() => void)[] = [];
  return {
    open(subject) {
      const usage = ledger.open(subject.subject);
      openCount += 1;
      return createAccount(subject, usage);
    },
    openCount: () => openCount,
    settled: () =>
      openCount === 0 ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve)),
  };

  function createAccount({ subject, arrivedAtMs, resolved }: AccountSubject, usage: OpenUsage): Account {
    let upstreamStatus: number | null = null;
    let timeToFirstByteUs: number | null = null;
    let settling: Promise<void> | null = null;
    const callbacks: (() => void)[] = [];
    const sinceArrivalUs = () => Math.max(0, Math.round((clock.monotonicMs() - arrivedAtMs) * 1000));

    const write = async (ending: AccountEnding) => {
      const durationUs = sinceArrivalUs();
      const metered = ending.metered;
      const prices = await pricesInForce(resolved);
      const cost = priceUsage(metered?.usage ?? null, prices);
      await usage.end({
        ...judge(ending, upstreamStatus),
        durationUs,
        timeToFirstByteUs,
        usage: metered?.usage ?? null,
        prices,
        costPico: cost.costPico,
        unpriced: cost.unpriced,
      });
    };
    const close = async (ending: AccountEnding) => {
      try {
        await write(ending);
      } catch (failure) {
        // The answer has been paid for by then; taking it away from its caller would not bring the event back.
        log.error("a usage event could not be written", {
          endpoint: subject.endpoint,
          ...describeCause(failure),
        });
      }
      openCount -= 1;
      for (const callback of callbacks) callback();
      if (openCount > 0) return;
      for (const resolve of waiting) resolve();
      waiting = [];
    };
    return {
      answered(statusCode) {
        upstreamStatus = statusCode;
      },
      firstByte() {
        timeToFirstByteUs ??= sinceArrivalUs();
      },
      whenSettled(callback) {
        callbacks.push(callback);
      },
      settle: (ending) => (settling ??= close(ending)),
    };
  }

  /** As of now, not of when the request came. A model that was deleted meanwhile is charged as it was. */
  async function pricesInForce(resolved: ResolvedModel): Promise<PriceSet> {
    try {
      return (await catalog.snapshot()).findModelById(resolved.model.id)?.prices ?? resolved.prices;
    } catch (failure) {
      log.warn("prices could not be read anew", describeCause(failure));
      return resolved.prices;
    }
  }
}

interface Judgement {
  readonly outcome: Outcome;
  readonly statusCode: number;
  readonly errorKind: string | null;
}

/** Outcome, status and error kind (specification, section 2.10; decisions, "Usage and prices" and "Reports"). */
function judge(ending: AccountEnding, upstreamStatus: number | null): Judgement {
  const { kind, metered } = ending;
  if (kind === "unreachable")
    return { outcome: kind, statusCode: STATUS_UNREACHABLE, errorKind: ending.error };
  // A caller that leaves after the last event, or after an error event, has had its answer.
  const errorKind = metered?.errorKind ?? null;
  const statusCode = upstreamStatus ?? STATUS_CANCELLED;
  if (kind === "cancelled" && errorKind === null && metered?.complete !== true) {
    return { outcome: "cancelled", statusCode, errorKind: null };
  }
  if (statusCode >= 400)
    return { outcome: "upstream_error", statusCode, errorKind: errorKind ?? `http_${statusCode}` };
  return { outcome: errorKind === null ? "ok" : "upstream_error", statusCode, errorKind };
}
