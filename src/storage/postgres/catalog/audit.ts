import { count, desc, eq, getTableColumns } from "drizzle-orm";
import type { AuditEntry } from "#audit/event.ts";
import type { AuditStore } from "#audit/store.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { principals } from "./identity-schema.ts";
import type { Reads } from "./reads.ts";
import { createRowWriter } from "./rows.ts";
import { auditEvents } from "./schema.ts";

export function createAuditStore(reads: Reads): AuditStore {
  const { id: _, ...columns } = getTableColumns(auditEvents);
  return {
    listEvents: (page) =>
      reads.snapshot(async ({ orm }) => {
        const rows = await orm
          .select({ ...columns, actorName: principals.name })
          .from(auditEvents)
          .leftJoin(principals, eq(principals.id, auditEvents.actorPrincipalId))
          .orderBy(desc(auditEvents.id))
          .limit(page.limit)
          .offset(page.offset);
        const [counted] = await orm.select({ total: count() }).from(auditEvents);
        return { rows, total: counted?.total ?? 0 };
      }),
  };
}

/** Writes the entries down, in their order, in the transaction that is open: they are there if and only if the mutation is. */
export type RecordAudit = (tx: Pick<Sql, "run">, entries: readonly (AuditEntry | null)[]) => Promise<void>;

export function createRecordAudit(clock: Pick<Clock, "nowUs">): RecordAudit {
  const write = createRowWriter(auditEvents, { generated: ["id"] });
  return (tx, entries) => {
    const atUs = clock.nowUs();
    return write(
      tx,
      entries.flatMap((entry) => (entry === null ? [] : [{ ...entry, atUs }])),
    );
  };
}
