import type { IdentityStore } from "#identity/store.ts";
import { createAuditStore } from "./audit.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { createCatalogStore } from "./catalog.ts";
import { createLimitStore } from "./limits.ts";
import { createNoticeStore } from "./notices.ts";
import { createPeopleStore } from "./people.ts";
import { createPrincipalStore } from "./principals.ts";
import { createResponseStore } from "./responses.ts";
import { createSecretStore, KEYS, RELAY_TOKENS } from "./secrets.ts";
import { createSessionStore } from "./sessions.ts";

/** The stores of a process on the catalog of any engine. */
export function createCatalogStores(driver: CatalogDriver) {
  const { memory, current, ask } = driver;
  const identity: IdentityStore = {
    ...createPrincipalStore(driver),
    ...createSessionStore(driver),
    keys: {
      ...createSecretStore(driver, KEYS),
      async findNames(ids) {
        await current();
        return ask(() => memory.keys.findNames(ids));
      },
    },
    relayTokens: createSecretStore(driver, RELAY_TOKENS),
  };
  return {
    audit: createAuditStore(driver),
    identity,
    catalog: createCatalogStore(driver),
    limits: createLimitStore(driver),
    people: createPeopleStore(driver),
    notices: createNoticeStore(driver),
    responses: createResponseStore(driver),
  };
}
