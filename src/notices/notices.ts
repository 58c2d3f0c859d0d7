import type { Clock } from "#kernel/clock.ts";
import type { Ids } from "#kernel/ids.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { sleep } from "#kernel/timer.ts";
import type { UseWatch } from "#limits/use-watch.ts";
import type { UsageWatch } from "#usage/store.ts";
import { KeyNotices } from "./key-notices.ts";
import { LimitNotices } from "./limit-notices.ts";
import { type NoticeCount, Outbox, type Pause } from "./outbox.ts";
import { createNoticePost, type NoticeTarget } from "./post.ts";
import { PriceNotices } from "./price-notices.ts";
import { ProviderNotices } from "./provider-notices.ts";
import type { NoticeStore } from "./store.ts";

/** What tells an installation's operators what happens in it, by a webhook of theirs. */
export interface Notices {
  readonly uses: UseWatch;
  readonly usage: UsageWatch;
  counts(): readonly NoticeCount[];
  waitingCount(): number;
  close(): Promise<void>;
}

export interface NoticesDeps {
  readonly target: NoticeTarget;
  readonly store: NoticeStore;
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
  let sweepAtMs = clock.monotonicMs();
  const look = async () => {
    uses.tellMany(clock.nowUs());
    await outbox
      .takeUp()
      .catch((cause: unknown) => log.warn("notices that wait could not be taken up", describeCause(cause)));
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
