import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { HeldShare } from "#forward/held-budget.ts";
import { createHeldBudget, UNCOUNTED_BYTES_MAX } from "#forward/held-budget.ts";

/** Sizes here are multiples of it, so that they stay on their side of what is not counted. */
const PART = UNCOUNTED_BYTES_MAX / 64;
const forever = new AbortController().signal;

describe("the budget of held answers", () => {
  test("takes no notice of short answers, however many there are", () => {
    const budget = createHeldBudget({ bytesMax: 100 * PART, totalBytesMax: 100 * PART });
    for (let count = 0; count < 50; count += 1) {
      expect(budget.open({ lengthBytes: null, signal: forever }).cover(UNCOUNTED_BYTES_MAX)).toBeNull();
      expect(
        budget.open({ lengthBytes: UNCOUNTED_BYTES_MAX, signal: forever }).cover(UNCOUNTED_BYTES_MAX),
      ).toBeNull();
    }
  });

  test("gives an answer of known length all its room before its first byte, in order of arrival", async () => {
    const budget = createHeldBudget({ bytesMax: 1_000 * PART, totalBytesMax: 1_000 * PART });
    const open = (lengthBytes: number) => budget.open({ lengthBytes, signal: forever });
    const [first, second, third] = [open(600 * PART), open(700 * PART), open(100 * PART)];
    expect(first.cover(0)).toBeNull();
    const order: string[] = [];
    const enter = async (share: HeldShare, name: string) => {
      const wait = share.cover(0);
      if (wait !== null) await wait;
      order.push(name);
    };
    const waiting = [enter(second, "second"), enter(third, "third")];
    // The third would have room, but it came later.
    expect(budget.waitingCount()).toBe(2);
    first.complete();
    first.giveBack(200 * PART);
    expect(budget.waitingCount()).toBe(2);
    first.giveBack(200 * PART);
    await Promise.all(waiting);
    expect(order).toEqual(["second", "third"]);
    expect(second.cover(700 * PART)).toBeNull();
  });

  test("lets an answer through that is larger than all of it together", () => {
    const budget = createHeldBudget({ bytesMax: 900 * PART, totalBytesMax: 100 * PART });
    expect(budget.open({ lengthBytes: 900 * PART, signal: forever }).cover(0)).toBeNull();
  });

  test("ends the wait of an answer that is closed, whose room nobody else loses", async () => {
    const budget = createHeldBudget({ bytesMax: 500 * PART, totalBytesMax: 500 * PART });
    const first = budget.open({ lengthBytes: 400 * PART, signal: forever });
    expect(first.cover(0)).toBeNull();
    const left = budget.open({ lengthBytes: 300 * PART, signal: forever });
    const wait = left.cover(0);
    left.close();
    expect(
      await wait?.then(
        () => "has entered",
        () => "has left",
      ),
    ).toBe("has left");
    expect(budget.waitingCount()).toBe(0);
    first.close();
    expect(budget.open({ lengthBytes: 500 * PART, signal: forever }).cover(0)).toBeNull();
  });

  test("ends the wait of an answer that is cut off, and who stands behind it goes on", async () => {
    const budget = createHeldBudget({ bytesMax: 500 * PART, totalBytesMax: 500 * PART });
    const cut = new AbortController();
    expect(budget.open({ lengthBytes: 400 * PART, signal: forever }).cover(0)).toBeNull();
    const large = budget.open({ lengthBytes: 500 * PART, signal: cut.signal }).cover(0);
    const small = budget.open({ lengthBytes: 100 * PART, signal: forever }).cover(0);
    expect(budget.waitingCount()).toBe(2);
    cut.abort();
    expect(large).rejects.toThrow("cut off");
    await small;
    expect(budget.waitingCount()).toBe(0);
    const late = budget.open({ lengthBytes: 500 * PART, signal: cut.signal });
    expect(late.cover(0)).rejects.toThrow("cut off");
    expect(budget.waitingCount()).toBe(0);
  });

  test("has its bytes back when a share is closed, once, whatever had left before", () => {
    const budget = createHeldBudget({ bytesMax: 500 * PART, totalBytesMax: 500 * PART });
    for (let round = 0; round < 3; round += 1) {
      const share = budget.open({ lengthBytes: 500 * PART, signal: forever });
      expect(share.cover(0)).toBeNull();
      share.giveBack(300 * PART);
      share.close();
      share.giveBack(300 * PART);
      share.close();
    }
    expect(budget.open({ lengthBytes: 500 * PART, signal: forever }).cover(0)).toBeNull();
    expect(budget.open({ lengthBytes: 100 * PART, signal: forever }).cover(0)).not.toBeNull();
  });

  test("is never exceeded, and answers of any size and order never wait for one another for ever", async () => {
    const answer = fc.record({
      sizeBytes: fc.integer({ min: 1, max: 1_000 * PART }),
      isKnown: fc.boolean(),
      pieceBytes: fc.integer({ min: 20 * PART, max: 300 * PART }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(answer, { maxLength: 12 }),
        fc.integer({ min: 0, max: 3_000 * PART }),
        fc.scheduler(),
        async (answers, totalBytesMax, scheduler) => {
          const bytesMax = 1_000 * PART;
          const budget = createHeldBudget({ bytesMax, totalBytesMax });
          let countedBytes = 0;
          const pass = async ({ sizeBytes, isKnown, pieceBytes }: (typeof answers)[number]) => {
            const share = budget.open({ lengthBytes: isKnown ? sizeBytes : null, signal: forever });
            let heldBytes = 0;
            const cover = async (bytes: number) => {
              const wait = share.cover(bytes);
              if (wait !== null) await wait;
              const covered = isKnown ? sizeBytes : bytes;
              if (covered <= UNCOUNTED_BYTES_MAX) return;
              countedBytes += covered - heldBytes;
              heldBytes = covered;
              expect(countedBytes).toBeLessThanOrEqual(Math.max(totalBytesMax, bytesMax));
            };
            await cover(0);
            for (let bytes = 0; bytes < sizeBytes;) {
              await scheduler.schedule(Promise.resolve());
              bytes = Math.min(sizeBytes, bytes + pieceBytes);
              await cover(bytes);
            }
            share.complete();
            await scheduler.schedule(Promise.resolve());
            countedBytes -= heldBytes;
            share.close();
          };
          const all = Promise.all(answers.map(pass));
          await scheduler.waitFor(all);
          expect(countedBytes).toBe(0);
          expect(budget.waitingCount()).toBe(0);
        },
      ),
      { numRuns: 200 },
    );
  });
});
