import { describe, expect } from "bun:test";
import type { AuditEntry } from "#audit/event.ts";
import { ProxyError } from "#kernel/errors.ts";
import {
  apiKey,
  AUDIT,
  codeOf,
  insist,
  newLimit,
  type OpenedCatalog,
  PAGE,
  principal,
  provider,
  START_US,
  type CatalogEngine,
} from "./support.ts";
import { toPromises } from "./promises.ts";

/** Principals and the audit trail. */
export function testPrincipalsContract(engineName: string, createEngine: () => CatalogEngine): void {
  const it = toPromises(createEngine);
  describe(`${engineName}: principals`, () => {
    it("a principal is found by its name exactly as it was created", async (stores) => {
      const { identity } = stores;
      const created = principal("ann", { kind: "service", role: "admin", enabled: false });
      await identity.createPrincipal(created, null);
      expect(await identity.findPrincipalByName("ann")).toEqual(created);
      expect(await identity.findPrincipalByName(created.id)).toBeNull();
      expect(await identity.findPrincipalByName("Ann")).toBeNull();
    });

    it("fixed tags of a principal are read as they were written on every connection, and a change of something else keeps them", async (left) => {
      const right = await left.open();
      const tags = ["cost-center:42", "team:search"];
      await left.identity.createPrincipal(principal("ann", { tags }), null);
      await left.identity.createPrincipal(principal("bob"), null);
      await left.identity.keys.create(apiKey("one", "principal-ann"), null);
      await left.identity.updatePrincipal("principal-ann", { enabled: false }, null);
      const ann = principal("ann", { tags, enabled: false });
      for (const { identity } of [left, right, await left.open()]) {
        expect(await identity.findPrincipalByName("ann")).toEqual(ann);
        expect((await identity.listPrincipals(PAGE)).rows).toEqual([ann, principal("bob")]);
        expect((await identity.keys.findByHash("hash-one"))?.principal).toEqual(ann);
      }
      const bare = await right.identity.updatePrincipal("principal-ann", { tags: [], enabled: true }, null);
      expect(bare).toEqual(principal("ann"));
      for (const { identity } of [left, right])
        expect((await identity.keys.findByHash("hash-one"))?.principal).toEqual(principal("ann"));
    });

    it("a used name is principal_exists, and neither the principal nor its audit entry is written", async (stores) => {
      const { identity, audit } = stores;
      await identity.createPrincipal(principal("ann"), null);
      const again = identity.createPrincipal(principal("ann", { id: "other" }), AUDIT);
      // Nor is what was sent repeated in the refusal.
      expect(await again.catch(String)).not.toContain("ann");
      expect(await codeOf(again)).toBe("principal_exists");
      expect((await identity.listPrincipals(PAGE)).rows).toEqual([principal("ann")]);
      expect((await audit.listEvents(PAGE)).total).toBe(0);
    });

    it("ensurePrincipal makes a principal once and afterwards gives the one that exists, unchanged", async (left) => {
      const right = await left.open();
      const made = await left.identity.ensurePrincipal(principal("admin", { id: "first", role: "admin" }));
      const found = await right.identity.ensurePrincipal(
        principal("admin", { id: "second", role: "member" }),
      );
      expect(found).toEqual(made);
      expect(await left.identity.countPrincipals()).toBe(1);
    });

    it("principals are listed by name by code unit, in pages with the exact total", async (stores) => {
      const { identity } = stores;
      for (const name of ["b", "a-b", "a.b", "ab", "a", "0"])
        await identity.createPrincipal(principal(name), null);
      const names = (await identity.listPrincipals(PAGE)).rows.map((row) => row.name);
      expect(names).toEqual(["0", "a", "a-b", "a.b", "ab", "b"]);
      const page = await identity.listPrincipals({ limit: 2, offset: 3 });
      expect(page.rows.map((row) => row.name)).toEqual(["a.b", "ab"]);
      expect(page.total).toBe(6);
      expect((await identity.listPrincipals({ limit: 2, offset: 50 })).rows).toEqual([]);
    });

    it("the last enabled admin cannot be demoted, disabled or deleted, and nothing is audited", async (stores) => {
      const { identity, audit } = stores;
      const root = principal("root", { role: "admin" });
      await identity.createPrincipal(root, null);
      await identity.createPrincipal(principal("off", { role: "admin", enabled: false }), null);
      await identity.createPrincipal(principal("member"), null);
      expect(await codeOf(identity.updatePrincipal(root.id, { role: "member" }, AUDIT))).toBe("last_admin");
      expect(await codeOf(identity.updatePrincipal(root.id, { enabled: false }, AUDIT))).toBe("last_admin");
      expect(await codeOf(identity.deletePrincipal(root.id, AUDIT))).toBe("last_admin");
      expect(await identity.findPrincipalByName("root")).toEqual(root);
      expect((await audit.listEvents(PAGE)).total).toBe(0);

      await identity.updatePrincipal("principal-off", { enabled: true }, AUDIT);
      await identity.deletePrincipal(root.id, AUDIT);
      expect(
        await codeOf(identity.updatePrincipal("principal-off", { role: "member", enabled: false }, AUDIT)),
      ).toBe("last_admin");
      expect((await audit.listEvents(PAGE)).total).toBe(2);
    });

    it("of ten admins that two connections remove at once one is left", async (left) => {
      const both = [left, await left.open()] as const;
      const names = Array.from({ length: 10 }, (_, at) => `admin-${at}`);
      for (const name of names) await left.identity.createPrincipal(principal(name, { role: "admin" }), null);
      const remove = (name: string, at: number) => {
        const { identity } = both[at % 2]!;
        return at % 3 === 0
          ? identity.updatePrincipal(`principal-${name}`, { enabled: false }, AUDIT)
          : identity.deletePrincipal(`principal-${name}`, AUDIT);
      };
      const codes = await Promise.all(
        names.map((name, at) => codeOf(insist<unknown>(() => remove(name, at)))),
      );
      expect(codes.filter((code) => code === null)).toHaveLength(9);
      expect(codes).toContain("last_admin");
      const { rows } = await left.identity.listPrincipals(PAGE);
      expect(rows.filter(({ role, enabled }) => role === "admin" && enabled)).toHaveLength(1);
      expect((await left.audit.listEvents(PAGE)).total).toBe(9);
    });

    it("of two that take one name at once on two connections one is made; so it is with limits and providers", async (left) => {
      const right = await left.open();
      const both = async (attempt: (stores: OpenedCatalog, id: string) => Promise<unknown>) => {
        const attempts = [left, right].map((stores, at) => codeOf(insist(() => attempt(stores, `id-${at}`))));
        return (await Promise.all(attempts)).map((code) => code ?? "").toSorted();
      };
      expect(
        await both(({ identity }, id) => identity.createPrincipal(principal("ann", { id }), AUDIT)),
      ).toEqual(["", "principal_exists"]);
      expect(await both(({ limits }, id) => limits.create(newLimit("monthly", { id }), AUDIT))).toEqual([
        "",
        "limit_exists",
      ]);
      // A plan sees what the other connection has committed before it.
      const addOnce = ({ catalog }: OpenedCatalog, id: string) =>
        catalog.change((current) => {
          if (current.findProvider("one") !== null) throw new ProxyError("provider_exists", "it exists");
          const write = { kind: "put_provider", provider: provider("one", { id }) } as const;
          return { writes: [write], audit: [AUDIT], result: () => null };
        });
      expect(await both(addOnce)).toEqual(["", "provider_exists"]);
      expect((await right.audit.listEvents(PAGE)).total).toBe(3);
    });

    it("updating or deleting an unknown principal is principal_not_found", async (stores) => {
      const { identity, audit } = stores;
      expect(await codeOf(identity.updatePrincipal("nobody", { role: "admin" }, AUDIT))).toBe(
        "principal_not_found",
      );
      expect(await codeOf(identity.deletePrincipal("nobody", AUDIT))).toBe("principal_not_found");
      expect(await codeOf(identity.revokeSessions("nobody", AUDIT))).toBe("principal_not_found");
      expect((await audit.listEvents(PAGE)).total).toBe(0);
    });
  });

  describe(`${engineName}: audit`, () => {
    it("events are listed newest first by commit, also when the clock was set back, with the actor's name while there is one", async (stores) => {
      const { identity, audit, engine } = stores;
      const entry = (targetRef: string): AuditEntry => ({
        ...AUDIT,
        actorPrincipalId: "principal-ann",
        targetRef,
      });
      await identity.createPrincipal(principal("ann"), entry("first"));
      engine.clock.advanceMs(-60_000);
      await identity.createPrincipal(principal("bob"), entry("second"));
      engine.clock.advanceMs(120_000);
      await identity.createPrincipal(principal("eve"), entry("third"));

      const { rows, total } = await audit.listEvents(PAGE);
      expect(rows.map((event) => event.targetRef)).toEqual(["third", "second", "first"]);
      expect(rows[2]).toMatchObject({ ...entry("first"), atUs: START_US, actorName: "ann" });
      expect(rows[2]?.change?.label).toBe("ann");
      expect(total).toBe(3);
      const page = await audit.listEvents({ limit: 1, offset: 1 });
      expect(page.rows.map((event) => event.targetRef)).toEqual(["second"]);
      expect(page.total).toBe(3);

      await audit.record(AUDIT);
      expect((await audit.listEvents(PAGE)).rows[0]).toMatchObject({ ...AUDIT, change: null });
      await identity.deletePrincipal("principal-ann", null);
      expect((await audit.listEvents(PAGE)).rows.map((event) => event.actorName)).toEqual(
        Array(4).fill(null),
      );
    });
  });
}
