import { count, desc, eq, getTableColumns } from "drizzle-orm";
import type { AuditEntry } from "#audit/event.ts";
import type { AuditStore } from "#audit/store.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Connection, Orm } from "./connection.ts";
import { principals } from "./identity-schema.ts";
import { auditEvents } from "./schema.ts";

export function createAuditStore(connection: Connection): AuditStore {
  const { orm } = connection;
  return {
    listEvents: (page) =>
      connection.read(() => {
        const { id: _, ...columns } = getTableColumns(auditEvents);
        const rows = orm
          .select({ ...columns, actorName: principals.name })
          .from(auditEvents)
          .leftJoin(principals, eq(principals.id, auditEvents.actorPrincipalId))
          .orderBy(desc(auditEvents.id))
          .limit(page.limit)
          .offset(page.offset)
          .all();
        const total = orm.select({ total: count() }).from(auditEvents).get()?.total ?? 0;
        return { rows, total };
      }),
  };
}

/** Writes the entry down in the transaction that is open: it is there if and only if the mutation is. Null writes nothing. */
export type RecordAudit = (entry: AuditEntry | null) => void;

export function createRecordAudit(orm: Pick<Orm, "insert">, clock: Pick<Clock, "nowUs">): RecordAudit {
  return (entry) => {
    if (entry === null) return;
    orm
      .insert(auditEvents)
      .values({
        atUs: clock.nowUs(),
        actorPrincipalId: entry.actorPrincipalId,
        action: entry.action,
        targetKind: entry.targetKind,
        targetRef: entry.targetRef,
      })
      .run();
  };
}
