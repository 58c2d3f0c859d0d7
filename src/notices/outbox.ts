import type { Clock } from "#kernel/clock.ts";
import type { Ids } from "#kernel/ids.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { type Notice, type NoticeDraft, type NoticeType, toNotice, toSource } from "./notice.ts";
import { isDelivered, type NoticePost, type PostOutcome } from "./post.ts";
import type { NoticeStore, Telling, WaitingNotice } from "./store.ts";

/** Has a notice sent, unless it was already. Returns at once; never throws. */
export type Tell = (draft: NoticeDraft, once: Omit<Telling, "notice">) => void;

/** Waits for so long, or until the signal aborts; never rejects. */
export type Pause = (ms: number, signal: AbortSignal) => Promise<void>;

export interface OutboxDeps {
  readonly store: Pick<NoticeStore, "put" | "list" | "remove" | "claims">;
  readonly post: NoticePost;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly pause: Pause;
}

/** Notices that wait at once, in memory and on the disk; beyond it the oldest of the source that has the most are dropped. */
export const NOTICES_WAITING_MAX = 1_000;
/** How long a notice is tried, from its making or from the start of this process on. */
export const TRIED_MS_MAX = 3_600_000;
/** The pause after a failure, which doubles with each one that follows. */
export const PAUSE_MS_MIN = 1_000;
export const PAUSE_MS_MAX = 300_000;
/** When notices could not be kept, such as on a full disk. */
const KEEP_AGAIN_MS = 5_000;

/** Notices since the start: `delivered`, or `dropped` after an hour or when too many waited. */
export interface NoticeCount {
  readonly type: NoticeType;
  readonly result: "delivered" | "dropped";
  readonly count: number;
}

interface Queued extends WaitingNotice {
  readonly sinceMs: number;
}

