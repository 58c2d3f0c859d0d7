import { afterEach, describe, expect, mock, test } from "bun:test";
import * as fc from "fast-check";
import { createGrowingBytes } from "#usage/growing-bytes.ts";
import { countByteWork } from "./byte-work.ts";

const NOTHING = new Uint8Array();

describe("bytes that come in pieces", () => {
  afterEach(() => {
    mock.restore();
  });

  test("are taken as one piece, or as too many, whatever the pieces are; nothing is left for the next", () => {
    const piece = fc.uint8Array({ maxLength: 40 });
    const text = fc.record({ pieces: fc.array(piece, { maxLength: 6 }), last: piece });
    const limit = fc.integer({ min: 1, max: 100 });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 6 }), limit, (texts, bytesMax) => {
        const growing = createGrowingBytes(bytesMax);
        for (const { pieces, last } of texts) {
          for (const some of pieces) growing.append(some);
          const whole = Buffer.concat([...pieces, last]);
          const sizeBytes = Buffer.concat(pieces).length;
          expect(growing.sizeBytes).toBe(sizeBytes > bytesMax ? 0 : sizeBytes);
          const taken = growing.take(last);
          expect(taken === null ? null : Buffer.from(taken)).toEqual(whole.length > bytesMax ? null : whole);
          expect(growing.sizeBytes).toBe(0);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("are copied about twice when they come one by one, and not once per piece", () => {
    const sizeBytes = 32 * 1024;
    const growing = createGrowingBytes(sizeBytes);
    const byte = Uint8Array.of(7);
    const counted = countByteWork();
    for (let index = 0; index < sizeBytes; index += 1) growing.append(byte);
    expect(counted.copiedBytes).toBeLessThan(4 * sizeBytes);
    mock.restore();
    expect(growing.take(NOTHING)).toHaveLength(sizeBytes);
  });

  test("are not copied at all when they come in one piece", () => {
    const whole = new Uint8Array(1024 * 1024);
    const growing = createGrowingBytes(whole.length);
    const counted = countByteWork();
    expect(growing.take(whole)).toBe(whole);
    expect(counted.copiedBytes).toBe(0);
  });

  test("are let go of past the limit, and nothing more is copied until they are taken", () => {
    const growing = createGrowingBytes(10);
    growing.append(new Uint8Array(10));
    const counted = countByteWork();
    for (let index = 0; index < 100; index += 1) growing.append(new Uint8Array(1000));
    expect(counted.copiedBytes).toBe(0);
    expect(growing.sizeBytes).toBe(0);
    expect(growing.take(NOTHING)).toBeNull();
    growing.append(Uint8Array.of(1));
    expect(growing.take(Uint8Array.of(2))).toEqual(Uint8Array.of(1, 2));
  });
});
