import { describe, expect, test } from "bun:test";
import { createHmac, hkdfSync } from "node:crypto";
import { createSecretBox, equalsConstantTime } from "#kernel/crypto.ts";

const secret = new Uint8Array(32).fill(7);
const box = createSecretBox(secret);
const otherBox = createSecretBox(new Uint8Array(32).fill(8));

describe("secrets at rest", () => {
  test("a sealed credential opens only with its own key and its own row", () => {
    const sealed = box.seal("sk-upstream-ü", "provider:1:credential");
    expect(box.open(sealed, "provider:1:credential")).toBe("sk-upstream-ü");
    expect(() => box.open(sealed, "provider:2:credential")).toThrow();
    expect(() => otherBox.open(sealed, "provider:1:credential")).toThrow();
  });

  test("a sealed credential does not open when any of its bytes is changed or cut off", () => {
    const sealed = box.seal("sk-upstream", "row");
    for (let index = 0; index < sealed.byteLength; index += 1) {
      const tampered = Uint8Array.from(sealed);
      tampered[index] = (tampered[index] ?? 0) ^ 1;
      expect(() => box.open(tampered, "row")).toThrow();
      expect(() => box.open(sealed.subarray(0, index), "row")).toThrow();
    }
  });

  test("sealing the same text twice gives two ciphertexts, neither of which holds the text", () => {
    const [first, second] = [box.seal("sk-upstream", "row"), box.seal("sk-upstream", "row")];
    expect(Buffer.from(first).equals(Buffer.from(second))).toBe(false);
    expect(Buffer.from(first).includes("sk-upstream")).toBe(false);
  });

  test("the keys are those that HKDF-SHA256 derives (RFC 5869), by another implementation of it", () => {
    const derived = hkdfSync("sha256", secret, new Uint8Array(0), "lockport check value v1", 32);
    expect(box.checkValue).toBe(Buffer.from(derived).toString("hex"));
  });

  test("a token's hash is keyed: another installation has another hash, and neither holds the token", () => {
    expect(box.hashToken("lp_x")).toMatch(/^[0-9a-f]{64}$/);
    expect(box.hashToken("lp_x")).toBe(createSecretBox(secret).hashToken("lp_x"));
    expect(box.hashToken("lp_x")).not.toBe(otherBox.hashToken("lp_x"));
  });

  test("the hash of a response's id has a key of its own, which follows the token keys through a rotation", () => {
    const [hash, ...others] = box.hashResponseId("resp_1");
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(others).toEqual([]);
    expect(hash).not.toBe(box.hashToken("resp_1"));
    expect(hash).not.toBe(otherBox.hashResponseId("resp_1")[0]);
    const rotated = otherBox.withFormer(box.sealTokenKeys(otherBox));
    expect(rotated.hashResponseId("resp_1")).toEqual([otherBox.hashResponseId("resp_1")[0], hash]);
    const derive = (key: Uint8Array, label: string) =>
      Buffer.from(hkdfSync("sha256", key, new Uint8Array(0), label, 32));
    const key = derive(derive(secret, "lockport token hash v1"), "lockport response id v1");
    expect(hash).toBe(createHmac("sha256", key).update("resp_1").digest("hex"));
  });

  test("a signed value verifies, and a changed value, signature or key does not", () => {
    const signed = box.sign("token.admin");
    expect(box.verify(signed)).toBe("token.admin");
    expect(otherBox.verify(signed)).toBeNull();
    expect(box.verify(signed.replace("admin", "membe"))).toBeNull();
    expect(box.verify(signed.slice(0, -1))).toBeNull();
    expect(box.verify("token.admin")).toBeNull();
    expect(box.verify("")).toBeNull();
  });

  test("the constant-time comparison agrees with equality, also for other lengths", () => {
    expect(equalsConstantTime("correct horse", "correct horse")).toBe(true);
    expect(equalsConstantTime("correct hors", "correct horse")).toBe(false);
    expect(equalsConstantTime("", "correct horse")).toBe(false);
  });

  test("a secret of another length is refused", () => {
    expect(() => createSecretBox(new Uint8Array(31))).toThrow(RangeError);
  });
});
