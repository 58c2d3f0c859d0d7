import { type Clock, DAY_US, formatInstant } from "#kernel/clock.ts";
import type { Ids } from "#kernel/ids.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { sleep } from "#kernel/timer.ts";
import type { UseWatch } from "#limits/limit.ts";
import type { UsageWatch } from "#usage/store.ts";
import { LimitNotices } from "./limit-notices.ts";
import { type NoticeCount, Outbox, type Pause, type Tell } from "./outbox.ts";
import { createNoticePost, type NoticeTarget } from "./post.ts";
import { ProviderNotices } from "./provider-notices.ts";
import { type SpendDeps, SpendNotices } from "./spend-notices.ts";
import type { NoticeStore, ExpiringSecret } from "./store.ts";
import { type NoticeDraft, toQuotedName } from "./notice.ts";
import { truncateCodePoints } from "#kernel/text.ts";
import { findUnitPrice, UNITS } from "#kernel/units.ts";
import type { UsageBeginning, UsageEnding } from "#usage/event.ts";
import { findLack, toDisjointQuantities, toUnpricedReason } from "#usage/cost.ts";

/** What tells an installation's operators what happens in it, by a webhook of theirs. */
export interface Notices {
  readonly uses: UseWatch;
  readonly usage: UsageWatch;
  counts(): readonly NoticeCount[];
  waitingCount(): number;
  close(): Promise<void>;
}

interface NoticesDeps {
  readonly target: NoticeTarget;
  readonly store: NoticeStore;
  readonly spend: SpendDeps;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly pause?: Pause;
}

/** How often keys that are about to expire are looked for: their notices come late by so much. */
const LOOK_INTERVAL_MS = 15_000;
const SWEEP_INTERVAL_MS = 600_000;

/** Takes up what a process before has left to be sent. */
export async function openNotices(deps: NoticesDeps): Promise<Notices> {
  const { target, store, clock, log, pause = sleep } = deps;
  const outbox = new Outbox({ ...deps, post: createNoticePost(target), pause });
  const { tell } = outbox;
  const keys = new KeyNotices({ store, clock, tell });
  const prices = new PriceNotices(tell);
  const providers = new ProviderNotices({ store, clock, tell });
  const uses = new LimitNotices(tell);
  const spend = new SpendNotices({ ...deps.spend, clock, tell });
  let sweepAtMs = clock.monotonicMs();
  const look = async () => {
    uses.tellMany(clock.nowUs());
    await outbox
      .takeUp()
      .catch((cause: unknown) => log.warn("notices that wait could not be taken up", describeCause(cause)));
    await spend
      .look()
      .catch((cause: unknown) => log.warn("unusual cost could not be looked for", describeCause(cause)));
    try {
      await keys.look();
      if (clock.monotonicMs() < sweepAtMs) return;
      sweepAtMs = clock.monotonicMs() + SWEEP_INTERVAL_MS;
      await store.sweepMarks(clock.nowUs());
    } catch (cause) {
      log.warn("keys that expire could not be looked for", describeCause(cause));
    }
  };
  await outbox.open();
  await providers.load();
  let looking = look();
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, LOOK_INTERVAL_MS);
  timer.unref();
  return {
    uses,
    usage: {
      ended(request, providerName, ending) {
        prices.ended(request, providerName, ending);
        providers.ended(request, providerName, ending);
      },
      settled: (request, providerName, ending) => prices.ended(request, providerName, ending),
    },
    counts: () => outbox.counts(),
    waitingCount: () => outbox.waitingCount(),
    async close() {
      clearInterval(timer);
      await looking;
      uses.tellMany(clock.nowUs());
      await outbox.close();
    },
  };
}

/** How long before its end a key is told of, the longest first. */
const DAYS_BEFORE = [7, 1] as const;
const FIRST_DAYS = DAYS_BEFORE[0];
/** Keys, and as many relay tokens, of which one look tells; those that end later are met by a later one. */
const EXPIRING_ROWS_MAX = 1_000;

const NOUNS = { api_key: "API key", relay_token: "relay token" } as const;

interface KeyNoticesDeps {
  readonly store: Pick<NoticeStore, "listExpiring">;
  readonly clock: Clock;
  readonly tell: Tell;
}

/** Tells of keys and relay tokens that are about to expire. */
export class KeyNotices {
  readonly #deps: KeyNoticesDeps;
  /** What the look before has told, so that the next one writes nothing. */
  #told = new Set<string>();

  constructor(deps: KeyNoticesDeps) {
    this.#deps = deps;
  }

