import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createKeyUse, KEY_USE_REFRESH_US } from "#identity/key-use.ts";
import type { Principal } from "#identity/principal.ts";
import { createSecretText } from "#identity/secret.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { readWhole } from "../support/stored.ts";
import {
  ADMIN,
  ALL,
  createRecordedKeyUse,
  createTestClock,
  openTestIdentity,
  refusalOf,
  type TestIdentity,
} from "./support.ts";

let fixture: TestIdentity;
let owner: Principal;
let other: Principal;
beforeEach(async () => {
  fixture = await openTestIdentity();
  owner = await fixture.principals.create({ name: "mia" }, null);
  other = await fixture.principals.create({ name: "bob", kind: "service" }, null);
});
afterEach(() => fixture.close());

describe("a key's plaintext", () => {
  test("is lp_ and 43 letters and digits, never the same twice", () => {
    const made = Array.from({ length: 200 }, () => createSecretText("lp_", createSystemIds()));
    for (const text of made) expect(text).toMatch(/^lp_[0-9A-Za-z]{43}$/);
    expect(new Set(made).size).toBe(made.length);
  });

  test("tells every one of its 256 bits: other bytes make another text", () => {
    const of = (bytes: Uint8Array) => createSecretText("lp_", { uuid: () => "", randomBytes: () => bytes });
    const texts = new Set([of(new Uint8Array(32)), of(new Uint8Array(32).fill(255))]);
    for (let bit = 0; bit < 256; bit += 1) {
      const bytes = new Uint8Array(32);
      bytes[bit >> 3] = 1 << (bit & 7);
      texts.add(of(bytes));
    }
    expect(texts.size).toBe(258);
    expect([...texts].every((text) => text.length === 46)).toBe(true);
  });

  test("is shown once: the store keeps its last four characters and a hash, and not the rest", async () => {
    const { secret: key, plaintext } = await fixture.keys.create(
      { principalId: owner.id, label: "laptop" },
      ADMIN,
    );
    expect(key.suffix).toBe(plaintext.slice(-4));
    expect(JSON.stringify([key, await fixture.keys.list({}, ALL)])).not.toContain(plaintext.slice(0, -4));
    expect(await readWhole(fixture.path)).not.toContain(plaintext.slice(3));
    expect(await fixture.audited()).toEqual([`key.create api_key ${key.id}`]);
  });
});

describe("keys", () => {
  test("are listed by creation, of one principal or of all, without their hashes", async () => {
    const ids: string[] = [];
    for (const principal of [owner, other, owner]) {
      fixture.clock.advance(1);
      ids.push((await fixture.keys.create({ principalId: principal.id }, null)).secret.id);
    }
    const all = await fixture.keys.list({}, ALL);
    expect(all.rows.map(({ id, principalName }) => `${principalName} ${id}`)).toEqual([
      `mia ${ids[0]}`,
      `bob ${ids[1]}`,
      `mia ${ids[2]}`,
    ]);
    expect((await fixture.keys.list({ principalId: owner.id }, ALL)).rows.map(({ id }) => id)).toEqual([
      ids[0]!,
      ids[2]!,
    ]);
    expect(Object.keys(all.rows[0]!)).not.toContain("hash");
  });

  test.each(["x".repeat(121), "😀".repeat(121), "a\u001B[31mb", "a\nb"])(
    "with the label %p are invalid_label",
    async (label) => {
      expect(await refusalOf(() => fixture.keys.create({ principalId: owner.id, label }, ADMIN))).toBe(
        "invalid_label label",
      );
      expect((await fixture.keys.list({}, ALL)).total).toBe(0);
      expect(await fixture.audited()).toEqual([]);
    },
  );

  test("take a label of 120 characters, counted as code points, or none", async () => {
    const label = "😀".repeat(120);
    expect((await fixture.keys.create({ principalId: owner.id, label }, null)).secret.label).toBe(label);
    expect((await fixture.keys.create({ principalId: owner.id }, null)).secret.label).toBe("");
  });

  test("are not made for a principal that is not there", async () => {
    expect(await refusalOf(() => fixture.keys.create({ principalId: "none" }, ADMIN))).toBe(
      "principal_not_found",
    );
    expect(await fixture.audited()).toEqual([]);
  });

  test("are deleted by an admin or by their owner, and are key_not_found to another principal", async () => {
    const { secret: key } = await fixture.keys.create({ principalId: owner.id }, null);
    expect(await refusalOf(() => fixture.keys.delete({ id: key.id, principalId: other.id }, ADMIN))).toBe(
      "key_not_found",
    );
    expect((await fixture.keys.list({}, ALL)).total).toBe(1);
    await fixture.keys.delete({ id: key.id, principalId: owner.id }, ADMIN);
    expect(await refusalOf(() => fixture.keys.delete({ id: key.id }, ADMIN))).toBe("key_not_found");
    expect(await fixture.audited()).toEqual([`key.delete api_key ${key.id}`]);
  });
});

describe("the last use of a key", () => {
  test("reaches the store at most once a minute, and each key has a minute of its own", () => {
    const [clock, store] = [createTestClock(), createRecordedKeyUse()];
    const keyUse = createKeyUse(store, clock);
    const startUs = clock.nowUs();
    for (let second = 0; second < 120; second += 1) {
      keyUse.touch("a");
      if (second === 30) keyUse.touch("b");
      clock.advance(1000);
    }
    expect(store.saved).toEqual([
      ["a", startUs],
      ["b", startUs + 30_000_000],
      ["a", startUs + KEY_USE_REFRESH_US],
    ]);
  });

  test("is known at once, before the store has it, and does not go back behind what the store has", async () => {
    const [clock, store] = [createTestClock(), createRecordedKeyUse()];
    const laterUs = clock.nowUs() + 1;
    const slow = { saveLastUsed: () => {}, loadLastUsed: async () => new Map([["b", laterUs]]) };
    const keyUse = createKeyUse(slow, clock);
    keyUse.touch("a");
    keyUse.touch("b");
    expect(await keyUse.lastUsed(["a", "b", "never"])).toEqual(
      new Map([
        ["a", clock.nowUs()],
        ["b", laterUs],
      ]),
    );
    expect(store.saved).toEqual([]);
  });

  test("is noted again when the wall clock is set back", () => {
    const [clock, store] = [createTestClock(), createRecordedKeyUse()];
    const keyUse = createKeyUse(store, clock);
    keyUse.touch("a");
    clock.advance(-3_600_000);
    keyUse.touch("a");
    expect(store.saved.length).toBe(2);
  });
});
