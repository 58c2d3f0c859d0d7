import { describe, expect, test } from "bun:test";
import { postgresMissing } from "../../support/postgres.ts";
import { apiKey, AUDIT, codeOf, insist, newLimit, PAGE, principal, provider, START_US } from "../support.ts";
import { createPostgresCatalog, type PostgresStores } from "./catalog-engine.ts";

describe.skipIf(postgresMissing !== null)("two replicas on PostgreSQL", () => {
  test("that make the same name at once: one makes it, the other is refused, for principals, limits, models and providers", async () => {
    await using engine = createPostgresCatalog();
    const [left, right] = [await engine.open(), await engine.open()];
    const both = async (attempt: (stores: PostgresStores, id: string) => Promise<unknown>) => {
      const attempts = [left, right].map((stores, at) => codeOf(insist(() => attempt(stores, `id-${at}`))));
      return (await Promise.all(attempts)).map((code) => code ?? "").toSorted();
    };
    expect(
      await both((stores, id) => stores.identity.createPrincipal(principal("ann", { id }), AUDIT)),
    ).toEqual(["", "principal_exists"]);
    expect(await both((stores, id) => stores.limits.create(newLimit("monthly", { id }), AUDIT))).toEqual([
      "",
      "limit_exists",
    ]);
    // A plan sees what the other replica has committed before it.
    const addOnce = ({ catalog }: PostgresStores, id: string) =>
      catalog.change((current) => {
        if (current.findProvider("one") !== null) throw new TypeError("exists");
        return {
          writes: [{ kind: "put_provider", provider: provider("one", { id }) }],
          audit: [AUDIT],
          result: () => null,
        };
      });
    expect(await both(addOnce)).toEqual(["", "bug"]);
    expect((await left.catalog.snapshot()).providers).toHaveLength(1);
    expect((await right.audit.listEvents(PAGE)).total).toBe(3);
  });

  test("that delete the last two admins at once leave one, and ten at once of ten leave one", async () => {
    await using engine = createPostgresCatalog();
    const replicas = [await engine.open(), await engine.open()];
    const names = Array.from({ length: 10 }, (_, at) => `admin-${at}`);
    for (const name of names)
      await replicas[0]!.identity.createPrincipal(principal(name, { role: "admin" }), null);
    const codes = await Promise.all(
      names.map((name, at) =>
        codeOf(
          insist<unknown>(() =>
            at % 3 === 0
              ? replicas[at % 2]!.identity.updatePrincipal(`principal-${name}`, { enabled: false }, AUDIT)
              : replicas[at % 2]!.identity.deletePrincipal(`principal-${name}`, AUDIT),
          ),
        ),
      ),
    );
    expect(codes.filter((code) => code === null)).toHaveLength(9);
    expect(codes.filter((code) => code === "last_admin")).toHaveLength(1);
    const { rows } = await replicas[1]!.identity.listPrincipals(PAGE);
    expect(rows.filter(({ role, enabled }) => role === "admin" && enabled)).toHaveLength(1);
    expect((await replicas[0]!.audit.listEvents(PAGE)).total).toBe(9);
  });

  test("that change ten things each at once: all are there, on both, audited in the order of their commits", async () => {
    await using engine = createPostgresCatalog();
    const replicas = [await engine.open(), await engine.open()];
    await replicas[0]!.identity.createPrincipal(principal("ann"), null);
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        insist(() =>
          replicas[at % 2]!.identity.keys.create(apiKey(`k${at}`, "principal-ann"), {
            ...AUDIT,
            targetRef: `${at}`,
          }),
        ),
      ),
    );
    for (const { identity, audit } of replicas) {
      for (let at = 0; at < 20; at += 1) expect(identity.keys.peekByHash(`hash-k${at}`)).not.toBeNull();
      const refs = (await audit.listEvents(PAGE)).rows.map(({ targetRef }) => Number(targetRef));
      expect(refs.toSorted((left, right) => left - right)).toEqual(Array.from({ length: 20 }, (_, at) => at));
    }
  });

  test("that are shown one login link at once: one of all calls gets it, and an expired one is nobody's", async () => {
    await using engine = createPostgresCatalog();
    const replicas = [await engine.open(), await engine.open()];
    const { identity } = replicas[0]!;
    await identity.createPrincipal(principal("ann"), null);
    const link = (tokenHash: string, ttlUs: number) => ({
      tokenHash,
      principalId: "principal-ann",
      createdAtUs: START_US,
      expiresAtUs: START_US + ttlUs,
    });
    await identity.createLoginLink(link("good", 10), START_US);
    await identity.createLoginLink(link("late", 5), START_US);
    const taken = await Promise.all(
      Array.from({ length: 12 }, (_, at) => replicas[at % 2]!.identity.takeLoginLink("good", START_US + 1)),
    );
    expect(taken.filter((owner) => owner !== null)).toEqual([principal("ann")]);
    expect(await identity.takeLoginLink("late", START_US + 5)).toBeNull();
    expect(await identity.takeLoginLink("late", START_US + 1)).toBeNull();
    expect(await identity.takeLoginLink("guess", START_US)).toBeNull();
    const missing = { ...link("more", 10), principalId: "principal-bob" };
    expect(await codeOf(identity.createLoginLink(missing, START_US))).toBe("principal_not_found");
  });

  test("that revoke sessions: none of them is found on the other, and login links that wait are gone", async () => {
    await using engine = createPostgresCatalog();
    const [left, right] = [await engine.open(), await engine.open()];
    await left.identity.createPrincipal(principal("ann"), null);
    const session = (tokenHash: string) => ({
      tokenHash,
      principalId: "principal-ann",
      cookieIssuedAtUs: START_US,
      expiresAtUs: START_US + 10,
    });
    for (const hash of ["one", "two", "kept"]) await left.identity.createSession(session(hash), START_US);
    await left.identity.createLoginLink(
      { tokenHash: "link", principalId: "principal-ann", createdAtUs: START_US, expiresAtUs: START_US + 10 },
      START_US,
    );
    expect(await right.identity.listSessions(null, START_US)).toHaveLength(3);
    expect(await right.identity.revokeSessions("principal-ann", AUDIT, "kept")).toBe(2);
    expect(await left.identity.findSession("one", START_US)).toBeNull();
    expect((await left.identity.findSession("kept", START_US))?.principal).toEqual(principal("ann"));
    expect(await left.identity.takeLoginLink("link", START_US)).toBeNull();
    expect((await left.audit.listEvents(PAGE)).total).toBe(1);
  });
});

