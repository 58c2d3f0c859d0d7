import type { AuditEntry } from "#audit/event.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Orm } from "./connection.ts";
import { auditEvents } from "./schema.ts";

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
