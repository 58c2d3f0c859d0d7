import { expect, test } from "bun:test";
import type { Log } from "#kernel/log.ts";
import { createLog } from "#kernel/log.ts";
import type { LimitSum } from "#limits/limit-sums.ts";
import type { Limit } from "#limits/limit.ts";
import { Limits } from "#limits/limits.ts";
import type { LimitSet } from "#limits/store.ts";
import { SUBJECT } from "../ledger/usage.ts";
import { silentLog } from "../storage/support.ts";
import { LIMIT } from "./limit.ts";

const KEY: Limit = {
  ...LIMIT,
  name: "key",
  subject: { kind: "key", id: "key-1" },
  amount: 3n,
  window: "day",
};
const OTHER = { ...SUBJECT, keyId: "key-2" };

/** A gate whose ledger answers when a test says so. */
async function openGate(log: Log = silentLog) {
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
    log,
  });
  await gate.start();
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
    principalId: "",
    principalName: "",
    parts: [{ startUs: SUBJECT.arrivedAtUs, amount: 2n, unpriced: 0, unknown: 0 }],
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
  await Bun.sleep(0);
  asked[1]?.resolve(USED);
  await again;
  expect({ used: gate.book.findUse("limit-1", "", SUBJECT.arrivedAtUs).amount, asked: asked.length }).toEqual(
    {
      used: 2n,
      asked: 2,
    },
  );
});

test("while the ledger adds up for one limit, other changes hold up no request but those that they concern, and that sum goes on", async () => {
  using opened = await openGate();
  const { gate, asked } = opened;
  const third = { ...SUBJECT, keyId: "key-3" };
  opened.change([KEY]);
  const waiting = gate.current(SUBJECT);
  await Bun.sleep(0);
  opened.change([
    { ...KEY, amount: 9n },
    { ...KEY, id: "limit-3", subject: { kind: "key", id: "key-3" } },
  ]);
  await gate.current(OTHER);
  expect(gate.current(OTHER)).toBeNull();
  let isOver = false;
  const later = gate.current(third)?.then(() => (isOver = true));
  await Bun.sleep(0);
  expect(asked.length).toBe(1);
  asked[0]?.resolve(USED);
  await waiting;
  // Its amount has changed meanwhile, and what was used of it is what was being added up.
  expect(gate.current(SUBJECT)).toBeNull();
  expect(gate.book.findUse("limit-1", "", SUBJECT.arrivedAtUs).amount).toBe(2n);
  expect(gate.admit(SUBJECT, () => true)).toBeNull();
  await Bun.sleep(0);
  expect({ isOver, asked: asked.length }).toEqual({ isOver: false, asked: 2 });
  asked[1]?.resolve([]);
  await later;
  expect(gate.current(third)).toBeNull();
});

test("a limit whose window changes while it is added up takes nothing of that sum, and is asked for anew", async () => {
  using opened = await openGate();
  const { gate, asked } = opened;
  opened.change([KEY]);
  const waiting = gate.current(SUBJECT);
  await Bun.sleep(0);
  opened.change([{ ...KEY, window: "month" }]);
  await gate.current(OTHER);
  asked[0]?.resolve(USED);
  await Bun.sleep(0);
  expect({ asked: asked.length, isWaited: gate.book.isWaitedFor(SUBJECT) }).toEqual({
    asked: 2,
    isWaited: true,
  });
  asked[1]?.resolve([
    { ...USED[0]!, parts: [{ startUs: SUBJECT.arrivedAtUs, amount: 1n, unpriced: 0, unknown: 0 }] },
  ]);
  await waiting;
  expect(gate.book.findUse("limit-1", "", SUBJECT.arrivedAtUs).amount).toBe(1n);
});

test("a start whose sum takes long or fails serves what no unfinished limit concerns, and says so until it is added up", async () => {
  const lines: string[] = [];
  const write = (line: string) => lines.push(JSON.parse(line).message);
  using opened = await openGate(createLog({ level: "info", json: true, write, timestamp: () => "" }));
  const { gate, asked } = opened;
  opened.change([KEY]);
  await gate.start(0);
  expect(gate.current(OTHER)).toBeNull();
  const waiting = gate.current(SUBJECT);
  expect(waiting).not.toBeNull();
  const REFUSED = "what was used of limits is not added up: requests that they concern are refused";
  expect(lines).toEqual([`${REFUSED} until it is`]);
  asked[0]?.resolve(USED);
  await waiting;
  expect(gate.current(SUBJECT)).toBeNull();
  await Bun.sleep(0);
  expect(lines.slice(1)).toEqual(["what was used of limits is added up"]);

  opened.change([{ ...KEY, window: "month" }]);
  const started = gate.start();
  await Bun.sleep(0);
  asked[1]?.reject(new Error("too slow"));
  await started;
  expect(lines.slice(2)).toEqual([`${REFUSED}, and is tried again by the next`]);
  expect({ other: gate.current(OTHER), isWaited: gate.book.isWaitedFor(SUBJECT) }).toEqual({
    other: null,
    isWaited: true,
  });
});