describe.skipIf(postgresMissing !== null)("PostgreSQL holds", () => {
  test("10,000 limits at most, and one deleted makes room", async () => {
    await using engine = createPostgresCatalog();
    const database = await engine.database();
    await database.run(
      `INSERT INTO limits (id, name, former_models, measure, amount, "window", action, unpriced, enabled, fixed, created_at_us)
      SELECT at::text, at::text, '[]', 'requests', '5', 'day', 'refuse', 'allow', true, false, at FROM generate_series(1, 9999) AS at`,
    );
    const { limits, audit } = await engine.open();
    await limits.create(newLimit("last"), null);
    expect(await codeOf(limits.create(newLimit("more"), AUDIT))).toBe("too_many_limits");
    await limits.delete("limit-last", null);
    await limits.create(newLimit("more"), AUDIT);
    expect((await limits.snapshot()).limits).toHaveLength(10_000);
    expect((await audit.listEvents(PAGE)).total).toBe(1);
  });

  test("no NUL: a text with one is found nowhere and refused as any unknown one, and is written as U+FFFD", async () => {
    await using engine = createPostgresCatalog();
    const { identity, limits, catalog } = await engine.open();
    await identity.createPrincipal(principal("ann"), null);
    expect(await identity.findPrincipalByName("ann\0")).toBeNull();
    expect(await identity.findPrincipalBySubject("\0", "\0")).toBeNull();
    expect(await identity.listSessions("\0", START_US)).toEqual([]);
    expect(await codeOf(identity.keys.delete({ id: "key\0" }, null))).toBe("key_not_found");
    expect(await codeOf(limits.delete("\0", null))).toBe("limit_not_found");
    expect((await identity.keys.findNames(["\0"])).size).toBe(0);
    await identity.keys.create(apiKey("one", "principal-ann", { label: "a\0b" }), null);
    expect(identity.keys.peekByHash("hash-one")?.secret.label).toBe("a\ufffdb");
    const certified = provider("p", { caPem: "a\0b" });
    await catalog.change(() => ({
      writes: [{ kind: "put_provider", provider: certified }],
      audit: [],
      result: () => null,
    }));
    expect(catalog.peek()?.findProvider("p")?.caPem).toBe("a\ufffdb");
  });
});
