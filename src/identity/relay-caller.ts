import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { KeyUse } from "./key-use.ts";
import type { Principal } from "./principal.ts";
import { RELAY_TOKEN_PREFIX } from "./secret.ts";
import { findSecret, peekSecret, refuseEnded, type SecretWords } from "./presented-secret.ts";
import type { IdentityStore } from "./store.ts";

/** To whom a relayed request is attributed, and by which token. */
export interface RelayCaller {
  readonly principal: Principal;
  readonly relayTokenId: string;
  /** On all of its usage: the principal's, and before them the token's. */
  readonly fixedTags: readonly string[];
}

export interface RelayAuthenticator {
  /**
   * The owner of the token in a relay path (specification, sections 4.5 and 5). Throws `unknown_relay_token` for whatever
   * is no living token of an enabled principal: unknown, deleted, malformed, expired, paused, an API key.
   */
  authenticate(token: string): Promise<RelayCaller>;
}

export interface RelayAuthenticatorDeps {
  readonly store: Pick<IdentityStore, "relayTokens">;
  readonly keyUse: KeyUse;
  readonly secrets: SecretBox;
  readonly clock: Pick<Clock, "nowUs">;
}

/** Asks the store on every request, so that a deleted token fails on the very next one. */
export function createRelayAuthenticator({
  store,
  keyUse,
  secrets,
  clock,
}: RelayAuthenticatorDeps): RelayAuthenticator {
  const search = { store: store.relayTokens, secrets };
  return {
    async authenticate(token) {
      // An API key starts with `lp_` and fails here, whosever it is.
      if (!token.startsWith(RELAY_TOKEN_PREFIX)) throw refuseForeign();
      const found = peekSecret(search, token) ?? (await findSecret(search, token));
      // Unknown, deleted and disabled look the same from outside.
      if (found === null || !found.principal.enabled) throw refuse();
      const { endsAtUs } = found;
      if (endsAtUs !== Infinity && clock.nowUs() >= endsAtUs) {
        throw refuseEnded(found, clock.nowUs(), TOKEN_WORDS);
      }
      keyUse.touch(found.secret.id);
      const { principal, secret, fixedTags } = found;
      return { principal, relayTokenId: secret.id, fixedTags };
    },
  };
}

const TOKEN_WORDS: SecretWords = { noun: "relay token", code: "unknown_relay_token", unknown: refuse };

/** Names no token: its message is read in logs and screenshots. */
function refuse(): ProxyError {
  return new ProxyError("unknown_relay_token", "This relay token is not known.");
}

function refuseForeign(): ProxyError {
  return new ProxyError(
    "unknown_relay_token",
    `This is not a relay token of Lockport; they begin with ${RELAY_TOKEN_PREFIX}.`,
  );
}
