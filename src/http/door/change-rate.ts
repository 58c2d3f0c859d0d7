import type { Caller } from "#identity/caller.ts";
import type { Role } from "#identity/principal.ts";
import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { isMutation, type Door } from "./door.ts";

interface ChangeRate {
  /** Changes that a principal may make at once. */
  readonly burst: number;
  /** How many it gets back. */
  readonly perSecond: number;
}

/**
 * Each change takes the serving thread for 0.2 ms (a key) to some milliseconds (a model of a large catalog): a member's loop
 * is held to a hundredth of the thread, once it has made as many keys as it may have. A script of an admin's that sends one
 * request for each of some thousand people, keys and models is not held up.
 */
export const CHANGE_RATES: { readonly [role in Role]: ChangeRate } = {
  member: { burst: 600, perSecond: 5 },
  admin: { burst: 5_000, perSecond: 100 },
};

/** Principals remembered at once; past it those are forgotten whose burst is whole again. */
const PRINCIPALS_MAX = 10_000;

/**
 * A door that admits only so many changes (all methods but GET and HEAD) of one principal, by whichever of its credentials.
 * Commands beside the data folder are not counted. Throws `too_many_changes`.
 */
export function limitChanges(door: Door, clock: Pick<Clock, "monotonicMs">): Door {
  /** By principal, the moment at which its burst is whole again. */
  const wholeAtMs = new Map<string, number>();
  const take = ({ principal, credential }: Caller): void => {
    if (credential.kind === "local") return;
    const { burst, perSecond } = CHANGE_RATES[principal.role];
    const nowMs = clock.monotonicMs();
    const nextMs = Math.max(wholeAtMs.get(principal.id) ?? nowMs, nowMs) + 1000 / perSecond;
    const waitMs = nextMs - nowMs - (burst * 1000) / perSecond;
    if (waitMs > 0) throw toRefusal(waitMs, perSecond);
    if (wholeAtMs.size >= PRINCIPALS_MAX) forgetWhole(wholeAtMs, nowMs);
    wholeAtMs.set(principal.id, nextMs);
  };
  const count = (caller: Caller, request: Request): Caller => {
    if (isMutation(request.method)) take(caller);
    return caller;
  };
  return {
    checkBrowser: (request) => door.checkBrowser(request),
    admit(request, access) {
      const caller = door.admit(request, access);
      return caller instanceof Promise
        ? caller.then((found) => count(found, request))
        : count(caller, request);
    },
  };
}

function toRefusal(waitMs: number, perSecond: number): ProxyError {
  return new ProxyError(
    "too_many_changes",
    `Too many changes at once: wait, and then send at most ${perSecond} a second.`,
    { retryAfterSeconds: Math.ceil(waitMs / 1000) },
  );
}

function forgetWhole(wholeAtMs: Map<string, number>, nowMs: number): void {
  for (const [id, atMs] of wholeAtMs) if (atMs <= nowMs) wholeAtMs.delete(id);
}
