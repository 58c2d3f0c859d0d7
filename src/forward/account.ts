import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { CatalogStore } from "#catalog/store.ts";
import type { Clock } from "#kernel/clock.ts";
import { type Log, describeCause } from "#kernel/log.ts";
import type { PriceSet } from "#kernel/units.ts";
import { priceUsage } from "#usage/cost.ts";
import type { UsageEnding, UsageBeginning } from "#usage/event.ts";
import type { UsageMetrics } from "#usage/metrics.ts";
import type { OpenUsage, UsageLedger } from "#usage/store.ts";
import { type AccountEnding, classifyOutcome } from "./outcome.ts";

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

/** An account whose subject is in a body that is still on its way. It counts as open, and is not in the ledger yet. */
export interface LateAccount extends Account {
  /** Its subject is known. Settling does it too, with what is known by then. Throws as `open` does. */
  begin(): void;
}

export interface AccountSubject {
  readonly subject: UsageBeginning;
  /** The provider's name in metrics. */
  readonly providerName: string;
  readonly pricing: SubjectPricing;
}

/** What the quantities of a request cost. */
export interface SubjectPricing {
  /** Prices in force now; null when the catalog no longer knows what was asked for. */
  readonly findIn: (catalog: CatalogSnapshot) => PriceSet | null;
  /** Prices in force when the request came. */
  readonly known: PriceSet;
}

export interface Accounts {
  /** `arrivedAtMs` is monotonic. Throws `internal_error` when the ledger cannot take another event. */
  open(arrivedAtMs: number, subject: AccountSubject): Account;
  /** For a request whose subject comes with its body. `findSubject` is asked once. */
  openLate(arrivedAtMs: number, findSubject: () => AccountSubject): LateAccount;
  /** Fulfilled when every account that has begun would survive a kill. No upstream sees a request before. */
  written(): Promise<void>;
  openCount(): number;
  /** Open accounts whose request asked for a stream. */
  openStreamCount(): number;
  /** Fulfilled as soon as no account is open. */
  settled(): Promise<void>;
}

export interface AccountsDeps {
  readonly catalog: Pick<CatalogStore, "peek" | "snapshot">;
  readonly ledger: UsageLedger;
  readonly metrics: Pick<UsageMetrics, "count">;
  readonly clock: Clock;
  readonly log: Log;
}

export function createAccounts(deps: AccountsDeps): Accounts {
  const { catalog, ledger, metrics, clock, log } = deps;
  let openCount = 0;
  let openStreamCount = 0;
  let waiting: (() => void)[] = [];
  return {
    open(arrivedAtMs, subject) {
      const begun = begin(subject);
      return createAccount(arrivedAtMs, () => begun);
    },
    openLate(arrivedAtMs, findSubject) {
      let begun: Begun | null = null;
      const beginOnce = () => (begun ??= begin(findSubject()));
      const account = createAccount(arrivedAtMs, beginOnce);
      return { ...account, begin: () => void beginOnce() };
    },
    written: () => ledger.written(),
    openCount: () => openCount,
    openStreamCount: () => openStreamCount,
    settled: () =>
      openCount === 0 ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve)),
  };

  function begin(subject: AccountSubject): Begun {
    const usage = ledger.open(subject.subject);
    if (subject.subject.streamed) openStreamCount += 1;
    return { ...subject, usage };
  }

  function createAccount(arrivedAtMs: number, getBegun: () => Begun): Account {
    openCount += 1;
    let upstreamStatus: number | null = null;
    let timeToFirstByteUs: number | null = null;
    let settling: Promise<void> | null = null;
    const callbacks: (() => void)[] = [];
    const sinceArrivalUs = () => Math.max(0, Math.round((clock.monotonicMs() - arrivedAtMs) * 1000));

    const write = async ({ subject, providerName, pricing, usage }: Begun, ending: AccountEnding) => {
      const durationUs = sinceArrivalUs();
      const metered = ending.metered;
      const prices = await pricesInForce(pricing);
      const cost = priceUsage(metered?.usage ?? null, prices);
      const ended: UsageEnding = {
        ...classifyOutcome(ending, upstreamStatus),
        durationUs,
        timeToFirstByteUs,
        usage: metered?.usage ?? null,
        prices,
        costPico: cost.costPico,
        unpriced: cost.unpriced,
      };
      const written = usage.end(ended);
      // Its line is in the journal by now, also when the disk does not confirm it.
      metrics.count({ endpoint: subject.endpoint, provider: providerName, model: subject.model }, ended);
      await written;
    };
    const close = async (ending: AccountEnding) => {
      let begun: Begun | null = null;
      try {
        begun = getBegun();
        await write(begun, ending);
      } catch (failure) {
        // The answer has been paid for by then; taking it away from its caller would not bring the event back.
        log.error("a usage event could not be written", {
          ...(begun === null ? {} : { endpoint: begun.subject.endpoint }),
          ...describeCause(failure),
        });
      }
      openCount -= 1;
      if (begun?.subject.streamed === true) openStreamCount -= 1;
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

  /** Reads the prices in force now, since a request may run for minutes after it came. */
  async function pricesInForce({ findIn, known }: SubjectPricing): Promise<PriceSet> {
    try {
      return findIn(catalog.peek() ?? (await catalog.snapshot())) ?? known;
    } catch (failure) {
      log.warn("prices could not be read again", describeCause(failure));
      return known;
    }
  }
}

/** An account of a request that leaves no event. */
export function createUnrecordedAccount(): LateAccount {
  let settled = false;
  const callbacks: (() => void)[] = [];
  return {
    begin: () => undefined,
    answered: () => undefined,
    firstByte: () => undefined,
    whenSettled: (callback) => void callbacks.push(callback),
    settle() {
      if (!settled) for (const callback of callbacks) callback();
      settled = true;
      return Promise.resolve();
    },
  };
}

/** An account whose begin line is in the ledger. */
interface Begun extends AccountSubject {
  readonly usage: OpenUsage;
}
