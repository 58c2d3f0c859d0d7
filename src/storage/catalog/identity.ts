import type { IdentityStore } from "#identity/store.ts";
import type { StoreParts } from "./audit.ts";
import { createPrincipalStore } from "./principals.ts";
import { createSecretStore, KEY_REFUSALS, RELAY_TOKEN_REFUSALS } from "./secrets.ts";
import { createSessionStore } from "./sessions.ts";
import { apiKeys, relayTokens } from "./tables.ts";

/** Principals, keys, relay tokens, sessions and login links. */
export function createIdentityStore(parts: StoreParts): IdentityStore {
  const { memory, ask } = parts.driver;
  const keys = { table: apiKeys, kind: "key", remembered: memory.keys, refusals: KEY_REFUSALS } as const;
  return {
    ...createPrincipalStore(parts),
    ...createSessionStore(parts),
    keys: {
      ...createSecretStore(keys, parts),
      async findNames(ids) {
        await memory.current();
        return ask(() => memory.keys.findNames(ids));
      },
    },
    relayTokens: createSecretStore(
      {
        table: relayTokens,
        kind: "relay_token",
        remembered: memory.relayTokens,
        refusals: RELAY_TOKEN_REFUSALS,
      },
      parts,
    ),
  };
}
