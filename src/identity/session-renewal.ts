import type { Clock, InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import type { Principal } from "./principal.ts";
import { signSession } from "./session-cookie.ts";
import type { IssuedSession } from "./sessions.ts";

/**
 * A copy of a cookie is good for about so long while its owner uses the page. Shorter would sign more people out after a
 * crash of their browser, which writes its cookies to the disk up to half a minute late; longer gives a copy more.
 */
export const RENEW_AFTER_SECONDS = 3600;
/** Requests of other tabs are under way with the former cookie when the next one is used for the first time. */
export const OVERLAP_SECONDS = 60;
/** One browser alone is offered a cookie for so long. Then the offer is taken for lost, and whoever asks has one. */
const OFFER_SECONDS = 60;
/** Sessions of which offers and first uses are remembered; past it the oldest are forgotten. */
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
  /** The row says so, and the disk has confirmed it. */
  began(session: SessionInUse): void;
  /** A cookie in place of the newest one when that is old; null when nothing is due. The session's end stays. */
  offer(session: SessionInUse, principal: Principal): IssuedSession | null;
}

export function createSessionRenewal({
  secrets,
  clock,
}: {
  readonly secrets: Pick<SecretBox, "sign">;
  readonly clock: Clock;
}): SessionRenewal {
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
      return isWithin(firstUsedMs.get(tokenHash) ?? startedMs, OVERLAP_SECONDS) ? "former" : "reused";
    },
    begin: ({ tokenHash }) => remember(firstUsedMs, tokenHash, clock.monotonicMs()),
    // Not before: a request that still reads the former row as the newest would get an offer.
    began: ({ tokenHash }) => void offeredMs.delete(tokenHash),
    offer({ tokenHash, token, passwordPrint, issuedAtUs, newestIssuedAtUs, expiresAtUs }, principal) {
      const nowUs = clock.nowUs();
      if (issuedAtUs !== newestIssuedAtUs || nowUs - issuedAtUs < RENEW_AFTER_SECONDS * 1_000_000)
        return null;
      const sinceMs = offeredMs.get(tokenHash);
      // Tabs that ask at once must not be given cookies of which the older one could arrive last.
      if (sinceMs !== undefined && isWithin(sinceMs, OFFER_SECONDS)) return null;
      // Once an offer was lost each request has one: who takes offers and uses none must not keep them from the owner.
      if (sinceMs === undefined) remember(offeredMs, tokenHash, clock.monotonicMs());
      const cookie = { token, role: principal.role, passwordPrint, issuedAtUs: nowUs };
      return { principal, cookieValue: signSession(secrets, cookie), expiresAtUs };
    },
  };
}

function remember(moments: Map<string, number>, tokenHash: string, atMs: number): void {
  moments.delete(tokenHash);
  moments.set(tokenHash, atMs);
  const [oldest] = moments.keys();
  if (moments.size > REMEMBERED_MAX && oldest !== undefined) moments.delete(oldest);
}
