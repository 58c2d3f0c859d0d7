import { describe, expect, test } from "bun:test";
import { openCredential, sealCredential } from "#catalog/provider.ts";
import type { CatalogWrite } from "#catalog/store.ts";
import { createSecretBox } from "#kernel/crypto.ts";
import { createKeyring } from "#kernel/keyring.ts";
import { requireOwnSecret } from "#storage/postgres/catalog/secret-state.ts";
import { rotateSecret } from "#storage/postgres/catalog/rotate-secret.ts";
import { toNotice } from "#notices/notice.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { postgresMissing } from "../../support/postgres.ts";
import {
  apiKey,
  AUDIT,
  boundModel,
  codeOf,
  newLimit,
  PAGE,
  principal,
  provider,
  relayToken,
  START_US,
} from "../support.ts";
import { createPostgresCatalog, type PostgresStores } from "./catalog-engine.ts";
import { failureOf } from "./support.ts";

const SECRETS = [1, 2].map((byte) => new Uint8Array(32).fill(byte));
/** A keyring that finds each of the secrets by its check value, as one that reads secret.key does. */
const toKeyring = (secret = SECRETS[0]!) =>
  createKeyring(
    secret,
    (checkValue) => SECRETS.find((one) => createSecretBox(one).checkValue === checkValue) ?? null,
  );

/** The transaction, which tells of each statement that reads. */
function watch(tx: Transaction, onStatement: (text: string) => void): Transaction {
  return {
    ...tx,
    all: <Row>(text: string, bindings?: Parameters<Transaction["all"]>[1]) => {
      onStatement(text);
      return tx.all<Row>(text, bindings);
    },
    parts: <Row>(query: Parameters<Transaction["parts"]>[0]) => {
      onStatement(query.text);
      return tx.parts<Row>(query);
    },
  };
}

