import { describe, expect, test } from "bun:test";
import { findFormer, openCredential, sealCredential, sealFormer } from "#catalog/provider.ts";
import { FORMER_CREDENTIAL_US } from "#catalog/provider-fields.ts";
import { createSecretBox, createKeyring, type Keyring } from "#kernel/crypto.ts";
import { rotateSecret } from "#storage/catalog/rotation.ts";
import {
  apiKey,
  type CatalogEngine,
  codeOf,
  type OpenedCatalog,
  PAGE,
  principal,
  provider,
  put,
  relayToken,
  START_US,
} from "./support.ts";

const FORMER = new Uint8Array(32).fill(1);
const NEXT = new Uint8Array(32).fill(2);

/** Rotation of the secret key by one connection, as a command does it, beside others. */
export function testRotationContract(engineName: string, createEngine: () => CatalogEngine): void {
  describe(`${engineName}: the secret key`, () => {
    const next = createSecretBox(NEXT);
    /** A process finds the next secret where the installation keeps it. */
    const toKeyring = () =>
      createKeyring(FORMER, (checkValue) => (checkValue === next.checkValue ? NEXT : null));
    const openThree = async (engine: CatalogEngine) => {
      const keyrings = [toKeyring(), toKeyring(), toKeyring()] as const;
      const [left, right, command] = [
        await engine.open({ secrets: keyrings[0] }),
        await engine.open({ secrets: keyrings[1] }),
        await engine.open({ secrets: keyrings[2] }),
      ];
      await left.identity.createPrincipal(principal("ann"), null);
      await left.identity.keys.create(apiKey("one", "principal-ann"), null);
      await left.identity.relayTokens.create(relayToken("two", "principal-ann"), null);
      const rotate = (revokesKeys: boolean, secrets = keyrings[2]) =>
        command.change(() => rotateSecret({ secrets, next, revokesKeys }));
      return { left, right, keyrings, rotate };
    };

    test("that is rotated is followed by the others: credentials open, sessions have ended, keys go on", async () => {
      await using engine = createEngine();
      const { left, right, keyrings, rotate } = await openThree(engine);
      const session = { tokenHash: "s", principalId: "principal-ann", cookieIssuedAtUs: START_US };
      await left.identity.createSession({ ...session, expiresAtUs: START_US + 10 }, START_US);
      const made = provider("p");
      const sealedCredential = sealCredential(keyrings[0], made, "sk-upstream");
      const former = sealFormer(keyrings[0], { ...made, sealedCredential }, START_US);
      await put(left, { kind: "put_provider", provider: { ...made, sealedCredential, ...former } });
      const altered = {
        ...made,
        ...provider("q"),
        formerCredential: Buffer.from([1]),
        formerUntilUs: START_US,
      };
      await put(left, { kind: "put_provider", provider: altered });
      expect(await rotate(false)).toEqual({ credentials: 1, sessions: 1, revokedKeys: 0 });

      for (const [stores, ring] of [
        [left, keyrings[0]],
        [right, keyrings[1]],
      ] as const) {
        const stored = (await stores.catalog.snapshot()).findProvider("p")!;
        expect(ring.checkValue).toBe(next.checkValue);
        expect(openCredential(next, stored)).toBe("sk-upstream");
        expect(openCredential(ring, stored)).toBe("sk-upstream");
        expect(stored.formerUntilUs).toBe(START_US + FORMER_CREDENTIAL_US);
        expect(findFormer(next, stored, START_US)).toBe("sk-upstream");
        expect(findFormer(createSecretBox(FORMER), stored, START_US)).toBeNull();
        expect((await stores.catalog.snapshot()).findProvider("q")).toMatchObject({ formerCredential: null });
        expect(ring.formerHashes("token")).toEqual([createSecretBox(FORMER).hashToken("token")]);
        expect(await stores.identity.keys.findByHash("hash-one")).not.toBeNull();
        expect(await stores.identity.findSession("s", START_US)).toBeNull();
      }
      const actions = (await right.audit.listEvents(PAGE)).rows.map(({ action }) => action);
      expect(actions).toEqual(["secret_key.rotate"]);
      // A process that starts now has to know the new one.
      const cause: unknown = await engine
        .open({ secrets: createKeyring(FORMER) })
        .catch((thrown: unknown) => thrown);
      expect(cause).toMatchObject({ name: "SetupError", kind: "configuration" });
      expect(String(cause)).toContain("The secret key is not the one");
      await engine.open({ secrets: toKeyring() });
    });

    test("that was rotated seals what is changed next, also where nobody was told; where the new one is not found nothing is changed", async () => {
      await using engine = createEngine();
      const { left, keyrings, rotate } = await openThree(engine);
      const keyring = createKeyring(FORMER);
      const lost = await engine.open({ secrets: keyring });
      await lost.catalog.snapshot();
      await rotate(false);
      const add = ({ catalog }: OpenedCatalog, name: string, secrets: Keyring) =>
        catalog.change(() => {
          const made = provider(name);
          const sealedCredential = sealCredential(secrets, made, "sk-upstream");
          return {
            writes: [{ kind: "put_provider", provider: { ...made, sealedCredential } }],
            audit: [],
            result: (after) => after.findProvider(name)!,
          };
        });
      expect(openCredential(next, await add(left, "one", keyrings[0]))).toBe("sk-upstream");
      expect(await codeOf(add(lost, "two", keyring))).toBe("internal_error");
      // A dry run of a file says so too, and what is there can be read.
      expect(await codeOf(lost.people.rehearse())).toBe("internal_error");
      expect((await lost.people.snapshot()).catalog.findProvider("two")).toBeNull();
      expect((await left.people.rehearse()).catalog.findProvider("two")).toBeNull();
      expect((await left.catalog.snapshot()).findProvider("two")).toBeNull();
    });

    test("that is rotated with all keys leaves none of them; a second rotation from the former one changes nothing", async () => {
      await using engine = createEngine();
      const { right, rotate } = await openThree(engine);
      expect(await rotate(true)).toEqual({ credentials: 0, sessions: 0, revokedKeys: 2 });
      expect(await right.identity.keys.findByHash("hash-one")).toBeNull();
      expect(await right.identity.relayTokens.findByHash("hash-two")).toBeNull();
      expect((await right.identity.keys.list({}, PAGE)).total).toBe(0);
      const events = async () => (await right.audit.listEvents(PAGE)).rows.map(({ action }) => action);
      expect(await events()).toEqual(["secret_key.rotate", "relay_token.delete", "key.delete"]);
      const late: unknown = await rotate(false, createKeyring(FORMER)).catch((thrown: unknown) => thrown);
      expect(late).toMatchObject({ name: "SetupError", kind: "failure" });
      expect(await events()).toHaveLength(3);
    });
  });
}
