import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Log } from "#kernel/log.ts";
import type { ProvenIdentity } from "./oidc.ts";
import { ADMIN_PRINCIPAL_NAME, type Principal, type Role } from "./principal.ts";
import { toNumberedName, toPrincipalName } from "./sso-claims.ts";
import type { IdentityStore } from "./store.ts";

/** How many people of one name are told apart by a number; after that by a random name. */
const NUMBERED_NAMES_MAX = 1000;

export interface SsoAccountsDeps {
  readonly store: IdentityStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export interface SsoAccounts {
  /**
   * The principal of this issuer and subject, made at the first sign-in, never one that was made otherwise. `role` is what
   * the groups say; null leaves an existing role and makes new people members. Throws `sso_denied` when it is disabled.
   */
  settle(identity: ProvenIdentity, role: Role | null): Promise<Principal>;
}

/** Principals by single sign-on (decisions, "Sign-in"). Sign-ins write no audit event. */
export function createSsoAccounts({ store, clock, ids, log }: SsoAccountsDeps): SsoAccounts {
  const create = async (identity: ProvenIdentity, role: Role): Promise<Principal> => {
    const subject = { issuer: identity.issuer, subject: identity.subject };
    const draft = {
      id: ids.uuid(),
      kind: "user",
      role,
      enabled: true,
      createdAtUs: clock.nowUs(),
      tags: [],
    } as const;
    for (const name of toCandidates(toPrincipalName(identity), draft.id)) {
      if ((await store.findPrincipalByName(name)) !== null) continue;
      try {
        return await store.createPrincipalForSubject({ ...draft, name }, subject);
      } catch (refusal) {
        // Another sign-in took the name meanwhile.
        if (!(refusal instanceof ProxyError) || refusal.code !== "principal_exists") throw refusal;
      }
    }
    throw new Error("every name is taken");
  };

  const follow = async (principal: Principal, role: Role): Promise<Principal> => {
    try {
      return await store.updatePrincipal(principal.id, { role }, null);
    } catch (refusal) {
      if (!(refusal instanceof ProxyError) || refusal.code !== "last_admin") throw refusal;
      log.warn("the last admin has left the admin group and stays an admin until there is another one");
      return principal;
    }
  };

  return {
    async settle(identity, role) {
      const known = await store.findPrincipalBySubject(identity.issuer, identity.subject);
      const principal = known ?? (await create(identity, role ?? "member"));
      if (!principal.enabled) throw new ProxyError("sso_denied", "This account is disabled on this server.");
      return role === null || role === principal.role ? principal : await follow(principal, role);
    },
  };
}

/** The name `admin` belongs to the password sign-in: an account of that name elsewhere does not become it. */
function* toCandidates(name: string, id: string): Generator<string> {
  for (let number = 1; number <= NUMBERED_NAMES_MAX; number += 1) {
    const candidate = toNumberedName(name, number);
    if (candidate !== ADMIN_PRINCIPAL_NAME) yield candidate;
  }
  yield `user-${id}`;
}
