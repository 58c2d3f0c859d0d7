import { describe, expect } from "bun:test";
import { toPromises } from "./promises.ts";
import { apiKey, AUDIT, codeOf, PAGE, principal, START_US, type CatalogEngine } from "./support.ts";

const session = (name: string, ttlUs = 100, owner = "ann") => ({
  tokenHash: name,
  principalId: `principal-${owner}`,
  cookieIssuedAtUs: START_US,
  expiresAtUs: START_US + ttlUs,
});

const link = (tokenHash: string, ttlUs: number, owner = "ann") => ({
  tokenHash,
  principalId: `principal-${owner}`,
  createdAtUs: START_US,
  expiresAtUs: START_US + ttlUs,
});

/** Sessions and login links. */
export function testSessionsContract(engineName: string, createEngine: () => CatalogEngine): void {
  const it = toPromises(createEngine, "ann", "bob");

  describe(`${engineName}: a session`, () => {
    it("knows the newest of its cookies that was used: an older one, or that of another session, changes nothing", async (stores) => {
      const { identity } = stores;
      for (const name of ["one", "two"]) await identity.createSession(session(name), START_US);
      await identity.advanceSession("one", START_US + 20);
      await identity.advanceSession("one", START_US + 10);
      await identity.advanceSession("unknown", START_US + 30);
      const found = async (name: string) => (await identity.findSession(name, START_US))?.session;
      expect(await found("one")).toEqual({ ...session("one"), cookieIssuedAtUs: START_US + 20 });
      expect(await found("two")).toEqual(session("two"));
      expect(await found("unknown")).toBeUndefined();
    });

    it("is found with its principal until the moment it expires, and never afterwards", async (stores) => {
      const { identity } = stores;
      await identity.createSession(session("one"), START_US);
      expect(await identity.findSession("one", START_US + 99)).toEqual({
        session: session("one"),
        principal: principal("ann"),
      });
      expect(await identity.findSession("one", START_US + 100)).toBeNull();
      expect(await identity.findSession("two", START_US)).toBeNull();
    });

    it("that is new clears expired ones away and leaves living ones; one that is refused clears nothing away", async (stores) => {
      const { identity } = stores;
      await identity.createSession(session("ended"), START_US);
      await identity.createSession(session("living", 101), START_US);
      const later = START_US + 100;
      for (const [row, code] of [
        [session("other", 900, "nobody"), "principal_not_found"],
        [session("living", 900), "bug"],
      ] as const) {
        expect(await codeOf(identity.createSession(row, later))).toBe(code);
        expect(await identity.findSession("ended", START_US)).not.toBeNull();
      }
      await identity.createSession(session("new", 900), later);
      // Asked as of an earlier moment, so that only a removed row can be missing.
      expect(await identity.findSession("ended", START_US)).toBeNull();
      expect(await identity.findSession("living", START_US)).not.toBeNull();
      // Its token is free once it has ended.
      await identity.createSession(session("living", 900), START_US + 101);
      expect(await identity.findSession("living", START_US + 101)).not.toBeNull();
    });

    it("that is deleted is gone at the very next look-up, and deleting it again is no error", async (left) => {
      const right = await left.open();
      await left.identity.createSession(session("one"), START_US);
      expect(await right.identity.findSession("one", START_US)).not.toBeNull();
      await left.identity.deleteSession("one");
      await left.identity.deleteSession("one");
      expect(await right.identity.findSession("one", START_US)).toBeNull();
    });

    it("is revoked with all of its principal and their login links but the one that is kept, none of another's, and no key", async (left) => {
      const right = await left.open();
      await left.identity.keys.create(apiKey("one", "principal-ann"), null);
      for (const name of ["one", "two", "kept"]) await left.identity.createSession(session(name), START_US);
      await left.identity.createSession(session("bobs", 100, "bob"), START_US);
      await left.identity.createLoginLink(link("link", 10), START_US);
      expect(await right.identity.listSessions(null, START_US)).toHaveLength(4);
      const entry = { ...AUDIT, action: "session.revoke" } as const;
      expect(await right.identity.revokeSessions("principal-ann", entry, "kept")).toBe(2);
      for (const name of ["one", "two"]) expect(await left.identity.findSession(name, START_US)).toBeNull();
      expect((await left.identity.findSession("kept", START_US))?.principal).toEqual(principal("ann"));
      expect(await left.identity.findSession("bobs", START_US)).not.toBeNull();
      expect(await left.identity.takeLoginLink("link", START_US)).toBeNull();
      expect(await left.identity.keys.findByHash("hash-one")).not.toBeNull();
      expect(await left.identity.revokeSessions("principal-ann", null)).toBe(1);
      expect((await left.audit.listEvents(PAGE)).rows.map(({ action }) => action)).toEqual([
        "session.revoke",
      ]);
    });

    it("of a principal that is deleted is gone, and none can be made for it", async ({ identity }) => {
      await identity.createSession(session("one"), START_US);
      await identity.deletePrincipal("principal-ann", null);
      expect(await identity.findSession("one", START_US)).toBeNull();
      expect(await codeOf(identity.createSession(session("two"), START_US))).toBe("principal_not_found");
    });
  });

  describe(`${engineName}: a login link`, () => {
    it("is given to one of all calls that show it at once, and no longer once it has expired", async (left) => {
      const both = [left, await left.open()] as const;
      const { identity } = left;
      await identity.createLoginLink(link("good", 10), START_US);
      await identity.createLoginLink(link("late", 5), START_US);
      const taken = await Promise.all(
        Array.from({ length: 12 }, (_, at) => both[at % 2]!.identity.takeLoginLink("good", START_US + 1)),
      );
      expect(taken.filter((owner) => owner !== null)).toEqual([principal("ann")]);
      expect(await identity.takeLoginLink("late", START_US + 5)).toBeNull();
      expect(await identity.takeLoginLink("late", START_US + 1)).toBeNull();
      expect(await identity.takeLoginLink("guess", START_US)).toBeNull();
      expect(await codeOf(identity.createLoginLink(link("more", 10, "nobody"), START_US))).toBe(
        "principal_not_found",
      );
    });

    it("that is new clears expired ones away", async ({ identity }) => {
      await identity.createLoginLink(link("ended", 10), START_US);
      await identity.createLoginLink(link("new", 90), START_US + 10);
      // Asked as of an earlier moment, so that only a removed row can be missing.
      expect(await identity.takeLoginLink("ended", START_US)).toBeNull();
      expect(await identity.takeLoginLink("new", START_US + 10)).toEqual(principal("ann"));
    });
  });
}
