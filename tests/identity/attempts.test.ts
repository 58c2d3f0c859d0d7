import { beforeEach, describe, expect, test } from "bun:test";
import {
  ATTEMPTS_BURST,
  ATTEMPTS_PER_SECOND,
  createAttemptLimit,
  createOwnAttempts,
  WAITING_MAX,
  UNKNOWN_BROWSER,
  WAITING_OF_PEER_MAX,
  type AttemptLimit,
  type Browser,
} from "#identity/attempts.ts";
import { toPeer } from "#identity/peer.ts";
import { createTestClock, type TestClock } from "./support.ts";

let clock: TestClock;
let pauses: { readonly untilMs: number; readonly end: () => void }[];
let limit: AttemptLimit;
beforeEach(() => {
  clock = createTestClock();
  pauses = [];
  limit = createAttemptLimit(createOwnAttempts(clock).openBucket("password"), clock, (durationMs) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    pauses.push({ untilMs: clock.monotonicMs() + durationMs, end: resolve });
    return promise;
  });
});

/** Lets time pass, a hundredth of a second after the other. */
async function pass(durationMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < durationMs; passedMs += 10) {
    clock.advance(10);
    const due = pauses.filter(({ untilMs }) => untilMs <= clock.monotonicMs());
    pauses = pauses.filter((pause) => !due.includes(pause));
    for (const { end } of due) end();
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  }
}

const RIGHT = toPeer("192.0.2.1");

/** Right sign-ins, one a second, while `strangers` try 20 times a second. */
async function signInBeside(
  strangers: (index: number) => string,
  right: (second: number) => string = () => RIGHT.address,
  browsers: { readonly strange?: (index: number) => Browser; readonly own?: Browser } = {},
) {
  const answered: { readonly isLookedAt: boolean; readonly afterMs: number }[] = [];
  let looked = 0;
  for (let index = 0; index < 400; index += 1) {
    const { strange = () => UNKNOWN_BROWSER, own = UNKNOWN_BROWSER } = browsers;
    void limit
      .admit(toPeer(strangers(index)), strange(index))
      .then((isLookedAt) => (looked += isLookedAt ? 1 : 0));
    if (index % 20 === 10) {
      const askedMs = clock.monotonicMs();
      const ask = limit.admit(toPeer(right(Math.floor(index / 20))), own);
      void ask.then((isLookedAt) => answered.push({ isLookedAt, afterMs: clock.monotonicMs() - askedMs }));
    }
    await pass(50);
  }
  await pass(30_000);
  return { answered, looked };
}

