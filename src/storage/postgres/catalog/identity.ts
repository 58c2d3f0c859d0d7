import type { IdentityStore } from "#identity/store.ts";
import { KEY_REFUSALS, RELAY_TOKEN_REFUSALS } from "#storage/catalog/refusals.ts";
import { apiKeys, relayTokens } from "./identity-schema.ts";
import type { StoreMemory } from "./memory.ts";
import { createPrincipalStore } from "./principal-store.ts";
import { askNames } from "./secret-query.ts";
import { createSecretStore, type StoreSteps } from "./secret-store.ts";
import { createSessionStore } from "./session-store.ts";

/** Principals, keys, relay tokens, sessions and login links in PostgreSQL. */
export function createIdentityStore(memory: StoreMemory, steps: StoreSteps): IdentityStore {
  const { keys } = memory;
  const { reads } = steps;
  return {
    ...createPrincipalStore(steps),
    ...createSessionStore(steps),
    keys: {
      ...createSecretStore({ table: apiKeys, kind: "key", memory: keys, refusals: KEY_REFUSALS }, steps),
      async findNames(ids) {
        await reads.current();
        return keys === null ? reads.query((sql) => askNames(sql, apiKeys, ids)) : keys.findNames(ids);
      },
    },
    relayTokens: createSecretStore(
      { table: relayTokens, kind: "relay_token", memory: memory.relayTokens, refusals: RELAY_TOKEN_REFUSALS },
      steps,
    ),
  };
}
