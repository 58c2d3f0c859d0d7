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
  const byPrincipal = Map.groupBy(signedIn, ({ principal }) => principal.id);
  return [...byPrincipal.values()].flatMap((own) => {
    const [first] = own;
    return first === undefined
      ? []
      : [
          toSignedInView(
            first.principal,
            own.map(({ session }) => session),
          ),
        ];
  });
}

function toSignedInView({ id, name }: Principal, sessions: readonly Session[]) {
  return { principal_id: id, principal: name, sessions: sessions.length, ...toTimes(sessions) };
}

function toTimes(sessions: readonly Pick<Session, "cookieIssuedAtUs" | "expiresAtUs">[]) {
  return {
    last_seen_at: formatInstant(Math.max(...sessions.map(({ cookieIssuedAtUs }) => cookieIssuedAtUs))),
    expires_at: formatInstant(Math.max(...sessions.map(({ expiresAtUs }) => expiresAtUs))),
  };
}
