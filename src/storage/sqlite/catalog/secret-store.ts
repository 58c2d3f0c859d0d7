import { and, asc, count, eq, type SQL } from "drizzle-orm";
import type { AuditEntry } from "#audit/event.ts";
import { SECRETS_PER_PRINCIPAL_MAX } from "#identity/secret.ts";
import type { SecretFilter, SecretStore } from "#identity/store.ts";
import type { SecretRefusals } from "#storage/catalog/refusals.ts";
import { applySecretChange, toListedSecret, toSecretRow } from "#storage/catalog/secret-rows.ts";
import type { TellUnreadable } from "#storage/catalog/unreadable.ts";
import type { Connection } from "./connection.ts";
import { principals } from "./identity-schema.ts";
import { createSecretLookup, type SecretTable } from "./secret-lookup.ts";

/** What a mutation of the identity store needs, whichever table it is on. */
export interface MutationSteps {
  /** Runs a synchronous step as one transaction. */
  readonly write: <Result>(step: () => Result) => Promise<Result>;
  /** Within a transaction. Throws `principal_not_found`. */
  readonly requirePrincipal: (id: string) => unknown;
  /** Within a transaction. */
  readonly recordAudit: (entry: AuditEntry | null) => void;
  readonly tell: TellUnreadable;
}

/** API keys or relay tokens in catalog.db. */
export function createSecretStore(
  connection: Connection,
  table: SecretTable,
  { write, requirePrincipal, recordAudit, tell }: MutationSteps,
  refusals: SecretRefusals,
): SecretStore & { readonly forget: () => void } {
  const { orm } = connection;
  const lookup = createSecretLookup(connection, table, tell);
  const ownedBy = (principalId: string | undefined): SQL | undefined =>
    principalId === undefined ? undefined : eq(table.principalId, principalId);
  const matches = ({ id, principalId }: SecretFilter) => and(eq(table.id, id), ownedBy(principalId));
  const countOf = (owned: SQL | undefined): number =>
    orm.select({ total: count() }).from(table).where(owned).get()?.total ?? 0;
  return {
    forget: () => lookup.forget(),
    findByHash: (hash) => lookup.find(hash),
    peekByHash: (hash) => lookup.peek(hash),

    create: (secret, audit) =>
      write(() => {
        requirePrincipal(secret.principalId);
        if (countOf(ownedBy(secret.principalId)) >= SECRETS_PER_PRINCIPAL_MAX) throw refusals.toFull();
        orm.insert(table).values(toSecretRow(secret)).run();
        recordAudit(audit);
      }),

    list: ({ principalId }, page) =>
      connection.read(() => {
        const owned = ownedBy(principalId);
        const rows = orm
          .select({ secret: table, principalName: principals.name })
          .from(table)
          .innerJoin(principals, eq(principals.id, table.principalId))
          .where(owned)
          .orderBy(asc(table.createdAtUs), asc(table.id))
          .limit(page.limit)
          .offset(page.offset)
          .all();
        return { rows: rows.map(toListedSecret), total: countOf(owned) };
      }),

    change: (filter, plan, audit) =>
      write(() => {
        const found = orm
          .select({ secret: table, principalName: principals.name })
          .from(table)
          .innerJoin(principals, eq(principals.id, table.principalId))
          .where(matches(filter))
          .get();
        if (found === undefined) throw refusals.toMissing();
        const { after, columns } = applySecretChange(found, plan);
        orm.update(table).set(columns).where(eq(table.id, after.id)).run();
        recordAudit(audit);
        return after;
      }),

    delete: (filter, audit) =>
      write(() => {
        const deleted = orm.delete(table).where(matches(filter)).returning({ id: table.id }).all();
        if (deleted.length === 0) throw refusals.toMissing();
        recordAudit(audit);
      }),
  };
}
