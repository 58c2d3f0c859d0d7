import { expect, test } from "bun:test";
import { createAskedScan, createScanBudget, NOTHING_ASKED, SCANNED_BYTES_MAX } from "#forward/relay-body.ts";

const BODY = new TextEncoder().encode('{"model":"m","stream":true}');
const ASKED = { model: "m", streamed: true };

test("a body that finds the bytes of all uploads used up is not looked through, and holds none of them", async () => {
  const budget = createScanBudget(BODY.length + 5);
  const first = createAskedScan(budget);
  first.push(BODY.slice());
  const second = createAskedScan(budget);
  second.push(BODY.subarray(0, 5));
  second.push(BODY.subarray(5));
  // What came before the refusal was given back, and the rest is not taken for a body of its own.
  expect(budget.take(5)).toBe(true);
  second.push(BODY.subarray(0, 1));
  expect(await second.finish()).toEqual(NOTHING_ASKED);
  expect(await first.finish()).toEqual(ASKED);
});

test.each(["finish", "release"] as const)("%s gives back what was kept, once", async (end) => {
  const budget = createScanBudget(BODY.length);
  const scan = createAskedScan(budget);
  scan.push(BODY.slice());
  expect(budget.take(1)).toBe(false);
  await scan[end]();
  scan.release();
  scan.push(BODY.slice());
  expect(budget.take(BODY.length)).toBe(true);
  expect(budget.take(1)).toBe(false);
});

test("a body whose length is over what is looked through takes no bytes from those that are not", async () => {
  const budget = createScanBudget(BODY.length);
  const scan = createAskedScan(budget, SCANNED_BYTES_MAX + 1);
  scan.push(BODY.slice());
  expect(budget.take(BODY.length)).toBe(true);
  expect(await scan.finish()).toEqual(NOTHING_ASKED);
});

test("a body that comes byte by byte says the same as one that comes whole", async () => {
  const scan = createAskedScan(createScanBudget(), BODY.length);
  for (const byte of BODY) scan.push(new Uint8Array([byte]));
  expect(await scan.finish()).toEqual(ASKED);
});

test("a piece that has left is freed, and not only when the next one comes", () => {
  const scan = createAskedScan(createScanBudget());
  const piece = new Uint8Array(64 * 1024).fill(0x20);
  piece[0] = 0x7b;
  scan.push(piece);
  expect(piece.length).toBe(64 * 1024);
  scan.left();
  expect(piece.length).toBe(0);
});
