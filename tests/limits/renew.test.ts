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
  enabled: true,
  createdAtUs: 0,
};

test("what other replicas have used is read for a tenth of the time at most, however long it takes", async () => {
  let elapsedMs = 0;
  let asked = 0;
  const set = { limits: [LIMIT] };
  const limits = new Limits({
    store: { peek: () => set, snapshot: () => Promise.resolve(set) },
    ledger: {
      sumLimits: () => {
        asked += 1;
        elapsedMs += 1_000;
        return Promise.resolve([]);
      },
    },
    clock: { nowUs: () => elapsedMs * 1000, monotonicMs: () => elapsedMs },
    log: silentLog,
  });
  try {
    await limits.follow();
    for (let tick = 0; tick < 50; tick += 1) {
      await limits.renew();
      elapsedMs += 2_000;
    }
    // The one that begins it all, and one for each ten seconds of a hundred.
    expect(asked).toBe(1 + 10);
  } finally {
    limits.close();
  }
});
