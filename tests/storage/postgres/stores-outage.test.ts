import { expect, test } from "bun:test";
import { ProxyError } from "#kernel/errors.ts";
import { describeCause } from "#kernel/log.ts";
import { postgresMissing, sharedPostgres } from "../../support/postgres.ts";
import { busyLimit, timed } from "../../support/waiting.ts";
import { apiKey, AUDIT, newLimit, PAGE, principal, provider, START_US } from "../support.ts";
import { createPostgresCatalog } from "./catalog-engine.ts";
import { failureOf } from "./support.ts";

/** With the limits of a call and of a mutation; far below what a test may take. */
const FAILS_MS_MAX = 5_000;

test.skipIf(postgresMissing !== null)(
  "while PostgreSQL is away a key, the catalog and limits are told from memory; all else is internal_error within 5 s that names nothing, and works again afterwards",
  async () => {
    await using engine = createPostgresCatalog();
    const { identity, catalog, limits, notices, audit } = await engine.open();
    await identity.createPrincipal(principal("ann"), null);
    await identity.keys.create(apiKey("one", "principal-ann"), null);
    await limits.create(newLimit("daily"), null);
    const server = await sharedPostgres();
    await server.stop("immediate");
    try {
      expect(identity.keys.peekByHash("hash-one")?.principal.name).toBe("ann");
      expect((await identity.keys.findByHash("hash-one"))?.secret.id).toBe("key-one");
      expect(await identity.keys.findByHash("hash-unknown")).toBeNull();
      expect((await identity.keys.findNames(["key-one"])).size).toBe(1);
      expect(catalog.peek()).not.toBeNull();
      expect((await limits.snapshot()).limits).toHaveLength(1);
      const session = { tokenHash: "s", principalId: "principal-ann", cookieIssuedAtUs: 1, expiresAtUs: 2 };
      const asked: readonly (() => Promise<unknown>)[] = [
        () => identity.findSession("s", START_US),
        () => identity.createSession(session, START_US),
        () => identity.takeLoginLink("t", START_US),
        () => identity.listPrincipals(PAGE),
        () => identity.findPrincipalByName("ann"),
        () => identity.keys.list({}, PAGE),
        () => notices.list(),
        () => notices.put([], START_US),
        () => audit.listEvents(PAGE),
        () => identity.createPrincipal(principal("bob"), AUDIT),
        () => identity.keys.delete({ id: "key-one" }, AUDIT),
        () => identity.revokeSessions("principal-ann", AUDIT),
        () => limits.delete("limit-daily", AUDIT),
        () =>
          catalog.change(() => ({
            writes: [{ kind: "put_provider", provider: provider("p") }],
            audit: [AUDIT],
            result: () => null,
          })),
      ];
      for (const ask of asked) {
        const { result: failure, tookMs } = await timed(() => failureOf(ask()));
        expect(failure).toBeInstanceOf(ProxyError);
        expect(failure).toMatchObject({ code: "internal_error" });
        expect(tookMs).toBeLessThan(busyLimit(FAILS_MS_MAX));
        const told = `${String(failure)} ${JSON.stringify(describeCause(failure))}`;
        expect(told).not.toMatch(/postgres:|127\.0\.0\.1|\bann\b|select|insert/i);
      }
    } finally {
      await server.start();
    }
    expect(identity.keys.peekByHash("hash-one")).not.toBeNull();
    expect((await audit.listEvents(PAGE)).total).toBe(0);
    await identity.createPrincipal(principal("bob"), AUDIT);
    await identity.keys.delete({ id: "key-one" }, AUDIT);
    expect(await identity.keys.findByHash("hash-one")).toBeNull();
    expect((await audit.listEvents(PAGE)).total).toBe(2);
  },
  60_000,
);
