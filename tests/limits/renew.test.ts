import { expect, test } from "bun:test";
import { Limits } from "#limits/limits.ts";
import type { Limit } from "#limits/limit.ts";
import { silentLog } from "../storage/support.ts";

const LIMIT: Limit = {
  id: "limit-1",
  name: "all",
  subject: { kind: "everybody" },
  model: null,
  formerModels: [],
  each: null,
  measure: "requests",
  amount: 1_000n,
  window: "hour",
  action: "refuse",
  unpriced: "allow",
  unknownMax: null,
  fixed: false,
  enabled: true,
  createdAtUs: 0,
};

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

test("what other replicas have used is read for a tenth of the time at most, however long it takes", async () => {
  const { clock, limits } = open(() => 1_000);
  try {
    await limits.follow();
    for (let tick = 0; tick < 50; tick += 1) {
      await limits.renew();
      clock.elapsedMs += 2_000;
    }
    // The one that begins it all, and one for each ten seconds of a hundred.
    expect(clock.asked).toBe(1 + 10);
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
