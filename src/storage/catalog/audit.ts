import type { AuditEntry, AuditEvent, AuditStore } from "#audit/event.ts";
import { columnsOf, count, insert } from "#storage/sql/rows.ts";
import { all, type Script } from "#storage/sql/script.ts";
import type { CatalogDriver } from "./catalog-driver.ts";
import { changed, changeTransaction } from "./change.ts";
import { auditEvents, type ChangeKind } from "./tables.ts";

export function createAuditStore({ read, change }: Pick<CatalogDriver, "read" | "change">): AuditStore {
  return {
    record: (entry) => change(() => recordAudit([entry])),
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
export function* recordAudit(entries: readonly (AuditEntry | null)[]): Script<void> {
  const { atUs } = yield* changeTransaction();
  yield* insert(
    auditEvents,
    entries.flatMap((entry) => {
      if (entry === null) return [];
      const { actorPrincipalId, action, targetKind, targetRef } = entry;
      return { atUs, actorPrincipalId, action, targetKind, targetRef };
    }),
  );
}

/** Writes the entry of a change of one row down, and tells of the row. */
export function* recordChange(audit: AuditEntry | null, kind: ChangeKind, id: string): Script<void> {
  yield* recordAudit([audit]);
  yield* changed(kind, id);
}
