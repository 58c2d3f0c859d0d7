import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatheredBytes } from "#kernel/bytes.ts";

describe("bytes that come in pieces", () => {
  test("are one array in the order in which they came, whatever the pieces, which stay as they are", () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      fc.integer({ min: 4_000, max: 20_000 }).map((size) => new Uint8Array(size).fill(size % 251)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const sent = Buffer.concat(pieces);
        const gathered = new GatheredBytes();
        for (const each of pieces) gathered.push(each);
        expect(gathered.sizeBytes).toBe(sent.length);
        expect(Buffer.compare(Buffer.concat(pieces), sent)).toBe(0);
        const whole = gathered.moveIntoOne();
        expect(Buffer.compare(whole, sent)).toBe(0);
        // Memory of its own, which may be freed.
        expect(whole.buffer.byteLength).toBe(whole.length);
        expect(gathered.sizeBytes).toBe(0);
        expect(gathered.moveIntoOne()).toHaveLength(0);
      }),
    );
  });

  test("do not take more memory because the pieces are short", () => {
    const gathered = new GatheredBytes();
    const piece = new Uint8Array([7]);
    Bun.gc(true);
    const before = process.memoryUsage();
    for (let count = 0; count < 1_000_000; count += 1) gathered.push(piece);
    Bun.gc(true);
    const after = process.memoryUsage();
    // An array for each would be a hundred times as much.
    expect(after.heapUsed - before.heapUsed + after.external - before.external).toBeLessThan(4_000_000);
    expect(gathered.moveIntoOne()).toHaveLength(1_000_000);
  });
});
