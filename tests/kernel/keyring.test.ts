import { expect, test } from "bun:test";
import { createSecretBox } from "#kernel/crypto.ts";
import { createKeyring, FORMER_SECRET_MS_MAX } from "#kernel/keyring.ts";

const SECRETS = [1, 2, 3].map((byte) => new Uint8Array(32).fill(byte));
const [FIRST, SECOND, THIRD] = SECRETS.map((secret) => createSecretBox(secret));

test("what the former secret sealed opens for a minute after a rotation, and never afterwards", () => {
  if (FIRST === undefined || SECOND === undefined || THIRD === undefined) throw new Error("three secrets");
  let nowMs = 1000;
  const find = (checkValue: string) =>
    SECRETS.find((secret) => createSecretBox(secret).checkValue === checkValue) ?? null;
  const keyring = createKeyring(SECRETS[0] ?? new Uint8Array(32), find, () => nowMs);
  const rotateTo = (checkValue: string) =>
    expect(keyring.follow({ checkValue, sealedTokenKeys: [] })).toBe(true);
  const sealed = [FIRST, SECOND, THIRD].map((box) => box.seal("credential", "row"));
  const opens = () =>
    sealed.map((bytes) => {
      try {
        return keyring.open(bytes, "row") === "credential";
      } catch {
        return false;
      }
    });
  expect(opens()).toEqual([true, false, false]);
  rotateTo(SECOND.checkValue);
  nowMs += FORMER_SECRET_MS_MAX - 1;
  expect(opens()).toEqual([true, true, false]);
  nowMs += 1;
  expect(opens()).toEqual([false, true, false]);
  rotateTo(SECOND.checkValue);
  expect(opens()).toEqual([false, true, false]);
  rotateTo(THIRD.checkValue);
  expect(opens()).toEqual([false, true, true]);
});
