import { expect, test } from "bun:test";
import { createLog } from "#kernel/log.ts";
import { Limits } from "#limits/limits.ts";
import type { Limit } from "#limits/limit.ts";
import type { LimitSet } from "#limits/store.ts";
import { silentLog } from "../storage/support.ts";
import { LIMIT } from "./limit.ts";

/** Limits on a ledger that takes as long as `takesMs` says for each question. */
function open(takesMs: () => number) {
  const clock = { elapsedMs: 0, asked: 0 };
  const set = { limits: [LIMIT] };
  const limits = new Limits({
    store: { peek: () => set, snapshot: () => Promise.resolve(set) },
    ledger: {
      sumLimits: () => {
        clock.asked += 1;
        clock.elapsedMs += takesMs();
        return Promise.resolve([]);
      },
    },
    clock: { nowUs: () => clock.elapsedMs * 1000, monotonicMs: () => clock.elapsedMs },
    log: silentLog,
  });
  return { clock, limits };
}

test("what other replicas have used is read after a pause of two seconds at most, however long it takes", async () => {
  for (const [takesMs, pauseMs] of [
    [100, 900],
    [1_000, 2_000],
    [60_000, 2_000],
  ] as const) {
    const { clock, limits } = open(() => takesMs);
    try {
      await limits.follow();
      await limits.renew();
      const asked = clock.asked;
      clock.elapsedMs += pauseMs - 1;
      await limits.renew();
      expect(clock.asked).toBe(asked);
      clock.elapsedMs += 1;
      await limits.renew();
      expect(clock.asked).toBe(asked + 1);
    } finally {
      limits.close();
    }
  }
});

test("what other replicas have used is read again at once after each of several outages in a row", async () => {
  let takesMs = 10;
  const { clock, limits } = open(() => takesMs);
  try {
    await limits.follow();
    await limits.renew();
    for (const outageMs of [3_000, 4_500, 2_000]) {
      clock.elapsedMs += 750;
      takesMs = outageMs;
      const asked = clock.asked;
      await limits.renew();
      expect(clock.asked).toBe(asked + 1);
      // Each of them was answered when the database was back, which is no measure of how long a read takes.
      takesMs = 10;
    }
    for (let tick = 0; tick < 10; tick += 1) {
      const asked = clock.asked;
      clock.elapsedMs += 750;
      await limits.renew();
      expect(clock.asked).toBe(asked + 1);
    }
  } finally {
    limits.close();
  }
});

test("what other replicas have used is read again at once after one that waited for the database to come back", async () => {
  let takesMs = 10;
  const { clock, limits } = open(() => takesMs);
  try {
    await limits.follow();
    await limits.renew();
    clock.elapsedMs += 750;
    takesMs = 25_000;
    await limits.renew();
    takesMs = 10;
    for (let tick = 0; tick < 10; tick += 1) {
      clock.elapsedMs += 750;
      await limits.renew();
    }
    expect(clock.asked).toBe(1 + 2 + 10);
  } finally {
    limits.close();
  }
});

test("what is under way at other replicas is asked for again at once after a question that no database answered", async () => {
  let elapsedMs = 0;
  let asked = 0;
  let isAway = false;
  const set: { readonly limits: readonly Limit[] } = {
    limits: [{ ...LIMIT, measure: "concurrent", window: null }],
  };
  const limits = new Limits({
    store: { peek: () => set, snapshot: () => Promise.resolve(set) },
    ledger: { sumLimits: () => Promise.resolve([]) },
    clock: { nowUs: () => elapsedMs * 1000, monotonicMs: () => elapsedMs },
    log: silentLog,
    board: {
      exchange: async () => {
        asked += 1;
        elapsedMs += isAway ? 4_000 : 10;
        if (isAway) throw new Error("away");
        return { ownId: "one", peers: [], turn: 0 };
      },
    },
  });
  try {
    await limits.follow();
    await limits.exchange();
    for (const away of [true, true, false, false]) {
      isAway = away;
      elapsedMs += 250;
      await limits.exchange();
    }
    expect(asked).toBe(5);
  } finally {
    limits.close();
  }
});

/** Limits of both kinds at a database that a test takes away, the age of what they know, and what the log says. */
async function openShared(limits: readonly Limit[]) {
  const state = { elapsedMs: 0, isAway: false };
  const lines: { readonly level: string; readonly message: string }[] = [];
  const log = createLog({
    level: "info",
    json: true,
    write: (line) => lines.push(JSON.parse(line)),
    timestamp: () => "",
  });
  let set: LimitSet = { limits };
  const answer = <Answer>(given: Answer): Promise<Answer> =>
    state.isAway ? Promise.reject(new Error("away")) : Promise.resolve(given);
  const gate = new Limits({
    store: { peek: () => set, snapshot: () => Promise.resolve(set) },
    ledger: { sumLimits: () => answer([]) },
    clock: { nowUs: () => state.elapsedMs * 1000, monotonicMs: () => state.elapsedMs },
    log,
    board: { exchange: () => answer({ ownId: "one", peers: [], turn: 0 }) },
  });
  await gate.follow();
  return {
    state,
    lines,
    gate,
    change: async (next: readonly Limit[]) => {
      set = { limits: next };
      await gate.follow();
    },
    /** What the timers do. */
    pass: async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 250) {
        state.elapsedMs += 250;
        await gate.renew();
        await gate.exchange();
      }
    },
    [Symbol.dispose]: () => gate.close(),
  };
}

test.each([
  ["have used", LIMIT],
  ["have under way", { ...LIMIT, measure: "concurrent", window: null }],
] as const)(
  "what is known of what other replicas %s has an age, and the log says once that it is old and once that it no longer is",
  async (_, limit) => {
    using opened = await openShared([limit]);
    const { state, lines, gate, pass } = opened;
    await pass(3_000);
    expect(gate.peersAgeMs()).toBeLessThanOrEqual(1_000);
    expect(lines).toEqual([]);
    state.isAway = true;
    await pass(4_000);
    expect(gate.peersAgeMs()).toBeGreaterThanOrEqual(4_000);
    expect(lines).toEqual([]);
    await pass(20_000);
    expect(gate.peersAgeMs()).toBeGreaterThanOrEqual(24_000);
    expect(lines).toMatchObject([
      { level: "warn", message: expect.stringContaining("what other replicas use of limits is not known") },
    ]);
    state.isAway = false;
    await pass(3_000);
    expect(gate.peersAgeMs()).toBeLessThanOrEqual(1_000);
    expect(lines.slice(1)).toMatchObject([
      {
        level: "info",
        message: "what other replicas use of limits is known again",
        age_seconds: expect.any(Number),
      },
    ]);
  },
);

test("where no limit needs what other replicas use, nothing is old", async () => {
  using opened = await openShared([]);
  const { state, lines, gate, pass, change } = opened;
  state.isAway = true;
  await pass(10_000);
  expect(gate.peersAgeMs()).toBe(0);
  state.isAway = false;
  await change([{ ...LIMIT, measure: "concurrent", window: null }]);
  state.isAway = true;
  await pass(1_000);
  // It is as old as the need for it.
  expect(gate.peersAgeMs()).toBeLessThanOrEqual(1_000);
  await pass(6_000);
  expect(lines.length).toBe(1);
  await change([]);
  await pass(1_000);
  expect(gate.peersAgeMs()).toBe(0);
  expect(lines.length).toBe(2);
});
