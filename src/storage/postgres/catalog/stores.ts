import type { Clock } from "#kernel/clock.ts";
import { createAuditStore, createRecordAudit as createAudit } from "#storage/catalog/audit.ts";
import { createLimitStore } from "#storage/catalog/limits.ts";
import { createNoticeStore } from "#storage/catalog/notices.ts";
import { createResponseStore } from "#storage/catalog/responses.ts";
import type { CatalogStores } from "#storage/engine.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Freshness } from "#storage/replicas/freshness.ts";
import { createRecordAudit } from "./audit.ts";
import { createCatalogStore } from "./catalog.ts";
import { createIdentityStore } from "./identity.ts";
import { createPostgresDriver } from "./driver.ts";
import type { StoreMemory } from "./memory.ts";
import { createReads } from "./reads.ts";

export interface StoresOptions {
  /** See `PURPOSES.serve`. */
  readonly postgres: Postgres;
  readonly memory: StoreMemory;
  readonly freshness: Freshness;
  readonly clock: Pick<Clock, "nowUs">;
}

/** The catalog's stores of a replica. */
export function createStores({ postgres, memory, freshness, clock }: StoresOptions): CatalogStores {
  const reads = createReads(postgres, freshness);
  const recordAudit = createRecordAudit(clock);
  const driver = createPostgresDriver(reads, freshness, memory);
  const steps = { reads, freshness, recordAudit };
  return {
    audit: createAuditStore(driver),
    identity: createIdentityStore(memory, steps),
    catalog: createCatalogStore(memory, steps),
    limits: createLimitStore(driver, createAudit(clock)),
    notices: createNoticeStore(driver, { isShared: true }),
    responses: createResponseStore(driver),
  };
}
