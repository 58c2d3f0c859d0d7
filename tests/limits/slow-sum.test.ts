import { expect, test } from "bun:test";
import type { LimitSum } from "#limits/limit-sums.ts";
import type { Limit } from "#limits/limit.ts";
import { Limits } from "#limits/limits.ts";
import type { LimitSet } from "#limits/store.ts";
import { SUBJECT } from "../ledger/usage.ts";
import { silentLog } from "../storage/support.ts";

const KEY: Limit = {
  id: "limit-1",
  name: "key",
  subject: { kind: "key", id: "key-1" },
  model: null,
  formerModels: [],
  each: null,
  measure: "requests",
  amount: 3n,
  window: "day",
  action: "refuse",
  unpriced: "allow",
  enabled: true,
  createdAtUs: 0,
};
const OTHER = { ...SUBJECT, keyId: "key-2" };

/** A gate whose ledger answers when a test says so. */
async function openGate() {
  const asked: PromiseWithResolvers<readonly LimitSum[]>[] = [];
  let set: LimitSet = { limits: [] };
  const gate = new Limits({
    store: { peek: () => set, snapshot: async () => set },
    ledger: {
      sumLimits() {
        const one = Promise.withResolvers<readonly LimitSum[]>();
        asked.push(one);
        return one.promise;
      },
    },
    clock: { nowUs: () => SUBJECT.arrivedAtUs, monotonicMs: () => 0 },
    log: silentLog,
  });
  await gate.follow();
  return {
    gate,
    asked,
    change: (limits: readonly Limit[]) => (set = { limits }),
    [Symbol.dispose]: () => gate.close(),
  };
}

const USED = [
  {
    limitId: "limit-1",
    value: "",
    label: "",
    parts: [{ startUs: SUBJECT.arrivedAtUs, amount: 2n, unpriced: 0 }],
  },
];

test("while the ledger adds up for a new limit, requests that it does not concern go on, and those that it does wait for what was used", async () => {
  using opened = await openGate();
  const { gate, asked } = opened;
  opened.change([KEY]);
  // The first one brings the limits themselves, and no sum.
  await gate.current(OTHER);
  expect(gate.current(OTHER)).toBeNull();
  let isOver = false;
  const waiting = gate.current(SUBJECT)?.then(() => (isOver = true));
  gate.began(OTHER);
  await Bun.sleep(0);
  expect({ isOver, asked: asked.length }).toEqual({ isOver: false, asked: 1 });
  // What is counted meanwhile is in addition to the sum.
  gate.began(SUBJECT);
  asked[0]?.resolve(USED);
  await waiting;
  expect(gate.current(SUBJECT)).toBeNull();
  expect(() => gate.admit(SUBJECT, () => true)).toThrow("3 of 3 requests");
  expect(gate.admit(OTHER, () => true)).toBeNull();
});

test("a limit whose sum has failed lets no request through that it concerns, and is added up anew for the next", async () => {
  using opened = await openGate();
  const { gate, asked } = opened;
  opened.change([KEY]);
  const waiting = gate.current(SUBJECT);
  await Bun.sleep(0);
  asked[0]?.reject(new Error("too slow"));
  expect(async () => await waiting).toThrow("too slow");
  await Bun.sleep(0);
  await gate.current(OTHER);
  const again = gate.current(SUBJECT);
  expect(again).not.toBeNull();
  asked[1]?.resolve(USED);
  await again;
  expect({ used: gate.book.findUse("limit-1", "", SUBJECT.arrivedAtUs).amount, asked: asked.length }).toEqual(
    {
      used: 2n,
      asked: 2,
    },
  );
});