describe.skipIf(postgresMissing !== null)("two replicas on PostgreSQL", () => {
  test("that make the same name at once: one makes it, the other is refused, for principals, limits, models and providers", async () => {
    await using engine = createPostgresCatalog();
    const [left, right] = [await engine.open(), await engine.open()];
    const both = async (attempt: (stores: PostgresStores, id: string) => Promise<unknown>) => {
      const attempts = [left, right].map((stores, at) => codeOf(attempt(stores, `id-${at}`)));
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
          at % 3 === 0
            ? replicas[at % 2]!.identity.updatePrincipal(`principal-${name}`, { enabled: false }, AUDIT)
            : replicas[at % 2]!.identity.deletePrincipal(`principal-${name}`, AUDIT),
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
        replicas[at % 2]!.identity.keys.create(apiKey(`k${at}`, "principal-ann"), {
          ...AUDIT,
          targetRef: `${at}`,
        }),
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

  test("that have the same to tell at once: one of them puts it, and numbers follow the order in which all are listed", async () => {
    await using engine = createPostgresCatalog();
    const replicas = [await engine.open(), await engine.open()];
    const told = (text: string) => ({
      notice: toNotice({ type: "price.missing", text, facts: { model: text } }, `id-${text}`, START_US),
      mark: { name: "window", untilUs: START_US + 10 },
    });
    const put = await Promise.all(
      Array.from({ length: 6 }, (_, at) =>
        replicas[at % 2]!.notices.put([told(`${at}`), { ...told(`free ${at}`), mark: null }], START_US),
      ),
    );
    expect(put.filter(({ length }) => length === 2)).toHaveLength(1);
    expect(put.flat()).toHaveLength(7);
    const sequences = put.flat().map(({ sequence }) => sequence);
    const listed = (await replicas[1]!.notices.list()).map(({ sequence }) => sequence);
    expect(listed).toEqual(sequences.toSorted((left, right) => left - right));
    expect(await replicas[0]!.notices.listMarks("window")).toEqual(["window"]);
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

  test("where one rotates the secret key: the other follows in the same turn as its credentials, keys go on, sessions end", async () => {
    await using engine = createPostgresCatalog();
    const [secrets, otherSecrets] = [toKeyring(), toKeyring()];
    const [left, right] = [await engine.open({ secrets }), await engine.open({ secrets: otherSecrets })];
    const { identity } = left;
    await identity.createPrincipal(principal("ann"), null);
    await identity.keys.create(apiKey("one", "principal-ann"), null);
    await identity.createSession(
      { tokenHash: "s", principalId: "principal-ann", cookieIssuedAtUs: 1, expiresAtUs: START_US + 1 },
      START_US,
    );
    const sealed = provider("p");
    await left.catalog.change(() => ({
      writes: [
        {
          kind: "put_provider",
          provider: { ...sealed, sealedCredential: sealCredential(secrets, sealed, "sk-upstream") },
        },
      ],
      audit: [],
      result: () => null,
    }));
    const next = createSecretBox(SECRETS[1]!);
    const rotate = (revokesKeys: boolean) =>
      rotateSecret({ freshness: left.freshness, secrets, next, revokesKeys, clock: engine.clock });
    expect(await rotate(false)).toEqual({ credentials: 1, sessions: 1, revokedKeys: 0 });

    for (const [stores, ring] of [
      [left, secrets],
      [right, otherSecrets],
    ] as const) {
      expect(ring.checkValue).toBe(next.checkValue);
      const stored = stores.catalog.peek()!.findProvider("p")!;
      expect(openCredential(next, stored)).toBe("sk-upstream");
      expect(openCredential(ring, stored)).toBe("sk-upstream");
      expect(ring.formerHashes("token")).toEqual([createSecretBox(SECRETS[0]!).hashToken("token")]);
      expect(stores.identity.keys.peekByHash("hash-one")).not.toBeNull();
      expect(await stores.identity.findSession("s", START_US)).toBeNull();
    }
    expect((await right.audit.listEvents(PAGE)).rows.map(({ action }) => action)).toEqual([
      "secret_key.rotate",
    ]);
    // A replica that starts now has to know the new one.
    const database = await engine.database();
    expect(await failureOf(requireOwnSecret(database, createKeyring(SECRETS[0]!)))).toMatchObject({
      name: "SetupError",
      kind: "configuration",
    });
    await requireOwnSecret(database, toKeyring());
  });

  test("seal nothing by a secret that was rotated a moment ago, before they were told of it", async () => {
    await using engine = createPostgresCatalog();
    const [secrets, otherSecrets] = [toKeyring(), toKeyring()];
    const [left, right] = [
      await engine.open({ secrets: otherSecrets }),
      await engine.open({ secrets: createKeyring(SECRETS[0]!) }),
    ];
    const next = createSecretBox(SECRETS[1]!);
    const database = await engine.database();
    const untold = {
      mutate: async <R>(step: Parameters<typeof left.freshness.mutate<R>>[0]) =>
        (await database.transaction(step)).result,
    };
    await rotateSecret({ freshness: untold, secrets, next, revokesKeys: false, clock: engine.clock });
    const add = ({ catalog }: PostgresStores, name: string) =>
      catalog.change(() => {
        const made = provider(name);
        const sealedCredential = sealCredential(otherSecrets, made, "sk-upstream");
        return {
          writes: [{ kind: "put_provider", provider: { ...made, sealedCredential } }],
          audit: [],
          result: () => null,
        };
      });
    await add(left, "one");
    expect(openCredential(next, left.catalog.peek()!.findProvider("one")!)).toBe("sk-upstream");
    // A server that does not find the new one changes nothing.
    expect(await codeOf(add(right, "two"))).toBe("internal_error");
    expect((await left.catalog.snapshot()).findProvider("two")).toBeNull();
  });

  test("where one rotates and revokes: no key or token is left on the other; a second rotation from the former secret is refused", async () => {
    await using engine = createPostgresCatalog();
    const [secrets, otherSecrets] = [toKeyring(), toKeyring()];
    const [left, right] = [await engine.open({ secrets }), await engine.open({ secrets: otherSecrets })];
    await left.identity.createPrincipal(principal("ann"), null);
    await left.identity.keys.create(apiKey("one", "principal-ann"), null);
    await left.identity.relayTokens.create(relayToken("two", "principal-ann"), null);
    const next = createSecretBox(SECRETS[1]!);
    const rotate = (revokesKeys: boolean, from = secrets) =>
      rotateSecret({ freshness: left.freshness, secrets: from, next, revokesKeys, clock: engine.clock });
    expect(await rotate(true)).toEqual({ credentials: 0, sessions: 0, revokedKeys: 2 });
    expect(right.identity.keys.peekByHash("hash-one")).toBeNull();
    expect(right.identity.relayTokens.peekByHash("hash-two")).toBeNull();
    expect((await right.identity.keys.list({}, PAGE)).total).toBe(0);
    const actions = (await right.audit.listEvents(PAGE)).rows.map(({ action }) => action);
    expect(actions).toEqual(["secret_key.rotate", "relay_token.delete", "key.delete"]);
    const late = createKeyring(SECRETS[0]!);
    expect(await failureOf(rotate(false, late))).toMatchObject({ name: "SetupError" });
    expect((await right.audit.listEvents(PAGE)).total).toBe(3);
  });
});

describe.skipIf(postgresMissing !== null)("PostgreSQL holds", () => {
  test("10,000 limits at most, and one deleted makes room", async () => {
    await using engine = createPostgresCatalog();
    const database = await engine.database();
    await database.run(
      `INSERT INTO limits (id, name, former_models, measure, amount, "window", action, unpriced, enabled, created_at_us)
      SELECT at::text, at::text, '[]', 'requests', '5', 'day', 'refuse', 'allow', true, at FROM generate_series(1, 9999) AS at`,
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

  test("more prices than a statement binds values, written and removed by one change each; a text that is no Unicode is replaced", async () => {
    await using engine = createPostgresCatalog();
    const { catalog, identity, notices } = await engine.open();
    const names = Array.from({ length: 66_000 }, (_, at) => `n${at}`);
    const change = (writes: readonly CatalogWrite[]) =>
      catalog.change(() => ({ writes, audit: [AUDIT], result: ({ priceCount }) => priceCount }));
    const puts = names.map(
      (name, at) =>
        ({
          kind: "put_price",
          price: { name, unit: "input_tokens", pricePico: at, feedVersion: at === 7 ? "lone \ud800" : null },
        }) as const,
    );
    expect(await change(puts)).toBe(names.length);
    expect(catalog.peek()!.findPrice("n7", "input_tokens")?.feedVersion).toBe("lone \ufffd");
    expect(catalog.peek()!.findPrice("n65999", "input_tokens")?.pricePico).toBe(65_999);
    expect(await change(names.map((name) => ({ kind: "delete_price", name, unit: "input_tokens" })))).toBe(0);
    expect(await identity.keys.findNames(names)).toEqual(new Map());
    await notices.remove(names.map((_, at) => at));
  });
});

describe.skipIf(postgresMissing !== null)("what a replica remembers", () => {
  test("is told without a promise while it is trusted, and otherwise only after the database was asked", async () => {
    await using engine = createPostgresCatalog();
    const { identity, catalog, limits } = await engine.open();
    await identity.createPrincipal(principal("ann"), null);
    await identity.keys.create(apiKey("one", "principal-ann"), null);
    expect(identity.keys.peekByHash("hash-one")?.principal).toEqual(principal("ann"));
    expect(catalog.peek()).toBe(await catalog.snapshot());
    expect(limits.peek()).toBe(await limits.snapshot());
    const asking = await engine.open({ graceMs: 0 });
    const peeked = [asking.identity.keys.peekByHash("hash-one"), asking.catalog.peek(), asking.limits.peek()];
    expect(peeked).toEqual([null, null, null]);
    expect((await asking.identity.keys.findByHash("hash-one"))?.secret.id).toBe("key-one");
    expect((await asking.catalog.snapshot()).providers).toEqual([]);
    expect((await asking.limits.snapshot()).limits).toEqual([]);
    await identity.keys.delete({ id: "key-one" }, null);
    expect(await asking.identity.keys.findByHash("hash-one")).toBeNull();
  });

  test("changes as a whole: while a change is read nobody sees a part of it, and one that fails leaves all as it was", async () => {
    await using engine = createPostgresCatalog();
    const { identity, catalog, memory } = await engine.open();
    await identity.createPrincipal(principal("ann"), null);
    await identity.keys.create(apiKey("one", "principal-ann"), null);
    const database = await engine.database();
    await database.run(`UPDATE principals SET enabled = false; UPDATE api_keys SET label = 'other'`);
    await database.run(
      `INSERT INTO providers (id, name, wire_format, base_url, endpoints, verify_tls, timeout_connect_seconds, timeout_read_seconds, enabled, created_at_us)
      VALUES ('p', 'p', 'openai', 'https://p.example/v1', '{}', true, 1, 1, true, 1)`,
    );
    const look = () => {
      const found = identity.keys.peekByHash("hash-one");
      return [found?.principal.enabled, found?.secret.label, catalog.peek()?.providers.length];
    };
    const kinds = ["principal", "key", "catalog", "limit", "secret"] as const;
    const changes = kinds.map((kind) => ({ kind, id: null }));
    const seen: unknown[] = [];
    const apply = (failsAt: number) =>
      database.transaction((tx) =>
        memory.apply(
          watch(tx, () => {
            seen.push(look());
            if (seen.length === failsAt) throw new Error("lost");
          }),
          changes,
        ),
      );
    expect(String(await failureOf(apply(4)))).toContain("lost");
    expect(look()).toEqual([true, "one", 0]);
    await apply(Infinity);
    expect(seen.length).toBeGreaterThan(8);
    expect(new Set(seen.map((one) => JSON.stringify(one)))).toEqual(new Set(['[true,"one",0]']));
    expect(look()).toEqual([false, "other", 1]);
  });

  test("of a catalog keeps its prices while none changes, and of what it changed itself nothing is read twice", async () => {
    await using engine = createPostgresCatalog();
    const [left, right] = [await engine.open(), await engine.open()];
    const change = (alias: string) =>
      left.catalog.change(() => ({
        writes: [
          { kind: "put_provider", provider: provider("p") },
          { kind: "put_model", model: boundModel(alias, "provider-p") },
        ],
        audit: [],
        result: (after) => after,
      }));
    await left.catalog.change(() => ({
      writes: [
        { kind: "put_price", price: { name: "m", unit: "input_tokens", pricePico: 1, feedVersion: null } },
      ],
      audit: [],
      result: () => null,
    }));
    const prices = right.catalog.peek()!.prices;
    const after = await change("m");
    expect(left.catalog.peek() === after).toBe(true);
    expect(right.catalog.peek()!.findModel("m")?.prices).toEqual({ input_tokens: 1 });
    expect(right.catalog.peek()!.prices).toBe(prices);
    const text: string[] = [];
    const database = await engine.database();
    await database.transaction((tx) =>
      right.memory.apply(
        watch(tx, (statement) => text.push(statement)),
        [{ kind: "catalog", id: null }],
      ),
    );
    expect(text).toHaveLength(1);
    // What is rolled back is never remembered.
    const before = left.catalog.peek();
    const failing = left.catalog.change(() => ({
      writes: [
        { kind: "put_model", model: boundModel("n", "provider-p") },
        { kind: "delete_provider", id: "provider-p" },
      ],
      audit: [],
      result: () => null,
    }));
    expect(await codeOf(failing)).toBe("bug");
    expect(left.catalog.peek()).toBe(before);
  });
});