/** Sends notices one after the other, and keeps each until its receiver has taken it: at least once, in order. */
export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #closing = new AbortController();
  /** Not kept yet. */
  readonly #told: Telling[] = [];
  readonly #queue: Queued[] = [];
  readonly #counts = new Map<string, { type: NoticeType; result: NoticeCount["result"]; count: number }>();
  #unforgotten: number[] = [];
  #keeping: Promise<void> | null = null;
  #sending: Promise<void> | null = null;

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Takes up what a process before has left. */
  async open(): Promise<void> {
    const { store } = this.#deps;
    if (store.claims === undefined) this.#enqueue(await store.list());
    else await this.takeUp();
  }

  /** Takes up what another process was to send that has ended, and keeps its own. */
  async takeUp(): Promise<void> {
    const { store, clock } = this.#deps;
    if (store.claims === undefined) return;
    // Sent, and still there: another process would send it once more.
    if (this.#unforgotten.length > 0) await store.remove(this.#unforgotten.splice(0));
    const own = this.#queue.map(({ sequence }) => sequence);
    this.#enqueue(await store.claims.take(own, clock.nowUs()));
  }

  readonly tell: Tell = (draft, once) => {
    const { ids, clock } = this.#deps;
    this.#told.push({ ...once, notice: toNotice(draft, ids.uuid(), clock.nowUs()) });
    this.#drop(takeExcess(this.#told, 0));
    this.#keeping ??= this.#keep();
  };

  counts(): readonly NoticeCount[] {
    return [...this.#counts.values()];
  }

  waitingCount(): number {
    return this.#told.length + this.#queue.length;
  }

  /** What has not arrived is sent by the next process. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#keeping;
    await this.#sending;
    const { store, log } = this.#deps;
    await store.claims
      ?.release(this.#queue.map(({ sequence }) => sequence))
      .catch((cause: unknown) =>
        log.warn("notices that wait are left alone for a minute", describeCause(cause)),
      );
  }

  async #keep(): Promise<void> {
    const { store, clock, log, pause } = this.#deps;
    // Not in the turn of the request that has moved something: its answer comes first.
    await new Promise<void>((resolve) => void setImmediate(resolve));
    while (this.#told.length > 0) {
      const told = this.#told.splice(0);
      try {
        this.#enqueue(await store.put(told, clock.nowUs()));
      } catch (cause) {
        this.#told.unshift(...told);
        log.error("notices could not be kept", { notices: told.length, ...describeCause(cause) });
        if (this.#closing.signal.aborted) break;
        await pause(KEEP_AGAIN_MS, this.#closing.signal);
      }
    }
    this.#keeping = null;
  }

  #enqueue(waiting: readonly WaitingNotice[]): void {
    const sinceMs = this.#deps.clock.monotonicMs();
    for (const one of waiting) this.#queue.push({ ...one, sinceMs });
    // The first is under way.
    const beyond = takeExcess(this.#queue, 1);
    if (beyond.length > 0) {
      this.#drop(beyond);
      void this.#forget(beyond);
    }
    if (this.#queue.length > 0 && !this.#closing.signal.aborted) this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    const { post, log, pause } = this.#deps;
    const { signal } = this.#closing;
    for (let failures = 0; ;) {
      const [first] = this.#queue;
      if (first === undefined) break;
      const outcome = await post(first.notice, signal);
      if (signal.aborted) break;
      if (isDelivered(outcome)) {
        if (failures > 0) log.info("notices are delivered again");
        failures = 0;
        this.#queue.shift();
        this.#count(first.notice, "delivered");
        await this.#forget([first]);
        continue;
      }
      failures += 1;
      if (failures === 1)
        log.warn(
          "a notice was not delivered: it is tried again for an hour",
          toFields(first.notice, outcome),
        );
      this.#dropTried(outcome);
      await pause(this.#toPauseMs(failures), signal);
      if (signal.aborted) break;
    }
    this.#sending = null;
  }

  /** Those whose hour is over: they stand first. */
  #dropTried(outcome: PostOutcome): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const kept = this.#queue.findIndex(({ sinceMs }) => nowMs - sinceMs < TRIED_MS_MAX);
    const tried = this.#queue.splice(0, kept === -1 ? this.#queue.length : kept);
    for (const { notice } of tried) {
      this.#deps.log.warn("a notice was dropped: it was tried for an hour", toFields(notice, outcome));
      this.#count(notice, "dropped");
    }
    if (tried.length > 0) void this.#forget(tried);
  }

  /** No longer than the first has left, so that its last attempt is at the end of its hour. */
  #toPauseMs(failures: number): number {
    const growing = Math.min(PAUSE_MS_MIN * 2 ** (failures - 1), PAUSE_MS_MAX);
    const [first] = this.#queue;
    if (first === undefined) return growing;
    const leftMs = first.sinceMs + TRIED_MS_MAX - this.#deps.clock.monotonicMs();
    return Math.min(growing, Math.max(leftMs, PAUSE_MS_MIN));
  }

  #drop(dropped: readonly { readonly notice: Notice }[]): void {
    for (const { notice } of dropped) {
      this.#deps.log.warn(`a notice was dropped: ${NOTICES_WAITING_MAX} wait already`, {
        notice: notice.id,
        type: notice.type,
      });
      this.#count(notice, "dropped");
    }
  }

  /** One that is not forgotten is sent once more by the next process. */
  async #forget(sent: readonly WaitingNotice[]): Promise<void> {
    const sequences = sent.map(({ sequence }) => sequence);
    try {
      await this.#deps.store.remove(sequences);
    } catch (cause) {
      if (this.#deps.store.claims !== undefined) this.#unforgotten.push(...sequences);
      this.#deps.log.warn("notices could not be forgotten", describeCause(cause));
    }
  }

  #count({ type }: Notice, result: NoticeCount["result"]): void {
    const key = `${type} ${result}`;
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { type, result, count: 1 });
    else known.count += 1;
  }
}

/** Takes out what is too many, from a place on: a flood of one source must not drop what others have to tell. */
function takeExcess<One extends { readonly notice: Notice }>(waiting: One[], from: number): One[] {
  const excess = waiting.length - NOTICES_WAITING_MAX;
  if (excess <= 0) return [];
  const bySource = [...Map.groupBy(waiting.slice(from), ({ notice }) => toSource(notice)).values()];
  const taken = new Set<One>();
  while (taken.size < excess) {
    const most = bySource.reduce((one, other) => (other.length > one.length ? other : one));
    for (const oldest of most.splice(0, 1)) taken.add(oldest);
  }
  waiting.splice(0, waiting.length, ...waiting.filter((one) => !taken.has(one)));
  return [...taken];
}

function toFields({ id, type }: Notice, outcome: PostOutcome) {
  const reason = outcome.kind === "answered" ? { status: outcome.status } : { reason: outcome.reason };
  return { notice: id, type, ...reason };
}
