import { expect, test } from "bun:test";
import { createAskedScan, createScanBudget, NOTHING_ASKED } from "#forward/relay-body.ts";

const BODY = new TextEncoder().encode('{"model":"m","stream":true}');
const ASKED = { model: "m", streamed: true };

test("a body that finds the bytes of all uploads used up is not looked through, and holds none of them", () => {
  const budget = createScanBudget(BODY.length + 5);
  const first = createAskedScan(budget);
  first.push(BODY.slice());
  const second = createAskedScan(budget);
  second.push(BODY.subarray(0, 5));
  second.push(BODY.subarray(5));
  // What came before the refusal was given back, and the rest is not taken for a body of its own.
  expect(budget.take(5)).toBe(true);
  second.push(BODY.subarray(0, 1));
  expect(second.finish()).toEqual(NOTHING_ASKED);
  expect(first.finish()).toEqual(ASKED);
});

test.each(["finish", "release"] as const)("%s gives back what was kept, once", (end) => {
  const budget = createScanBudget(BODY.length);
  const scan = createAskedScan(budget);
  scan.push(BODY.slice());
  expect(budget.take(1)).toBe(false);
  scan[end]();
  scan.release();
  scan.push(BODY.slice());
  expect(budget.take(BODY.length)).toBe(true);
  expect(budget.take(1)).toBe(false);
});
