import type { Clock } from "#kernel/clock.ts";
import type { ErrorCode } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import { createPeerCounts, type Peer } from "./peer.ts";
import type { Principal } from "./principal.ts";

type SignInWay = "password" | "login_link" | "sso";

/** Tells the log who signed in and who failed to, from where and how; never what was typed. */
export interface SignInLog {
  signedIn(way: SignInWay, principal: Principal, peer: Peer): void;
  /** `isUnseen`: too many were tried, and this one was not looked at. */
  failed(way: SignInWay, failure: SignInFailure): void;
  /** A session has ended since a cookie of it was used that another one had replaced. */
  sessionReused(principal: Principal): void;
}

interface SignInFailure {
  readonly code: ErrorCode;
  readonly peer: Peer;
  readonly isUnseen?: boolean;
}

/** Failures of one network in one minute that have a line each. */
const LINES_EACH_MAX = 5;
/** Beyond them the 20th has a line, the 200th, the 2,000th and so on: strangers must not fill the log. */
const WARNED_FROM = 20;

export function createSignInLog(log: Log, clock: Clock): SignInLog {
  const failures = createPeerCounts(clock);

  return {
    signedIn(way, principal, { address }) {
      log.info("signed in", { way, principal: principal.name, role: principal.role, address });
    },
    sessionReused({ name, role }) {
      log.warn(
        "a session was ended: its cookie was used after another had replaced it, so that two have it",
        {
          principal: name,
          role,
        },
      );
    },
    failed(way, { code, peer, isUnseen = false }) {
      const failed = failures.add(peer);
      const fields = { way, code, address: peer.address, looked_at: !isUnseen };
      if (failed <= LINES_EACH_MAX) log.info("a sign-in failed", fields);
      else if (isTold(failed)) {
        log.warn("many sign-ins from one address fail", { ...fields, failed_this_minute: failed });
      }
    },
  };
}

function isTold(failed: number): boolean {
  let told = WARNED_FROM;
  while (told < failed) told *= 10;
  return told === failed;
}
