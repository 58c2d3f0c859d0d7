import type { AuditEntry } from "#audit/event.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { createRowWriter } from "./rows.ts";
import { auditEvents } from "./schema.ts";

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
