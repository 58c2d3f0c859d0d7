import { count, eq } from "drizzle-orm";
import type { Limit } from "#limits/limit.ts";
import { type LimitStore, LIMITS_MAX, type NamedSubject } from "#limits/store.ts";
import { toLimitColumns, toLimitRow } from "#storage/catalog/limit-rows.ts";
import {
  toLimitExists,
  toLimitNotFound,
  toMissingSubject,
  toTooManyLimits,
} from "#storage/catalog/refusals.ts";
import type { SqlWithOrm } from "#storage/postgres/connection/sql.ts";
import type { Made } from "#storage/replicas/mutation.ts";
import { apiKeys, principals, relayTokens } from "./identity-schema.ts";
import { findLimit, type LimitMemory } from "./limit-memory.ts";
import { limits } from "./limit-schema.ts";
import type { StoreSteps } from "./secret-store.ts";

/** The limits in PostgreSQL. Names and subjects are looked up under the catalog's lock. */
export function createLimitStore(
  memory: LimitMemory,
  { reads, freshness, recordAudit }: StoreSteps,
): LimitStore {
  return {
    peek: () => (freshness.isTrusted() ? memory.set() : null),
    async snapshot() {
      await reads.current();
      return memory.set();
    },

    create: (limit, audit) =>
      freshness.mutate(async (tx) => {
        await requireFreeName(tx, limit.name);
        const [counted] = await tx.orm.select({ total: count() }).from(limits);
        if (counted !== undefined && counted.total >= LIMITS_MAX) throw toTooManyLimits();
        await tx.orm.insert(limits).values(toLimitRow(limit, await findSubjectId(tx, limit.subject)));
        await recordAudit(tx, [audit]);
        return toMade(limit.id, await getLimit(tx, limit.id));
      }),

    update: (id, change, audit, require) =>
      freshness.mutate(async (tx) => {
        const before = await getLimit(tx, id);
        require?.(before);
        if (change.name !== undefined && change.name !== before.name) await requireFreeName(tx, change.name);
        const columns = toLimitColumns(change);
        if (Object.keys(columns).length > 0)
          await tx.orm.update(limits).set(columns).where(eq(limits.id, id));
        await recordAudit(tx, [audit]);
        return toMade(id, await getLimit(tx, id));
      }),

    delete: (id, audit, require) =>
      freshness.mutate(async (tx) => {
        const before = await getLimit(tx, id);
        require?.(before);
        await tx.orm.delete(limits).where(eq(limits.id, id));
        await recordAudit(tx, [audit]);
        return toMade(id, undefined);
      }),
  };
}

function toMade<R>(id: string, result: R): Made<R> {
  return { result, changes: [{ kind: "limit", id }] };
}

async function getLimit(tx: SqlWithOrm, id: string): Promise<Limit> {
  const limit = await findLimit(tx, id);
  if (limit === null) throw toLimitNotFound();
  return limit;
}

async function requireFreeName({ orm }: SqlWithOrm, name: string): Promise<void> {
  const [taken] = await orm.select({ id: limits.id }).from(limits).where(eq(limits.name, name));
  if (taken !== undefined) throw toLimitExists();
}

async function findSubjectId({ orm }: SqlWithOrm, subject: NamedSubject): Promise<string | null> {
  if (subject.kind === "everybody" || subject.kind === "tag") return null;
  const secrets = subject.kind === "key" ? apiKeys : relayTokens;
  const [found] =
    subject.kind === "principal"
      ? await orm.select({ id: principals.id }).from(principals).where(eq(principals.name, subject.name))
      : await orm.select({ id: secrets.id }).from(secrets).where(eq(secrets.id, subject.id));
  if (found === undefined) throw toMissingSubject(subject.kind);
  return found.id;
}
