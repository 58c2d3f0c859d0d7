import { type Clock, DAY_US } from "#kernel/clock.ts";
import { RELAY_PROVIDER, type UsageBeginning, type UsageEnding } from "#usage/event.ts";
import { toQuotedName } from "./notice.ts";
import type { Tell } from "./outbox.ts";
import type { NoticeStore } from "./store.ts";

/**
 * A provider fails when more than half of at least 20 requests in five minutes have failed, also without those of the
 * principal whose requests failed most, where others have asked it: one that sends what fails does not speak for all.
 */
const REQUESTS_MIN = 20;
const WINDOW_MINUTES = 5;
/** The window moves in slots of ten seconds. */
const SLOT_MS = 10_000;
const SLOTS = (WINDOW_MINUTES * 60_000) / SLOT_MS;
/**
 * It has recovered when it no longer fails and this many latest requests, of all or of one principal, have succeeded: one
 * that fails by turns does not change its state by turns.
 */
const RECOVERED_IN_A_ROW = 10;
/** How long it is remembered that a provider fails, also across restarts. */
const FAILING_DAYS = 30;
const MARK = "provider.failing ";
/** What the request itself was to blame for: the provider is well when it says so. */
const CALLER_FAULTS: ReadonlySet<number> = new Set([400, 404, 405, 406, 409, 411, 413, 414, 415, 422]);
/** A relayed request carries its caller's own credential. */
const RELAY_CALLER_FAULTS: ReadonlySet<number> = new Set([...CALLER_FAULTS, 401, 403, 429]);

interface ProviderNoticesDeps {
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

  ended({ providerId, principalId }: UsageBeginning, providerName: string, ending: UsageEnding): void {
    const isFailed = hasFailed(providerId, ending);
    if (isFailed === null) return;
    const { clock, tell } = this.#deps;
    const state = this.#stateOf(providerId);
    state.count(clock.monotonicMs(), principalId, isFailed);
    const { requests, failed } = state.all;
    const isMostlyFailed = state.isMostlyFailed();
    const facts = { provider: providerName, requests, failed, minutes: WINDOW_MINUTES };
    if (!state.isFailing && isMostlyFailed && requests >= REQUESTS_MIN) {
      state.isFailing = true;
      const text = `The provider ${toQuotedName(providerName)} is failing: ${failed} of its ${requests} requests in the last ${WINDOW_MINUTES} minutes failed.`;
      const untilUs = clock.nowUs() + FAILING_DAYS * DAY_US;
      tell({ type: "provider.failing", text, facts }, { mark: { name: MARK + providerId, untilUs } });
    } else if (
      state.isFailing &&
      !isMostlyFailed &&
      state.succeededInARow(principalId) >= RECOVERED_IN_A_ROW
    ) {
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
function hasFailed(providerId: string, { outcome, statusCode, errorKind }: UsageEnding): boolean | null {
  if (outcome === "cancelled" || errorKind === "interrupted" || errorKind === "response_too_large")
    return null;
  if (outcome === "unreachable") return true;
  const callerFaults = providerId === RELAY_PROVIDER ? RELAY_CALLER_FAULTS : CALLER_FAULTS;
  return outcome === "upstream_error" && !callerFaults.has(statusCode);
}

/** Principals of a slot that are told apart; the others count as one. */
const PRINCIPALS_MAX = 1_000;
const OTHER_PRINCIPALS = "";

/** How many requests there were, of all or of one principal. */
interface Tally {
  requests: number;
  failed: number;
  succeededInARow: number;
}

const toTally = (): Tally => ({ requests: 0, failed: 0, succeededInARow: 0 });

/** Requests of the last five minutes. */
class ProviderState {
  isFailing = false;
  readonly all = toTally();
  readonly #principals = new Map<string, Tally>();
  #slot = 0;
  /** What each slot of ten seconds has of each principal. */
  readonly #slots: Map<string, Tally>[] = Array.from({ length: SLOTS }, () => new Map<string, Tally>());

  count(nowMs: number, principalId: string, isFailed: boolean): void {
    this.#moveTo(Math.floor(nowMs / SLOT_MS));
    const isKnown = this.#principals.has(principalId) || this.#principals.size < PRINCIPALS_MAX;
    const name = isKnown ? principalId : OTHER_PRINCIPALS;
    const slot = this.#slots[this.#slot % SLOTS];
    for (const tally of [this.all, getTally(this.#principals, name), slot && getTally(slot, name)]) {
      if (tally === undefined) continue;
      tally.requests += 1;
      if (isFailed) tally.failed += 1;
      tally.succeededInARow = isFailed ? 0 : tally.succeededInARow + 1;
    }
  }

  isMostlyFailed(): boolean {
    const { requests, failed } = this.all;
    if (failed * 2 <= requests) return false;
    const [first, ...others] = [...this.#principals.values()].toSorted(
      (one, other) => other.failed - one.failed,
    );
    if (first === undefined || others.length === 0) return true;
    return (failed - first.failed) * 2 > requests - first.requests;
  }

  /** The latest of all, or of one principal. */
  succeededInARow(principalId: string): number {
    const own = this.#principals.get(principalId)?.succeededInARow ?? 0;
    return Math.max(own, this.all.succeededInARow);
  }

  #moveTo(slot: number): void {
    for (let next = Math.max(this.#slot + 1, slot - SLOTS + 1); next <= slot; next += 1) {
      const past = this.#slots[next % SLOTS];
      for (const [name, { requests, failed }] of past ?? []) {
        const own = getTally(this.#principals, name);
        for (const tally of [this.all, own]) {
          tally.requests -= requests;
          tally.failed -= failed;
        }
        if (own.requests === 0) this.#principals.delete(name);
      }
      past?.clear();
    }
    this.#slot = Math.max(this.#slot, slot);
  }
}

function getTally(tallies: Map<string, Tally>, name: string): Tally {
  const known = tallies.get(name);
  if (known !== undefined) return known;
  const made = toTally();
  tallies.set(name, made);
  return made;
}
