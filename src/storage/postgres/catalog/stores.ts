import type { Clock } from "#kernel/clock.ts";
import type { Keyring } from "#kernel/keyring.ts";
import { createCatalogStores } from "#storage/catalog/stores.ts";
import type { CatalogStores } from "#storage/engine.ts";
import { createPostgresDriver, type PostgresDriverDeps } from "./driver.ts";

export interface StoresOptions extends PostgresDriverDeps {
  readonly secrets: Keyring;
  readonly clock: Pick<Clock, "nowUs">;
}

/** The catalog's stores of a replica. */
export function createStores(options: StoresOptions): CatalogStores {
  const { memory, secrets, clock } = options;
  const driver = createPostgresDriver(options);
  return createCatalogStores(driver, { secrets, clock, tell: memory.tell, isShared: true });
}
