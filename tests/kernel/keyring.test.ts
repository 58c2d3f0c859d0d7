import { expect, test } from "bun:test";
import { createSecretBox, createKeyring, FORMER_SECRET_MS_MAX, OtherSecretError } from "#kernel/crypto.ts";

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

test("a keyring is without the catalog's secret from when that is not found until it is told of one that it has", () => {
  const [first, second] = [FIRST, SECOND];
  if (first === undefined || second === undefined) throw new Error("two secrets");
  const keyring = createKeyring(SECRETS[0] ?? new Uint8Array(32));
  const sealed = second.seal("credential", "row");
  expect(keyring.isPresent).toBe(true);
  expect(() => keyring.open(sealed, "row")).toThrow();
  expect(keyring.follow({ checkValue: second.checkValue, sealedTokenKeys: [] })).toBe(false);
  expect(keyring.isPresent).toBe(false);
  expect(() => keyring.open(sealed, "row")).toThrow(OtherSecretError);
  // What it sealed itself opens all the same.
  expect(keyring.open(first.seal("credential", "row"), "row")).toBe("credential");
  expect(keyring.follow({ checkValue: first.checkValue, sealedTokenKeys: [] })).toBe(true);
  expect(keyring.isPresent).toBe(true);
});
