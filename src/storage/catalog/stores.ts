import type { Clock } from "#kernel/clock.ts";
import type { Keyring } from "#kernel/keyring.ts";
import { createAuditStore, createRecordAudit } from "./audit.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { createCatalogStore } from "./catalog.ts";
import { createIdentityStore } from "./identity.ts";
import { createLimitStore } from "./limits.ts";
import { createNoticeStore } from "./notices.ts";
import { createResponseStore } from "./responses.ts";
import type { TellUnreadable } from "./unreadable.ts";

export interface CatalogStoresOptions {
  readonly secrets: Keyring;
  readonly clock: Pick<Clock, "nowUs">;
  readonly tell: TellUnreadable;
  /** Whether several servers have the data, of which each sends the notices that it has claimed. */
  readonly isShared: boolean;
}

/** The stores of a process on the catalog of any engine. */
export function createCatalogStores(
  driver: CatalogDriver,
  { secrets, clock, tell, isShared }: CatalogStoresOptions,
) {
  const recordAudit = createRecordAudit(clock);
  return {
    audit: createAuditStore(driver),
    identity: createIdentityStore({ driver, recordAudit, tell }),
    catalog: createCatalogStore(driver, recordAudit, secrets),
    limits: createLimitStore(driver, recordAudit),
    notices: createNoticeStore(driver, { isShared }),
    responses: createResponseStore(driver),
  };
}
