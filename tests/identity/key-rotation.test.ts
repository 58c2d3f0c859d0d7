import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { ROTATION_GRACE_SECONDS_MAX } from "#identity/keys.ts";
import type { Principal } from "#identity/principal.ts";
import { formatInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { ADMIN, ALL, openTestIdentity, refusalOf, type TestIdentity } from "./support.ts";

let fixture: TestIdentity;
let owner: Principal;
let id: string;
let first: string;
beforeEach(async () => {
  fixture = await openTestIdentity();
  owner = await fixture.principals.create({ name: "mia" }, null);
  const { secret, plaintext } = await fixture.keys.create({ principalId: owner.id, label: "laptop" }, null);
  id = secret.id;
  first = plaintext;
});
afterEach(() => fixture.close());

const rotate = (graceSeconds: number) => fixture.keys.rotate({ id }, { graceSeconds }, null);
/** The code of a request with this plaintext; `ok` when it is let in as the key. */
async function tell(plaintext: string): Promise<string> {
  try {
    const { credential } = await fixture.authenticator.authenticate(new Headers({ "x-api-key": plaintext }));
    return credential.kind === "key" && credential.key.id === id ? "ok" : "another";
  } catch (cause) {
    if (cause instanceof ProxyError) return cause.message;
    throw cause;
  }
}
const UNKNOWN = "This API key is not valid.";

describe("a rotation", () => {
  test("without grace ends the plaintext of before at once, and keeps everything else of the key", async () => {
    const [before] = (await fixture.keys.list({}, ALL)).rows;
    expect(await tell(first)).toBe("ok");
    fixture.clock.advance(5_000);
    const { secret, plaintext } = await rotate(0);
    expect(plaintext).toMatch(/^lp_[0-9A-Za-z]{43}$/);
    expect([await tell(first), await tell(plaintext)]).toEqual([UNKNOWN, "ok"]);
    expect(secret).toEqual({ ...before!, suffix: plaintext.slice(-4) });
    expect((await fixture.keys.list({}, ALL)).rows).toEqual([secret]);
    expect(await fixture.store.keys.findNames([id])).toEqual(
      new Map([[id, { label: "laptop", suffix: plaintext.slice(-4) }]]),
    );
  });

  test("with grace keeps the plaintext of before for as long, and not for a moment longer", async () => {
    const { plaintext } = await rotate(60);
    for (const text of [first, plaintext]) expect(await tell(text)).toBe("ok");
    fixture.clock.advance(59_999.999);
    for (const text of [first, plaintext]) expect(await tell(text)).toBe("ok");
    fixture.clock.advance(0.001);
    expect([await tell(first), await tell(plaintext)]).toEqual([UNKNOWN, "ok"]);
  });

  test("within the grace of another ends the plaintext before the last: a key has two at most, and one after no grace", async () => {
    const second = (await rotate(ROTATION_GRACE_SECONDS_MAX)).plaintext;
    const third = (await rotate(60)).plaintext;
    expect(await Promise.all([first, second, third].map(tell))).toEqual([UNKNOWN, "ok", "ok"]);
    const fourth = (await rotate(0)).plaintext;
    expect(await Promise.all([first, second, third, fourth].map(tell))).toEqual([
      UNKNOWN,
      UNKNOWN,
      UNKNOWN,
      "ok",
    ]);
  });

  test("lifts no expiry and no pause: both plaintexts end with the key, and say so", async () => {
    const expiresAt = formatInstant(fixture.clock.nowUs() + 1_000_000);
    await fixture.keys.update({ id }, { expiresAt, models: ["a"] }, null);
    const { secret, plaintext } = await rotate(60);
    expect(secret.terms).toMatchObject({ models: new Set(["a"]) });
    await fixture.keys.update({ id }, { enabled: false }, null);
    for (const text of [first, plaintext]) expect(await tell(text)).toContain("is paused");
    await fixture.keys.update({ id }, { enabled: true }, null);
    for (const text of [first, plaintext]) expect(await tell(text)).toBe("ok");
    fixture.clock.advance(1_000);
    for (const text of [first, plaintext]) expect(await tell(text)).toContain("expired at");
    // The grace is over: who has only the plaintext of before is told nothing of the key.
    fixture.clock.advance(59_000);
    expect([await tell(first), await tell(plaintext)]).toEqual([UNKNOWN, expect.stringContaining("expired")]);
  });

  test("is noted as a use of the key by either plaintext, and both go with the key", async () => {
    const { plaintext } = await rotate(60);
    fixture.clock.advance(1);
    await tell(first);
    expect(await fixture.keyUse.lastUsed([id])).toEqual(new Map([[id, fixture.clock.nowUs()]]));
    await fixture.keys.delete({ id }, null);
    for (const text of [first, plaintext]) expect(await tell(text)).toBe(UNKNOWN);
  });

  test("by another principal is key_not_found and changes nothing; each that is made is audited", async () => {
    const foreign = { id, principalId: "somebody" };
    expect(await refusalOf(() => fixture.keys.rotate(foreign, { graceSeconds: 60 }, ADMIN))).toBe(
      "key_not_found",
    );
    expect(await tell(first)).toBe("ok");
    expect(await fixture.audited()).toEqual([]);
    await fixture.keys.rotate({ id, principalId: owner.id }, { graceSeconds: 60 }, ADMIN);
    expect(await fixture.audited()).toEqual([`key.rotate api_key ${id}`]);
  });
});
