import { createCatalog, type Catalog } from "#catalog/catalog.ts";
import { createKeys, type Keys } from "#identity/keys.ts";
import { createPrincipals, type Principals } from "#identity/principals.ts";
import type { IdentityStore } from "#identity/store.ts";
import { createSecretBox } from "#kernel/crypto.ts";
import { openCatalogDatabase } from "#storage/sqlite/catalog-database.ts";
import type { Config } from "./config.ts";
import { prepareDataDir } from "./data-dir.ts";
import { loadSecretKey } from "./secret-files.ts";
import type { System } from "./system.ts";

/** What a local command works on: the catalog database alone, also while a server has it open. */
export interface LocalServices {
  readonly catalog: Catalog;
  readonly identity: IdentityStore;
  readonly principals: Principals;
  readonly keys: Keys;
  close(): Promise<void>;
}

/** Opens the catalog database, making it and its key at the very first use. Throws a `SetupError` when it cannot. */
export async function openLocal(config: Config, system: System): Promise<LocalServices> {
  const { clock, ids, log } = system;
  prepareDataDir(config);
  const secrets = createSecretBox(loadSecretKey(config, ids));
  const database = await openCatalogDatabase({
    path: config.databasePath,
    secretCheckValue: secrets.checkValue,
    clock,
    log,
  });
  return {
    catalog: createCatalog({ store: database.catalog, secrets, clock, ids }),
    identity: database.identity,
    principals: createPrincipals({ store: database.identity, clock, ids }),
    keys: createKeys({ store: database.identity, secrets, clock, ids }),
    close: () => database.close(),
  };
}
