import { describe, expect, test } from "bun:test";
import { openCredential, sealCredential } from "#catalog/provider.ts";
import { createSecretBox } from "#kernel/crypto.ts";
import { createKeyring } from "#kernel/keyring.ts";
import { requireOwnSecret } from "#storage/postgres/catalog/secret-state.ts";
import { rotateSecret } from "#storage/postgres/catalog/rotate-secret.ts";
import { postgresMissing } from "../../support/postgres.ts";
import { apiKey, codeOf, PAGE, principal, provider, relayToken, START_US } from "../support.ts";
import { createPostgresCatalog, type PostgresStores } from "./catalog-engine.ts";
import { failureOf } from "./support.ts";

const SECRETS = [1, 2].map((byte) => new Uint8Array(32).fill(byte));
/** A keyring that finds each of the secrets by its check value, as one that reads secret.key does. */
const toKeyring = (secret = SECRETS[0]!) =>
  createKeyring(
    secret,
    (checkValue) => SECRETS.find((one) => createSecretBox(one).checkValue === checkValue) ?? null,
  );

describe.skipIf(postgresMissing !== null)("two replicas on PostgreSQL", () => {
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
