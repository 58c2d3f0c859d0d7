import { type Clock, DAY_US } from "#kernel/clock.ts";
import type { UsageBeginning, UsageEnding } from "#usage/event.ts";
import { toQuotedName } from "./notice.ts";
import type { Tell } from "./outbox.ts";
import type { NoticeStore } from "./store.ts";

/** A provider fails when more than half of at least 20 requests in five minutes have failed. */
const REQUESTS_MIN = 20;
const WINDOW_MINUTES = 5;
/** The window moves in slots of ten seconds. */
const SLOT_MS = 10_000;
const SLOTS = (WINDOW_MINUTES * 60_000) / SLOT_MS;
/** And it has recovered when no more than half have failed, and none of this many latest: one that fails by turns does not change its state by turns. */
const RECOVERED_IN_A_ROW = 10;
/** How long it is remembered that a provider fails, also across restarts. */
const FAILING_DAYS = 30;
const MARK = "provider.failing ";
/** What the request itself was to blame for: the provider is well when it says so. */
const CALLER_FAULTS: ReadonlySet<number> = new Set([400, 404, 405, 406, 409, 411, 413, 414, 415, 422]);

export interface ProviderNoticesDeps {
  readonly store: Pick<NoticeStore, "listMarks">;
  readonly clock: Clock;
  readonly tell: Tell;
}

/** Tells of providers that begin to fail, and of those that have recovered. */
export class ProviderNotices {
  readonly #deps: ProviderNoticesDeps;
  readonly #states = new Map<string, ProviderState>();

  constructor(deps: ProviderNoticesDeps) {
    this.#deps = deps;
  }

  /** Takes over which providers failed when the process before ended. */
  async load(): Promise<void> {
    for (const mark of await this.#deps.store.listMarks(MARK))
      this.#stateOf(mark.slice(MARK.length)).isFailing = true;
  }

  ended({ providerId }: UsageBeginning, providerName: string, ending: UsageEnding): void {
    const isFailed = hasFailed(ending);
    if (isFailed === null) return;
    const { clock, tell } = this.#deps;
    const state = this.#stateOf(providerId);
    state.count(clock.monotonicMs(), isFailed);
    const { requests, failed } = state;
    const isMostlyFailed = failed * 2 > requests;
    const facts = { provider: providerName, requests, failed, minutes: WINDOW_MINUTES };
    if (!state.isFailing && isMostlyFailed && requests >= REQUESTS_MIN) {
      state.isFailing = true;
      const text = `The provider ${toQuotedName(providerName)} is failing: ${failed} of its ${requests} requests in the last ${WINDOW_MINUTES} minutes failed.`;
      const untilUs = clock.nowUs() + FAILING_DAYS * DAY_US;
      tell({ type: "provider.failing", text, facts }, { mark: { name: MARK + providerId, untilUs } });
    } else if (state.isFailing && !isMostlyFailed && state.succeededInARow >= RECOVERED_IN_A_ROW) {
      state.isFailing = false;
      const text = `The provider ${toQuotedName(providerName)} has recovered: its last ${RECOVERED_IN_A_ROW} requests succeeded.`;
      tell({ type: "provider.recovered", text, facts }, { mark: null, clears: MARK + providerId });
    }
  }

  #stateOf(providerId: string): ProviderState {
    const known = this.#states.get(providerId);
    if (known !== undefined) return known;
    const made = new ProviderState();
    this.#states.set(providerId, made);
    return made;
  }
}

/** Null for what tells nothing of the provider: its caller left, this server ended, or the answer was beyond a limit of ours. */
function hasFailed({ outcome, statusCode, errorKind }: UsageEnding): boolean | null {
  if (outcome === "cancelled" || errorKind === "interrupted" || errorKind === "response_too_large")
    return null;
  if (outcome === "unreachable") return true;
  return outcome === "upstream_error" && !CALLER_FAULTS.has(statusCode);
}

/** Requests of the last five minutes. */
class ProviderState {
  isFailing = false;
  requests = 0;
  failed = 0;
  succeededInARow = 0;
  #slot = 0;
  readonly #requestsBySlot = new Uint32Array(SLOTS);
  readonly #failedBySlot = new Uint32Array(SLOTS);

  count(nowMs: number, isFailed: boolean): void {
    this.#moveTo(Math.floor(nowMs / SLOT_MS));
    const at = this.#slot % SLOTS;
    this.requests += 1;
    this.#requestsBySlot[at] = (this.#requestsBySlot[at] ?? 0) + 1;
    this.succeededInARow = isFailed ? 0 : this.succeededInARow + 1;
    if (!isFailed) return;
    this.failed += 1;
    this.#failedBySlot[at] = (this.#failedBySlot[at] ?? 0) + 1;
  }

  #moveTo(slot: number): void {
    for (let next = Math.max(this.#slot + 1, slot - SLOTS + 1); next <= slot; next += 1) {
      const at = next % SLOTS;
      this.requests -= this.#requestsBySlot[at] ?? 0;
      this.failed -= this.#failedBySlot[at] ?? 0;
      this.#requestsBySlot[at] = 0;
      this.#failedBySlot[at] = 0;
    }
    this.#slot = Math.max(this.#slot, slot);
  }
}
