import type { Page, Paged } from "#kernel/page.ts";
import type { AuditEvent } from "./event.ts";

export interface AuditStore {
  /** Newest first. */
  listEvents(page: Page): Promise<Paged<AuditEvent>>;
}
