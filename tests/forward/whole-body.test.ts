import { expect, test } from "bun:test";
import { createScanBudget, SCANNED_BYTES_MAX, readWholeBody } from "#forward/relay-body.ts";
import type { BodySource } from "#forward/upstream.ts";

const PIECE_BYTES = 1024 * 1024;
/** More than half of what one principal may keep. */
const PIECES = 20;

/** Pieces, the last of which comes when it is let go. */
function createSource(pieceCount: number, { isHeld = false, sizeBytes = null as number | null } = {}) {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const { promise: waits, resolve: reached } = Promise.withResolvers<void>();
  let left = pieceCount;
  const source: BodySource = {
    sizeBytes,
    async next() {
      if (left === 0) return null;
      if (left === 1 && isHeld) {
        reached();
        await held;
      }
      left -= 1;
      return new Uint8Array(PIECE_BYTES).fill(left);
    },
  };
  return { source, letGo, waits, leftCount: () => left };
}

test("a principal's large bodies are busy beside its others, and nobody else's are", async () => {
  const budget = createScanBudget();
  const first = createSource(PIECES, { isHeld: true });
  const reading = readWholeBody(first.source, budget.of("ada"));
  await first.waits;
  const refusal = await readWholeBody(createSource(PIECES).source, budget.of("ada")).catch(
    (failure: unknown) => failure,
  );
  expect(refusal).toMatchObject({ code: "busy", status: 503, retryAfterSeconds: 5 });
  // What the refused one had come to keep was given back: a shorter one has room, and so has another's.
  const short = await readWholeBody(createSource(5).source, budget.of("ada"));
  expect(short.length).toBe(5 * PIECE_BYTES);
  const bobs = await readWholeBody(createSource(PIECES).source, budget.of("bob"));
  expect(bobs.length).toBe(PIECES * PIECE_BYTES);
  first.letGo();
  const whole = await reading;
  expect([whole.length, whole.at(0), whole.at(-1)]).toEqual([PIECES * PIECE_BYTES, PIECES - 1, 0]);
});

test.each([null, SCANNED_BYTES_MAX + 1])(
  "a body that is too large to be looked at is invalid_request, also when its length (%p) says so beforehand",
  async (sizeBytes) => {
    const budget = createScanBudget();
    const pieceCount = SCANNED_BYTES_MAX / PIECE_BYTES + 1;
    const { source, leftCount } = createSource(pieceCount, { sizeBytes });
    const refusal = await readWholeBody(source, budget.of("ada")).catch((failure: unknown) => failure);
    expect(refusal).toMatchObject({ code: "invalid_request", param: "model" });
    expect(leftCount()).toBe(sizeBytes === null ? 0 : pieceCount);
    expect(budget.of("ada").take(SCANNED_BYTES_MAX)).toBe(true);
  },
);

test("a body that breaks off gives back what was kept, and its own failure is told", async () => {
  const budget = createScanBudget();
  const broken = new Error("broke off");
  let isFirst = true;
  const source: BodySource = {
    sizeBytes: null,
    async next() {
      if (!isFirst) throw broken;
      isFirst = false;
      return new Uint8Array(PIECE_BYTES);
    },
  };
  expect(await readWholeBody(source, budget.of("ada")).catch((failure: unknown) => failure)).toBe(broken);
  expect(budget.of("ada").take(SCANNED_BYTES_MAX)).toBe(true);
});
