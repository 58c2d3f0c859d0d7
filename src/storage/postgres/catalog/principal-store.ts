import { and, asc, count, eq, ne } from "drizzle-orm";
import type { Principal } from "#identity/principal.ts";
import type { IdentityStore } from "#identity/store.ts";
import {
  losesAdmin,
  toLastAdmin,
  toPrincipalExists,
  toPrincipalNotFound,
} from "#storage/catalog/refusals.ts";
import {
  applyPrincipalChange,
  type PrincipalRow,
  toPrincipal,
  toPrincipalRow,
} from "#storage/catalog/principal-rows.ts";
import type { SqlWithOrm } from "#storage/postgres/connection/sql.ts";
import type { Change } from "#storage/catalog/change.ts";
import { oidcSubjects, principals } from "./identity-schema.ts";
import { orphanResponses } from "#storage/catalog/responses.ts";
import { drive } from "#storage/postgres/drive.ts";
import { POSTGRES } from "#storage/sql/dialect.ts";
import type { StoreSteps } from "./secret-store.ts";

type PrincipalStore = Pick<
  IdentityStore,
  | "createPrincipal"
  | "ensurePrincipal"
  | "findPrincipalByName"
  | "listPrincipals"
  | "countPrincipals"
  | "updatePrincipal"
  | "deletePrincipal"
  | "findPrincipalBySubject"
  | "createPrincipalForSubject"
>;

/** Principals and their subjects. Every uniqueness rule is asked under the catalog's lock, so none can be raced. */
export function createPrincipalStore({ reads, freshness, recordAudit }: StoreSteps): PrincipalStore {
  return {
    createPrincipal: (principal, audit) =>
      freshness.mutate(async (tx) => {
        await insertPrincipal(tx, principal);
        await recordAudit(tx, [audit]);
        return { result: undefined, changes: toChanges(principal.id) };
      }),

    async ensurePrincipal(principal) {
      const found = await reads.query((sql) => findByName(sql, principal.name));
      if (found !== null) return found;
      return freshness.mutate(async (tx) => {
        const madeMeanwhile = await findByName(tx, principal.name);
        if (madeMeanwhile !== null) return { result: madeMeanwhile, changes: [] };
        await tx.orm.insert(principals).values(toPrincipalRow(principal));
        return { result: principal, changes: toChanges(principal.id) };
      });
    },

    findPrincipalByName: (name) => reads.query((sql) => findByName(sql, name)),

    listPrincipals: (page) =>
      reads.snapshot(async (sql) => {
        const rows = await sql.orm
          .select()
          .from(principals)
          .orderBy(asc(principals.name))
          .limit(page.limit)
          .offset(page.offset);
        return { rows: rows.map((row) => toPrincipal(row)), total: await countPrincipals(sql) };
      }),

    countPrincipals: () => reads.query(countPrincipals),

    updatePrincipal: (id, change, audit, require) =>
      freshness.mutate(async (tx) => {
        const row = await requireRow(tx, id);
        const before = toPrincipal(row);
        require?.(before);
        const changed = applyPrincipalChange(row, change);
        const after = toPrincipal(changed);
        await requireAdminLeft(tx, before, after);
        const { role, enabled, tags } = changed;
        await tx.orm.update(principals).set({ role, enabled, tags }).where(eq(principals.id, id));
        await recordAudit(tx, [audit]);
        return { result: after, changes: toChanges(id) };
      }),

    deletePrincipal: (id, audit, require) =>
      freshness.mutate(async (tx) => {
        const before = await requirePrincipal(tx, id);
        require?.(before);
        await requireAdminLeft(tx, before, null);
        // Keys, relay tokens, sessions, subjects and limits go with it: ON DELETE CASCADE.
        await tx.orm.delete(principals).where(eq(principals.id, id));
        await drive(tx, { dialect: POSTGRES }, orphanResponses(id));
        await recordAudit(tx, [audit]);
        return { result: undefined, changes: toChanges(id) };
      }),

    findPrincipalBySubject: (issuer, subject) =>
      reads.query((sql) => findBySubject(sql, { issuer, subject })),

    createPrincipalForSubject: (principal, { issuer, subject }) =>
      freshness.mutate(async (tx) => {
        // Another sign-in of the same account may have been first.
        const found = await findBySubject(tx, { issuer, subject });
        if (found !== null) return { result: found, changes: [] };
        await insertPrincipal(tx, principal);
        await tx.orm.insert(oidcSubjects).values({ issuer, subject, principalId: principal.id });
        return { result: principal, changes: toChanges(principal.id) };
      }),
  };
}

/** Within a transaction. Throws `principal_not_found`. */
export async function requirePrincipal(tx: SqlWithOrm, id: string): Promise<Principal> {
  return toPrincipal(await requireRow(tx, id));
}

async function requireRow({ orm }: SqlWithOrm, id: string): Promise<PrincipalRow> {
  const [found] = await orm.select().from(principals).where(eq(principals.id, id));
  if (found === undefined) throw toPrincipalNotFound();
  return found;
}

function toChanges(id: string): readonly Change[] {
  return [{ kind: "principal", id }];
}

async function findByName({ orm }: SqlWithOrm, name: string): Promise<Principal | null> {
  const [found] = await orm.select().from(principals).where(eq(principals.name, name));
  return found === undefined ? null : toPrincipal(found);
}

async function findBySubject(
  { orm }: SqlWithOrm,
  { issuer, subject }: { readonly issuer: string; readonly subject: string },
): Promise<Principal | null> {
  const [found] = await orm
    .select({ principal: principals })
    .from(oidcSubjects)
    .innerJoin(principals, eq(principals.id, oidcSubjects.principalId))
    .where(and(eq(oidcSubjects.issuer, issuer), eq(oidcSubjects.subject, subject)));
  return found === undefined ? null : toPrincipal(found.principal);
}

async function insertPrincipal(tx: SqlWithOrm, principal: Principal): Promise<void> {
  if ((await findByName(tx, principal.name)) !== null) throw toPrincipalExists();
  await tx.orm.insert(principals).values(toPrincipalRow(principal));
}

async function countPrincipals({ orm }: SqlWithOrm): Promise<number> {
  const [counted] = await orm.select({ total: count() }).from(principals);
  return counted?.total ?? 0;
}

async function requireAdminLeft(
  { orm }: SqlWithOrm,
  before: Principal,
  after: Principal | null,
): Promise<void> {
  if (!losesAdmin(before, after)) return;
  const others = and(
    eq(principals.role, "admin"),
    eq(principals.enabled, true),
    ne(principals.id, before.id),
  );
  const [counted] = await orm.select({ total: count() }).from(principals).where(others);
  if (counted === undefined || counted.total === 0) throw toLastAdmin(before);
}
