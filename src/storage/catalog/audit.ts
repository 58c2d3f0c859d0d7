import type { AuditEntry, AuditEvent } from "#audit/event.ts";
import type { AuditStore } from "#audit/store.ts";
import type { Clock } from "#kernel/clock.ts";
import { columnsOf, count, insert } from "#storage/sql/rows.ts";
import { all, type Script } from "#storage/sql/script.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { auditEvents } from "./tables.ts";
import type { TellUnreadable } from "./unreadable.ts";

export function createAuditStore({ read }: Pick<CatalogDriver, "read">): AuditStore {
  return {
    listEvents: ({ limit, offset }) =>
      read(function* () {
        const { id: _, ...columns } = auditEvents.columns;
        const selected = yield* columnsOf({ ...auditEvents, columns });
        const rows = yield* all<AuditEvent>(
          `SELECT ${selected}, principals.name AS "actorName"
           FROM audit_events LEFT JOIN principals ON principals.id = audit_events.actor_principal_id
           ORDER BY audit_events.id DESC LIMIT ? OFFSET ?`,
          [limit, offset],
        );
        return { rows: [...rows], total: yield* count(auditEvents) };
      }),
  };
}

/** Writes the entries down, in their order, within a change: they are there if and only if it is. Null writes nothing. */
export type RecordAudit = (entries: readonly (AuditEntry | null)[]) => Script<void>;

export function createRecordAudit(clock: Pick<Clock, "nowUs">): RecordAudit {
  return function* (entries) {
    const atUs = clock.nowUs();
    const given = entries.filter((entry) => entry !== null);
    yield* insert(
      auditEvents,
      given.map(({ actorPrincipalId, action, targetKind, targetRef }) => {
        return { atUs, actorPrincipalId, action, targetKind, targetRef };
      }),
    );
  };
}

/** What a store of the catalog reads, changes and writes down with. */
export interface StoreParts {
  readonly driver: CatalogDriver;
  readonly recordAudit: RecordAudit;
  readonly tell: TellUnreadable;
}
