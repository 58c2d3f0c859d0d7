import type { Clock, InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import type { Principal } from "./principal.ts";
import { signSession } from "./session-cookie.ts";
import type { IssuedSession } from "./sessions.ts";
import type { UsedStates } from "./sso-state.ts";

/**
 * A copy of a cookie is good for about so long while its owner uses the page. Shorter would sign more people out after a
 * crash of their browser, which writes its cookies to the disk up to half a minute late; longer gives a copy more.
 */
export const RENEW_AFTER_SECONDS = 3600;
/** Requests of other tabs are under way with the former cookie when the next one is used for the first time. */
export const OVERLAP_SECONDS = 60;
/** One browser alone is offered a cookie for so long. Then the offer is taken for lost, and whoever asks has one. */
const OFFER_SECONDS = 60;
/** Offers, and sessions with a first use, that are remembered; past it the oldest are forgotten. */
const REMEMBERED_MAX = 10_000;

/** A session as a request found it: what its cookie says, and what its row does. */
export interface SessionInUse {
  readonly tokenHash: string;
  readonly token: string;
  readonly passwordPrint: string | null;
  /** When the cookie that came was issued. */
  readonly issuedAtUs: InstantUs;
  /** When the newest cookie that was ever used was issued. */
  readonly newestIssuedAtUs: InstantUs;
  readonly expiresAtUs: InstantUs;
}

/**
 * Cookies that follow each other (RFC 9700, section 4.14.2, has it so for refresh tokens). A cookie is offered, and the one
 * before it lives on until the next has been used: an answer that was lost signs nobody out.
 */
export interface SessionRenewal {
  /**
   * `next`: an offered cookie is used for the first time, and the row has to say so; `former`: one of requests under way;
   * `reused`: a copy, or the owner's own after a copy was renewed.
   */
  judge(session: SessionInUse): "newest" | "next" | "former" | "reused";
  /**
   * Before the row says that this cookie is the newest: others read that while the disk has not confirmed it yet, and the
   * former cookie is good for a while from here on.
   */
  begin(session: SessionInUse): void;
  /** A cookie in place of the newest one when that is old; null when nothing is due. The session's end stays. */
  offer(session: SessionInUse, principal: Principal): Promise<IssuedSession | null>;
}

export interface SessionRenewalDeps {
  readonly secrets: Pick<SecretBox, "sign">;
  readonly clock: Clock;
  /** Lets one of the replicas that are asked at once offer a cookie. */
  readonly usedStates: UsedStates;
}

export function createSessionRenewal({ secrets, clock, usedStates }: SessionRenewalDeps): SessionRenewal {
  // What a start has forgotten counts from the start on.
  const startedMs = clock.monotonicMs();
  const firstUsedMs = new Map<string, number>();
  const offeredMs = new Map<string, number>();
  const isWithin = (sinceMs: number, seconds: number): boolean =>
    clock.monotonicMs() - sinceMs < seconds * 1000;

  return {
    judge({ tokenHash, issuedAtUs, newestIssuedAtUs }) {
      if (issuedAtUs === newestIssuedAtUs) return "newest";
      if (issuedAtUs > newestIssuedAtUs) return "next";
      if (isWithin(firstUsedMs.get(tokenHash) ?? startedMs, OVERLAP_SECONDS)) return "former";
      // Another replica may have seen the first use, which a browser makes as soon as it has the cookie.
      return clock.nowUs() - newestIssuedAtUs < OVERLAP_SECONDS * 1_000_000 ? "former" : "reused";
    },
    begin: ({ tokenHash }) => remember(firstUsedMs, tokenHash, clock.monotonicMs()),
    async offer({ tokenHash, token, passwordPrint, issuedAtUs, newestIssuedAtUs, expiresAtUs }, principal) {
      const nowUs = clock.nowUs();
      if (issuedAtUs !== newestIssuedAtUs || nowUs - issuedAtUs < RENEW_AFTER_SECONDS * 1_000_000)
        return null;
      // Named by the newest cookie: another one may have been used at another replica since.
      const name = `cookie of ${tokenHash} after ${newestIssuedAtUs}`;
      const sinceMs = offeredMs.get(name);
      // Tabs that ask at once must not be given cookies of which the older one could arrive last.
      if (sinceMs !== undefined && isWithin(sinceMs, OFFER_SECONDS)) return null;
      // Once an offer was lost each request has one: who takes offers and uses none must not keep them from the owner.
      if (sinceMs === undefined) {
        remember(offeredMs, name, clock.monotonicMs());
        const isOurs = usedStates.claim(name, nowUs + OFFER_SECONDS * 1_000_000);
        // A request does not fail for a cookie that may come later.
        if (!(await isOurs.catch(() => false))) return null;
      }
      const cookie = { token, role: principal.role, passwordPrint, issuedAtUs: nowUs };
      return { principal, cookieValue: signSession(secrets, cookie), expiresAtUs };
    },
  };
}

function remember(moments: Map<string, number>, name: string, atMs: number): void {
  moments.delete(name);
  moments.set(name, atMs);
  const [oldest] = moments.keys();
  if (moments.size > REMEMBERED_MAX && oldest !== undefined) moments.delete(oldest);
}
