import type { Principal } from "#identity/principal.ts";
import type { Session } from "#identity/store.ts";
import { formatInstant } from "#kernel/clock.ts";

/** Browser sessions → wire JSON, without anything that a session could be found by. */

export function toOwnSessionView({ tokenHash, ...session }: Session, ownTokenHash: string | null) {
  return { ...toTimes([session]), current: tokenHash === ownTokenHash };
}

/** One for each principal, the one seen last first. */
export function toSignedInViews(
  signedIn: readonly { readonly session: Session; readonly principal: Principal }[],
) {
  return [...Map.groupBy(signedIn, ({ principal }) => principal.id)].map(([id, own]) => ({
    principal_id: id,
    principal: own[0]?.principal.name ?? "",
    sessions: own.length,
    ...toTimes(own.map(({ session }) => session)),
  }));
}

function toTimes(sessions: readonly Pick<Session, "cookieIssuedAtUs" | "expiresAtUs">[]) {
  return {
    last_seen_at: formatInstant(Math.max(...sessions.map(({ cookieIssuedAtUs }) => cookieIssuedAtUs))),
    expires_at: formatInstant(Math.max(...sessions.map(({ expiresAtUs }) => expiresAtUs))),
  };
}
