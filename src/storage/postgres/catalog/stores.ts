import type { Clock } from "#kernel/clock.ts";
import type { Keyring } from "#kernel/keyring.ts";
import { createAuditStore, createRecordAudit as createAudit } from "#storage/catalog/audit.ts";
import { createIdentityStore } from "#storage/catalog/identity.ts";
import { createLimitStore } from "#storage/catalog/limits.ts";
import type { StoreMemory } from "#storage/catalog/memory.ts";
import { createNoticeStore } from "#storage/catalog/notices.ts";
import { createResponseStore } from "#storage/catalog/responses.ts";
import type { CatalogStores } from "#storage/engine.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Freshness } from "#storage/replicas/freshness.ts";
import { createRecordAudit } from "./audit.ts";
import { createCatalogStore } from "./catalog.ts";
import { createPostgresDriver } from "./driver.ts";
import type { CatalogFollower } from "./follower.ts";

export interface StoresOptions {
  /** See `PURPOSES.serve`. */
  readonly postgres: Postgres;
  readonly memory: StoreMemory;
  /** Of `memory`. */
  readonly follower: CatalogFollower;
  readonly freshness: Freshness;
  readonly secrets: Keyring;
  readonly clock: Pick<Clock, "nowUs">;
}

/** The catalog's stores of a replica. */
export function createStores(options: StoresOptions): CatalogStores {
  const { memory, clock } = options;
  const driver = createPostgresDriver(options);
  const recordAudit = createAudit(clock);
  return {
    audit: createAuditStore(driver),
    identity: createIdentityStore({ driver, recordAudit, tell: memory.tell }),
    catalog: createCatalogStore(driver, { ...options, recordAudit: createRecordAudit(clock) }),
    limits: createLimitStore(driver, recordAudit),
    notices: createNoticeStore(driver, { isShared: true }),
    responses: createResponseStore(driver),
  };
}
