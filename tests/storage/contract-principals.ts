import { describe, expect, test } from "bun:test";
import type { AuditEntry } from "#audit/event.ts";
import { apiKey, AUDIT, codeOf, PAGE, principal, START_US, type CatalogEngine } from "./support.ts";

/** Principals and the audit trail. */
export function testPrincipalsContract(engineName: string, createEngine: () => CatalogEngine): void {
  describe(`${engineName}: principals`, () => {
    test("a principal is found by its name exactly as it was created", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      const created = principal("ann", { kind: "service", role: "admin", enabled: false });
      await identity.createPrincipal(created, null);
      expect(await identity.findPrincipalByName("ann")).toEqual(created);
      expect(await identity.findPrincipalByName(created.id)).toBeNull();
      expect(await identity.findPrincipalByName("Ann")).toBeNull();
    });

    test("fixed tags of a principal are read as they were written on every connection, and a change of something else keeps them", async () => {
      await using engine = createEngine();
      const [left, right] = [await engine.open(), await engine.open()];
      const tags = ["cost-center:42", "team:search"];
      await left.identity.createPrincipal(principal("ann", { tags }), null);
      await left.identity.createPrincipal(principal("bob"), null);
      await left.identity.keys.create(apiKey("one", "principal-ann"), null);
      await left.identity.updatePrincipal("principal-ann", { enabled: false }, null);
      const ann = principal("ann", { tags, enabled: false });
      for (const { identity } of [left, right, await engine.open()]) {
        expect(await identity.findPrincipalByName("ann")).toEqual(ann);
        expect((await identity.listPrincipals(PAGE)).rows).toEqual([ann, principal("bob")]);
        expect((await identity.keys.findByHash("hash-one"))?.principal).toEqual(ann);
      }
      const bare = await right.identity.updatePrincipal("principal-ann", { tags: [], enabled: true }, null);
      expect(bare).toEqual(principal("ann"));
      for (const { identity } of [left, right])
        expect((await identity.keys.findByHash("hash-one"))?.principal).toEqual(principal("ann"));
    });

    test("a used name is principal_exists, and neither the principal nor its audit entry is written", async () => {
      await using engine = createEngine();
      const { identity, audit } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      const again = identity.createPrincipal(principal("ann", { id: "other" }), AUDIT);
      // Nor is what was sent repeated in the refusal.
      expect(await again.catch(String)).not.toContain("ann");
      expect(await codeOf(again)).toBe("principal_exists");
      expect((await identity.listPrincipals(PAGE)).rows).toEqual([principal("ann")]);
      expect((await audit.listEvents(PAGE)).total).toBe(0);
    });

    test("ensurePrincipal makes a principal once and afterwards gives the one that exists, unchanged", async () => {
      await using engine = createEngine();
      const [left, right] = [await engine.open(), await engine.open()];
      const made = await left.identity.ensurePrincipal(principal("admin", { id: "first", role: "admin" }));
      const found = await right.identity.ensurePrincipal(
        principal("admin", { id: "second", role: "member" }),
      );
      expect(found).toEqual(made);
      expect(await left.identity.countPrincipals()).toBe(1);
    });

    test("principals are listed by name by code unit, in pages with the exact total", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      for (const name of ["b", "a-b", "a.b", "ab", "a", "0"])
        await identity.createPrincipal(principal(name), null);
      const names = (await identity.listPrincipals(PAGE)).rows.map((row) => row.name);
      expect(names).toEqual(["0", "a", "a-b", "a.b", "ab", "b"]);
      const page = await identity.listPrincipals({ limit: 2, offset: 3 });
      expect(page.rows.map((row) => row.name)).toEqual(["a.b", "ab"]);
      expect(page.total).toBe(6);
      expect((await identity.listPrincipals({ limit: 2, offset: 50 })).rows).toEqual([]);
    });

    test("the last enabled admin cannot be demoted, disabled or deleted, and nothing is audited", async () => {
      await using engine = createEngine();
      const { identity, audit } = await engine.open();
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

    test("of two connections that each remove one of two admins only one succeeds", async () => {
      await using engine = createEngine();
      const [left, right] = [await engine.open(), await engine.open()];
      await left.identity.createPrincipal(principal("a", { role: "admin" }), null);
      await left.identity.createPrincipal(principal("b", { role: "admin" }), null);
      const codes = await Promise.all([
        codeOf(left.identity.deletePrincipal("principal-a", AUDIT)),
        codeOf(right.identity.updatePrincipal("principal-b", { role: "member" }, AUDIT)),
      ]);
      expect(codes.filter((code) => code === null)).toHaveLength(1);
      expect(codes).toContain("last_admin");
      expect((await left.audit.listEvents(PAGE)).total).toBe(1);
    });

    test("updating or deleting an unknown principal is principal_not_found", async () => {
      await using engine = createEngine();
      const { identity, audit } = await engine.open();
      expect(await codeOf(identity.updatePrincipal("nobody", { role: "admin" }, AUDIT))).toBe(
        "principal_not_found",
      );
      expect(await codeOf(identity.deletePrincipal("nobody", AUDIT))).toBe("principal_not_found");
      expect(await codeOf(identity.revokeSessions("nobody", AUDIT))).toBe("principal_not_found");
      expect((await audit.listEvents(PAGE)).total).toBe(0);
    });
  });

  describe(`${engineName}: audit`, () => {
    test("events are listed newest first by commit, also when the clock was set back, with the actor's name while there is one", async () => {
      await using engine = createEngine();
      const { identity, audit } = await engine.open();
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
      expect(rows[2]).toEqual({ ...entry("first"), atUs: START_US, actorName: "ann" });
      expect(total).toBe(3);
      const page = await audit.listEvents({ limit: 1, offset: 1 });
      expect(page.rows.map((event) => event.targetRef)).toEqual(["second"]);
      expect(page.total).toBe(3);

      await identity.deletePrincipal("principal-ann", null);
      expect((await audit.listEvents(PAGE)).rows.map((event) => event.actorName)).toEqual([null, null, null]);
    });
  });
}
