import { describe, expect, test } from "bun:test";
import { postgresMissing } from "../../support/postgres.ts";
import { apiKey, AUDIT, codeOf, newLimit, PAGE, principal, provider, START_US } from "../support.ts";
import { createPostgresCatalog } from "./catalog-engine.ts";

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
