import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Reservation } from "#kernel/memory-semaphore.ts";
import { createMemorySemaphore, UNCOUNTED_BYTES_MAX } from "#kernel/memory-semaphore.ts";

/** Sizes here are multiples of it, so that they stay on their side of what is not counted. */
const PART = UNCOUNTED_BYTES_MAX / 64;
const forever = new AbortController().signal;

describe("the semaphore of held answers", () => {
  test("takes no notice of short answers, however many there are", () => {
    const semaphore = createMemorySemaphore({ bytesMax: 100 * PART, totalBytesMax: 100 * PART });
    for (let count = 0; count < 50; count += 1) {
      expect(
        semaphore.reserve({ lengthBytes: null, signal: forever }).acquire(UNCOUNTED_BYTES_MAX),
      ).toBeNull();
      expect(
        semaphore.reserve({ lengthBytes: UNCOUNTED_BYTES_MAX, signal: forever }).acquire(UNCOUNTED_BYTES_MAX),
      ).toBeNull();
    }
  });

  test("gives an answer of known length all its room before its first byte, in order of arrival", async () => {
    const semaphore = createMemorySemaphore({ bytesMax: 1_000 * PART, totalBytesMax: 1_000 * PART });
    const open = (lengthBytes: number) => semaphore.reserve({ lengthBytes, signal: forever });
    const [first, second, third] = [open(600 * PART), open(700 * PART), open(100 * PART)];
    expect(first.acquire(0)).toBeNull();
    const order: string[] = [];
    const enter = async (reservation: Reservation, name: string) => {
      const wait = reservation.acquire(0);
      if (wait !== null) await wait;
      order.push(name);
    };
    const waiting = [enter(second, "second"), enter(third, "third")];
    // The third would have room, but it came later.
    expect(semaphore.waitingCount()).toBe(2);
    first.complete();
    first.release(200 * PART);
    expect(semaphore.waitingCount()).toBe(2);
    first.release(200 * PART);
    await Promise.all(waiting);
    expect(order).toEqual(["second", "third"]);
    expect(second.acquire(700 * PART)).toBeNull();
  });

  test("lets an answer through that is larger than all of it together", () => {
    const semaphore = createMemorySemaphore({ bytesMax: 900 * PART, totalBytesMax: 100 * PART });
    expect(semaphore.reserve({ lengthBytes: 900 * PART, signal: forever }).acquire(0)).toBeNull();
  });

  test("ends the wait of an answer that is closed, whose room nobody else loses", async () => {
    const semaphore = createMemorySemaphore({ bytesMax: 500 * PART, totalBytesMax: 500 * PART });
    const first = semaphore.reserve({ lengthBytes: 400 * PART, signal: forever });
    expect(first.acquire(0)).toBeNull();
    const left = semaphore.reserve({ lengthBytes: 300 * PART, signal: forever });
    const wait = left.acquire(0);
    left.close();
    expect(
      await wait?.then(
        () => "has entered",
        () => "has left",
      ),
    ).toBe("has left");
    expect(semaphore.waitingCount()).toBe(0);
    first.close();
    expect(semaphore.reserve({ lengthBytes: 500 * PART, signal: forever }).acquire(0)).toBeNull();
  });

  test("ends the wait of an answer that is cut off, and who stands behind it goes on", async () => {
    const semaphore = createMemorySemaphore({ bytesMax: 500 * PART, totalBytesMax: 500 * PART });
    const cut = new AbortController();
    expect(semaphore.reserve({ lengthBytes: 400 * PART, signal: forever }).acquire(0)).toBeNull();
    const large = semaphore.reserve({ lengthBytes: 500 * PART, signal: cut.signal }).acquire(0);
    const small = semaphore.reserve({ lengthBytes: 100 * PART, signal: forever }).acquire(0);
    expect(semaphore.waitingCount()).toBe(2);
    cut.abort();
    expect(large).rejects.toThrow("aborted");
    await small;
    expect(semaphore.waitingCount()).toBe(0);
    const late = semaphore.reserve({ lengthBytes: 500 * PART, signal: cut.signal });
    expect(late.acquire(0)).rejects.toThrow("aborted");
    expect(semaphore.waitingCount()).toBe(0);
  });

  test("has its bytes back when a reservation is closed, once, whatever had left before", () => {
    const semaphore = createMemorySemaphore({ bytesMax: 500 * PART, totalBytesMax: 500 * PART });
    for (let round = 0; round < 3; round += 1) {
      const reservation = semaphore.reserve({ lengthBytes: 500 * PART, signal: forever });
      expect(reservation.acquire(0)).toBeNull();
      reservation.release(300 * PART);
      reservation.close();
      reservation.release(300 * PART);
      reservation.close();
    }
    expect(semaphore.reserve({ lengthBytes: 500 * PART, signal: forever }).acquire(0)).toBeNull();
    expect(semaphore.reserve({ lengthBytes: 100 * PART, signal: forever }).acquire(0)).not.toBeNull();
  });

  test("of one owner is used up by that owner alone: who waits for it keeps nobody else waiting", async () => {
    const semaphore = createMemorySemaphore({
      bytesMax: 200 * PART,
      totalBytesMax: 800 * PART,
      shareBytesMax: 200 * PART,
    });
    const open = (owner: string, lengthBytes: number) =>
      semaphore.reserve({ lengthBytes, signal: forever, owner });
    const first = open("ada", 120 * PART);
    expect(first.acquire(0)).toBeNull();
    const second = open("ada", 150 * PART).acquire(0);
    expect(second).not.toBeNull();
    // Would fit, and came later than one of its owner.
    expect(open("ada", 70 * PART).acquire(0)).not.toBeNull();
    for (const owner of ["bob", "eve", "kim"]) expect(open(owner, 200 * PART).acquire(0)).toBeNull();
    expect([semaphore.waitingCount(), semaphore.waitingCount("ada"), semaphore.waitingCount("bob")]).toEqual([
      2, 2, 0,
    ]);
    first.close();
    await second;
    expect(semaphore.waitingCount()).toBe(1);
  });

  test("is never exceeded, and answers of any size and order never wait for one another for ever", async () => {
    const answer = fc.record({
      sizeBytes: fc.integer({ min: 1, max: 1_000 * PART }),
      isKnown: fc.boolean(),
      pieceBytes: fc.integer({ min: 20 * PART, max: 300 * PART }),
      owner: fc.constantFrom("ada", "bob", null),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(answer, { maxLength: 12 }),
        fc.integer({ min: 0, max: 3_000 * PART }),
        fc.integer({ min: 0, max: 2_000 * PART }),
        fc.scheduler(),
        async (answers, totalBytesMax, shareBytesMax, scheduler) => {
          const bytesMax = 1_000 * PART;
          const semaphore = createMemorySemaphore({ bytesMax, totalBytesMax, shareBytesMax });
          let countedBytes = 0;
          const ownedBytes = { ada: 0, bob: 0 };
          const count = (owner: "ada" | "bob" | null, bytes: number) => {
            countedBytes += bytes;
            if (owner !== null) ownedBytes[owner] += bytes;
          };
          const pass = async ({ sizeBytes, isKnown, pieceBytes, owner }: (typeof answers)[number]) => {
            const reservation = semaphore.reserve({
              lengthBytes: isKnown ? sizeBytes : null,
              signal: forever,
              ...(owner !== null && { owner }),
            });
            let heldBytes = 0;
            const cover = async (bytes: number) => {
              const wait = reservation.acquire(bytes);
              if (wait !== null) await wait;
              const covered = isKnown ? sizeBytes : bytes;
              if (covered <= UNCOUNTED_BYTES_MAX) return;
              count(owner, covered - heldBytes);
              heldBytes = covered;
              const shareMax = Math.max(shareBytesMax, bytesMax);
              expect(Math.max(ownedBytes.ada, ownedBytes.bob)).toBeLessThanOrEqual(shareMax);
              expect(countedBytes).toBeLessThanOrEqual(Math.max(totalBytesMax, bytesMax));
            };
            await cover(0);
            for (let bytes = 0; bytes < sizeBytes;) {
              await scheduler.schedule(Promise.resolve());
              bytes = Math.min(sizeBytes, bytes + pieceBytes);
              await cover(bytes);
            }
            reservation.complete();
            await scheduler.schedule(Promise.resolve());
            count(owner, -heldBytes);
            reservation.close();
          };
          const all = Promise.all(answers.map(pass));
          await scheduler.waitFor(all);
          expect(countedBytes).toBe(0);
          expect(semaphore.waitingCount()).toBe(0);
        },
      ),
      { numRuns: 200 },
    );
  });
});
