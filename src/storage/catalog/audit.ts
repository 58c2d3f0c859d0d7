import type { AuditChange } from "#audit/change.ts";
import type { AuditEntry, AuditEvent, AuditStore } from "#audit/event.ts";
import { columnsOf, count, decode, insert } from "#storage/sql/rows.ts";
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
        const rows = yield* all<Omit<AuditEvent, "change"> & { readonly change?: AuditChange | null }>(
          `SELECT ${selected}, principals.name AS "actorName"
           FROM audit_events LEFT JOIN principals ON principals.id = audit_events.actor_principal_id
           ORDER BY audit_events.id DESC LIMIT ? OFFSET ?`,
          [limit, offset],
        );
        // An entry whose change a newer version has written tells the rest of it.
        const events = decode(auditEvents, rows).map((row) =>
          Object.assign(row, { change: row.change ?? null }),
        );
        return { rows: events, total: yield* count(auditEvents) };
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
      const { actorPrincipalId, action, targetKind, targetRef, change = null } = entry;
      return { atUs, actorPrincipalId, action, targetKind, targetRef, change };
    }),
  );
}

/** Writes one entry down with what its mutation changes. */
export function* recordOne(audit: AuditEntry | null, change: AuditChange): Script<void> {
  yield* recordAudit([audit && { ...audit, change }]);
}

/** Writes the entry of a change of one row down with what it changes, and tells of the row. */
export function* recordChange(
  audit: AuditEntry | null,
  kind: ChangeKind,
  { id, change }: { readonly id: string; readonly change: AuditChange },
): Script<void> {
  yield* recordOne(audit, change);
  yield* changed(kind, id);
}
