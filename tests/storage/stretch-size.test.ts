import { expect, test } from "bun:test";
import { toNextRows } from "#storage/threads/repricing.ts";

test("a stretch that took long to be written makes the next one smaller, down to a least size, and a fast one larger", () => {
  const [most, least, longMs, fastMs] = [16_384, 4_096, 150, 10];
  expect(toNextRows(most, longMs)).toBe(most / 2);
  expect(toNextRows(least, longMs)).toBe(least);
  expect(toNextRows(least, fastMs)).toBe(least * 2);
  expect(toNextRows(most, fastMs)).toBe(most);
  // In between it stays, so that sizes do not swing with every stretch.
  expect(toNextRows(most / 2, 75)).toBe(most / 2);
});
