import { describe, expect, test } from "bun:test";
import { openCredential, sealCredential } from "#catalog/provider.ts";
import { createSecretBox } from "#kernel/crypto.ts";
import { createKeyring } from "#kernel/keyring.ts";
import { createRecordAudit } from "#storage/catalog/audit.ts";
import { rotateSecret } from "#storage/catalog/secret-state.ts";
import { ChangeTransaction } from "#storage/catalog/change.ts";
import { drive } from "#storage/postgres/drive.ts";
import { POSTGRES } from "#storage/sql/dialect.ts";
import { postgresMissing } from "../../support/postgres.ts";
import { codeOf, provider } from "../support.ts";
import { createPostgresCatalog, type PostgresStores } from "./catalog-engine.ts";

const SECRETS = [1, 2].map((byte) => new Uint8Array(32).fill(byte));
/** A keyring that finds each of the secrets by its check value, as one that reads secret.key does. */
const toKeyring = (secret = SECRETS[0]!) =>
  createKeyring(
    secret,
    (checkValue) => SECRETS.find((one) => createSecretBox(one).checkValue === checkValue) ?? null,
  );

describe.skipIf(postgresMissing !== null)("two replicas on PostgreSQL", () => {
  test("seal nothing by a secret that was rotated a moment ago, before they were told of it", async () => {
    await using engine = createPostgresCatalog();
    const [secrets, otherSecrets] = [toKeyring(), toKeyring()];
    const [left, right] = [
      await engine.open({ secrets: otherSecrets }),
      await engine.open({ secrets: createKeyring(SECRETS[0]!) }),
    ];
    const next = createSecretBox(SECRETS[1]!);
    const database = await engine.database();
    const rotate = rotateSecret({ secrets, next, revokesKeys: false }, createRecordAudit(engine.clock));
    await database.transaction((tx) => drive(tx, new ChangeTransaction(POSTGRES), rotate));
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
});