describe("attempts at signing in", () => {
  test("19 of 20 right ones and more are looked at within a second while one network tries 20 wrong ones a second", async () => {
    const { answered, looked } = await signInBeside(() => "192.0.2.66");
    expect(answered.filter(({ isLookedAt }) => isLookedAt)).toHaveLength(20);
    expect(Math.max(...answered.map(({ afterMs }) => afterMs))).toBeLessThan(1000);
    // Whoever guesses gains nothing from waiting.
    expect(looked).toBeLessThanOrEqual(ATTEMPTS_BURST + 24 * ATTEMPTS_PER_SECOND);
  });

  const SHARED = () => "192.0.2.66";
  const DEVICE = { id: "laptop", isOf: () => true };

  test.each([
    ["a tool that says so", () => ({ name: "curl/8", device: null })],
    [
      "browsers of as many names as there are attempts",
      (index: number) => ({ name: `${index}`, device: null }),
    ],
    ["browsers of the same name", () => ({ name: "Firefox", device: null })],
  ])(
    "of a browser that signed in before are looked at, 20 of 20, while 20 wrong ones a second come from its own address by %s",
    async (_, strange) => {
      const own = { name: "Firefox", device: DEVICE };
      const { answered, looked } = await signInBeside(SHARED, SHARED, { strange, own });
      expect(answered.filter(({ isLookedAt }) => isLookedAt)).toHaveLength(20);
      expect(Math.max(...answered.map(({ afterMs }) => afterMs))).toBeLessThan(1000);
      expect(looked).toBeLessThanOrEqual(ATTEMPTS_BURST + 24 * ATTEMPTS_PER_SECOND);
    },
  );

  test("of a browser that never signed in are looked at, 20 of 20, when it says another name than the wrong ones of its own address", async () => {
    const browsers = {
      strange: () => ({ name: "curl/8", device: null }),
      own: { name: "Firefox", device: null },
    };
    const { answered } = await signInBeside(SHARED, SHARED, browsers);
    expect(answered.filter(({ isLookedAt }) => isLookedAt)).toHaveLength(20);
    expect(Math.max(...answered.map(({ afterMs }) => afterMs))).toBeLessThan(1000);
  });

  test("that nothing tells from 20 wrong ones a second of the same address are looked at as often as those, whenever they come", async () => {
    for (const offsetMs of [0, 10, 20, 30, 40]) {
      await pass(30_000 + offsetMs);
      const { answered } = await signInBeside(SHARED, SHARED);
      const looked = answered.filter(({ isLookedAt }) => isLookedAt).length;
      expect(looked).toBeGreaterThanOrEqual(8);
    }
  });

  test("of a hundred names at one address take no turns from another address", async () => {
    const strange = (index: number) => ({ name: `browser ${index % 100}`, device: null });
    const { answered } = await signInBeside(SHARED, () => RIGHT.address, { strange });
    expect(answered.filter(({ isLookedAt }) => isLookedAt)).toHaveLength(20);
    expect(Math.max(...answered.map(({ afterMs }) => afterMs))).toBeLessThan(1000);
  });

  test("by a device are no more than ten a second, as others are", async () => {
    const strange = () => ({ name: "Firefox", device: DEVICE });
    const { answered, looked } = await signInBeside(SHARED, SHARED, { strange });
    expect(looked).toBeLessThanOrEqual(ATTEMPTS_BURST + 24 * ATTEMPTS_PER_SECOND);
    // Who has a device cannot keep its neighbors out either.
    expect(answered.filter(({ isLookedAt }) => isLookedAt)).toHaveLength(20);
  });

  test("of one IPv6 subscriber are one network's, however many addresses it has", async () => {
    const { answered } = await signInBeside((index) => `2001:db8:0:7::${index.toString(16)}`);
    expect(answered.filter(({ isLookedAt }) => isLookedAt)).toHaveLength(20);
    expect(Math.max(...answered.map(({ afterMs }) => afterMs))).toBeLessThan(1000);
  });

  test("of fifty networks wait for each other's turns, and right ones still come to theirs", async () => {
    const { answered } = await signInBeside(
      (index) => `192.0.2.${100 + (index % 50)}`,
      (second) => `198.51.100.${second}`,
    );
    expect(answered.filter(({ isLookedAt }) => isLookedAt)).toHaveLength(20);
    expect(Math.max(...answered.map(({ afterMs }) => afterMs))).toBeLessThan(6_000);
  });

  test("of a network with too many waiting are given up at once, and a full line makes room for another network", async () => {
    const admitAll = (count: number, address: (index: number) => string) =>
      Array.from({ length: count }, (_, index) => limit.admit(toPeer(address(index))));
    void admitAll(ATTEMPTS_BURST, () => "192.0.2.66");
    const waiting = admitAll(WAITING_OF_PEER_MAX, () => "192.0.2.66");
    const late = limit.admit(toPeer("192.0.2.66"));
    expect(await waiting[0]).toBe(false);
    const rest = WAITING_MAX - WAITING_OF_PEER_MAX;
    const others = admitAll(rest, (index) => `198.51.100.${index % (rest / 2)}`);
    // One of the longest line, its newest, makes room.
    const right = limit.admit(RIGHT);
    expect(await late).toBe(false);
    await pass(30_000);
    expect(await right).toBe(true);
    expect((await Promise.all(others)).filter(Boolean).length).toBeGreaterThan(rest * 0.9);
  });

  test("that have waited longer than anybody waits in front of a page are given up", async () => {
    const addresses = Array.from({ length: WAITING_MAX }, (_, index) => `198.51.${index % 4}.${index >> 2}`);
    const asked = [...addresses, ...addresses].map((address) => limit.admit(toPeer(address)));
    await pass(60_000);
    const looked = (await Promise.all(asked)).filter(Boolean).length;
    expect(looked).toBeGreaterThan(ATTEMPTS_BURST);
    expect(looked).toBeLessThanOrEqual(ATTEMPTS_BURST + 30 * ATTEMPTS_PER_SECOND + 1);
  });
});

describe("a peer", () => {
  test.each([
    ["192.0.2.1", "192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1", "192.0.2.1"],
    ["::1", "::1", "0:0:0:0::/64"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:0001::6", "2001:DB8:0001::6", "2001:db8:1:0::/64"],
    ["fe80::1:2:3:4", "fe80::1:2:3:4", "fe80:0:0:0::/64"],
    ["::", "::", "0:0:0:0::/64"],
    ["", "unknown", "unknown"],
    [null, "unknown", "unknown"],
  ])("at %p is logged as %p and limited as %p", (given, address, network) => {
    expect(toPeer(given)).toEqual({ address, network });
  });
});
