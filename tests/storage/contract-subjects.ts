import { describe, expect } from "bun:test";
import { codeOf, PAGE, principal, type CatalogEngine } from "./support.ts";
import { toPromises } from "./promises.ts";

const ISSUER = "https://idp.example";

/** Principals by what an identity provider calls them. */
export function testSubjectsContract(engineName: string, createEngine: () => CatalogEngine): void {
  const it = toPromises(createEngine);
  describe(`${engineName}: subjects of identity providers`, () => {
    it("a principal made for a subject is found by it, by both of its parts, and by nothing like it", async (stores) => {
      const { identity, audit } = stores;
      const ann = principal("ann", { role: "admin" });
      expect(await identity.findPrincipalBySubject(ISSUER, "42")).toBeNull();
      expect(await identity.createPrincipalForSubject(ann, { issuer: ISSUER, subject: "42" })).toEqual(ann);
      expect(await identity.findPrincipalBySubject(ISSUER, "42")).toEqual(ann);
      for (const [issuer, subject] of [
        ["https://other.example", "42"],
        [`${ISSUER}/`, "42"],
        [ISSUER.toUpperCase(), "42"],
        [ISSUER, "042"],
        [ISSUER, "42 "],
        [ISSUER, "ann"],
        [ISSUER, ""],
        ["", "42"],
      ] as const) {
        expect(await identity.findPrincipalBySubject(issuer, subject)).toBeNull();
      }
      expect(await identity.findPrincipalByName("ann")).toEqual(ann);
      expect((await audit.listEvents(PAGE)).total).toBe(0);
    });

    it("one subject at two issuers is two principals", async (stores) => {
      const { identity } = stores;
      const other = "https://other.example";
      await identity.createPrincipalForSubject(principal("ann"), { issuer: ISSUER, subject: "1" });
      await identity.createPrincipalForSubject(principal("bob"), { issuer: other, subject: "1" });
      expect((await identity.findPrincipalBySubject(ISSUER, "1"))?.name).toBe("ann");
      expect((await identity.findPrincipalBySubject(other, "1"))?.name).toBe("bob");
    });

    it("a used name is principal_exists: nobody is taken over by it, and the subject stays unknown", async (stores) => {
      const { identity } = stores;
      const local = principal("ann", { role: "admin" });
      await identity.createPrincipal(local, null);
      const attempt = identity.createPrincipalForSubject(principal("ann", { id: "other" }), {
        issuer: ISSUER,
        subject: "42",
      });
      expect(await codeOf(attempt)).toBe("principal_exists");
      expect(await identity.findPrincipalBySubject(ISSUER, "42")).toBeNull();
      expect((await identity.listPrincipals(PAGE)).rows).toEqual([local]);
    });

    it("of two sign-ins at once one makes the principal and the other gets the same", async (left) => {
      const right = await left.open();
      const subject = { issuer: ISSUER, subject: "42" };
      const [first, second] = await Promise.all([
        left.identity.createPrincipalForSubject(principal("ann"), subject),
        right.identity.createPrincipalForSubject(principal("ann", { id: "late" }), subject),
      ]);
      expect(second).toEqual(first);
      expect(await left.identity.countPrincipals()).toBe(1);
    });

    it("a principal is found as it is now: disabled and promoted at once, gone after its deletion", async (left) => {
      const right = await left.open();
      const subject = { issuer: ISSUER, subject: "42" };
      await left.identity.createPrincipalForSubject(principal("ann"), subject);
      await right.identity.updatePrincipal("principal-ann", { role: "admin" }, null);
      await right.identity.createPrincipal(principal("root", { role: "admin" }), null);
      await right.identity.updatePrincipal("principal-ann", { enabled: false }, null);
      expect(await left.identity.findPrincipalBySubject(ISSUER, "42")).toEqual(
        principal("ann", { role: "admin", enabled: false }),
      );
      await right.identity.deletePrincipal("principal-ann", null);
      expect(await left.identity.findPrincipalBySubject(ISSUER, "42")).toBeNull();
      const again = await left.identity.createPrincipalForSubject(principal("ann", { id: "new" }), subject);
      expect(again.id).toBe("new");
    });

    it("a subject without an issuer or without a text is a bug that leaves no principal behind", async (stores) => {
      const { identity } = stores;
      for (const subject of [
        { issuer: "", subject: "42" },
        { issuer: ISSUER, subject: "" },
      ]) {
        expect(await codeOf(identity.createPrincipalForSubject(principal("ann"), subject))).toBe("bug");
      }
      expect(await identity.countPrincipals()).toBe(0);
    });
  });
}
