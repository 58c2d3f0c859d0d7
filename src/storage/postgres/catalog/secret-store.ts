import { and, asc, count, eq, sql, type SQL } from "drizzle-orm";
import { SECRETS_PER_PRINCIPAL_MAX } from "#identity/secret.ts";
import type { SecretFilter, SecretStore } from "#identity/store.ts";
import { type SecretRefusals, toPrincipalNotFound } from "#storage/catalog/refusals.ts";
import { applySecretChange, toListedSecret, toSecretRow } from "#storage/catalog/secret-rows.ts";
import type { SqlWithOrm } from "#storage/postgres/connection/sql.ts";
import type { Change } from "#storage/catalog/change.ts";
import type { Freshness } from "#storage/replicas/freshness.ts";
import type { RecordAudit } from "./audit.ts";
import { principals } from "./identity-schema.ts";
import type { Reads } from "./reads.ts";
import type { SecretMemory, SecretTable } from "./secret-memory.ts";
import { askSecret } from "./secret-query.ts";

export interface SecretStoreParts {
  readonly table: SecretTable;
  readonly kind: "key" | "relay_token";
  /** Null: each is asked for. */
  readonly memory: SecretMemory | null;
  readonly refusals: SecretRefusals;
}

/** What each store of the catalog reads, changes and writes down with. */
export interface StoreSteps {
  readonly reads: Reads;
  readonly freshness: Freshness;
  readonly recordAudit: RecordAudit;
}

/** API keys or relay tokens in PostgreSQL. */
export function createSecretStore(
  { table, kind, memory, refusals }: SecretStoreParts,
  { reads, freshness, recordAudit }: StoreSteps,
): SecretStore {
  const toChanges = (id: string): readonly Change[] => [{ kind, id }];
  const ownedBy = (principalId: string | undefined): SQL | undefined =>
    principalId === undefined ? undefined : eq(table.principalId, principalId);
  const matches = ({ id, principalId }: SecretFilter) => and(eq(table.id, id), ownedBy(principalId));
  const selectListed = ({ orm }: SqlWithOrm) =>
    orm
      .select({ secret: table, principalName: principals.name })
      .from(table)
      .innerJoin(principals, eq(principals.id, table.principalId));

  return {
    peekByHash: (hash) => (freshness.isTrusted() ? (memory?.find(hash) ?? null) : null),
    async findByHash(hash) {
      await reads.current();
      return memory === null ? reads.query((read) => askSecret(read, table, hash)) : memory.find(hash);
    },

    create: (secret, audit) =>
      freshness.mutate(async (tx) => {
        const [owner] = await tx.orm
          .select({
            total: sql<number>`(SELECT count(*) FROM ${table} WHERE ${ownedBy(secret.principalId)})`,
          })
          .from(principals)
          .where(eq(principals.id, secret.principalId));
        if (owner === undefined) throw toPrincipalNotFound();
        if (owner.total >= SECRETS_PER_PRINCIPAL_MAX) throw refusals.toFull();
        await tx.orm.insert(table).values(toSecretRow(secret));
        await recordAudit(tx, [audit]);
        return { result: undefined, changes: toChanges(secret.id) };
      }),

    list: ({ principalId }, page) =>
      reads.snapshot(async (read) => {
        const owned = ownedBy(principalId);
        const rows = await selectListed(read)
          .where(owned)
          .orderBy(asc(table.createdAtUs), asc(table.id))
          .limit(page.limit)
          .offset(page.offset);
        const [counted] = await read.orm.select({ total: count() }).from(table).where(owned);
        return { rows: rows.map(toListedSecret), total: counted?.total ?? 0 };
      }),

    change: (filter, plan, audit) =>
      freshness.mutate(async (tx) => {
        const [found] = await selectListed(tx).where(matches(filter));
        if (found === undefined) throw refusals.toMissing();
        const { after, columns } = applySecretChange(found, plan);
        await tx.orm.update(table).set(columns).where(eq(table.id, after.id));
        await recordAudit(tx, [audit]);
        return { result: after, changes: toChanges(after.id) };
      }),

    delete: (filter, audit) =>
      freshness.mutate(async (tx) => {
        const deleted = await tx.orm.delete(table).where(matches(filter)).returning({ id: table.id });
        if (deleted.length === 0) throw refusals.toMissing();
        await recordAudit(tx, [audit]);
        // Its limits go with it: ON DELETE CASCADE.
        return { result: undefined, changes: [...toChanges(filter.id), { kind: "limit", id: null }] };
      }),
  };
}