  async look(): Promise<void> {
    const { store, clock, tell } = this.#deps;
    const nowUs = clock.nowUs();
    const untilUs = nowUs + FIRST_DAYS * DAY_US;
    const told = new Set<string>();
    for (const secret of await store.listExpiring({ afterUs: nowUs, untilUs, rowsMax: EXPIRING_ROWS_MAX })) {
      const due = toDueDays(secret, nowUs);
      const days = due.at(-1);
      if (days === undefined) continue;
      const toMark = (of: number) => ({
        name: `key.expiring ${secret.id} ${secret.expiresAtUs} ${of}`,
        untilUs: secret.expiresAtUs,
      });
      const mark = toMark(days);
      told.add(mark.name);
      if (!this.#told.has(mark.name))
        tell(toDraft(secret, days), { mark, alsoMarks: due.slice(0, -1).map(toMark) });
    }
    this.#told = told;
  }
}

/** The days of `DAYS_BEFORE` that are past, also where they were when the key was made. */
function toDueDays({ expiresAtUs }: ExpiringSecret, nowUs: number): readonly number[] {
  return DAYS_BEFORE.filter((days) => expiresAtUs - days * DAY_US <= nowUs);
}

function toDraft(secret: ExpiringSecret, days: number): NoticeDraft {
  const { kind, id, label, principalName, expiresAtUs } = secret;
  const named = label === "" ? "" : ` ${toQuotedName(label)}`;
  const at = formatInstant(expiresAtUs);
  return {
    type: "key.expiring",
    text: `The ${NOUNS[kind]}${named} of ${toQuotedName(principalName)} expires at ${at.slice(0, 19)}Z, in ${days === 1 ? "a day" : `${days} days`} or less.`,
    facts: { key: { kind, id, label, principal: principalName, expires_at: at }, days_before: days },
  };
}

/** Models that are told of in one day: callers of the relay name what they like. */
export const UNPRICED_MODELS_MAX = 1_000;
/** Models that are told of in one day and that one principal has used first. */
export const UNPRICED_MODELS_OF_PRINCIPAL_MAX = 100;
const ANSWERED = { tier: "at the service tier", geo: "from the region" } as const;
/** As long as an alias may be. */
const MODEL_LENGTH_MAX = 200;

/** Tells of the first use of a model without a price, and at a tier or from a region without prices, on each UTC day. */
export class PriceNotices {
  readonly #tell: Tell;
  #day = 0;
  #gaps = new Set<string>();
  #byPrincipal = new Map<string, number>();

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  ended(
    { model: name, arrivedAtUs, principalId }: UsageBeginning,
    providerName: string,
    ending: UsageEnding,
  ): void {
    const { unpriced, usage, prices, durationUs } = ending;
    if (!unpriced || usage === null || name === null) return;
    const day = Math.floor((arrivedAtUs + durationUs) / DAY_US);
    if (day !== this.#day) {
      this.#day = day;
      this.#gaps = new Set();
      this.#byPrincipal = new Map();
    }
    const model = truncateCodePoints(name, MODEL_LENGTH_MAX).toWellFormed();
    const [lack, reason] = [findLack(ending), toUnpricedReason(ending)];
    // A tier without prices is another gap than a model without them.
    const gap = reason === undefined ? model : `${model} (${reason})`;
    if (this.#gaps.has(gap) || this.#gaps.size >= UNPRICED_MODELS_MAX) return;
    const own = (this.#byPrincipal.get(principalId) ?? 0) + 1;
    if (own > UNPRICED_MODELS_OF_PRINCIPAL_MAX) return;
    this.#byPrincipal.set(principalId, own);
    this.#gaps.add(gap);
    const quantities = toDisjointQuantities(usage);
    const units = UNITS.filter((unit) => (quantities[unit] ?? 0) > 0 && findUnitPrice(prices, unit) === null);
    this.#tell(
      {
        type: "price.missing",
        text:
          lack === undefined
            ? `The model ${toQuotedName(model)} was used and has no price for ${units.join(", ")}: what that costs is counted nowhere.`
            : `The model ${toQuotedName(model)} was answered ${ANSWERED[lack]} ${toQuotedName(ending[lack] ?? "")}, for which none of its prices holds: what that costs is counted nowhere.`,
        facts: {
          model,
          provider: providerName,
          units,
          ...(reason !== undefined && { reason }),
        },
      },
      { mark: { name: `price.missing ${day} ${gap}`, untilUs: (day + 2) * DAY_US } },
    );
  }
}
