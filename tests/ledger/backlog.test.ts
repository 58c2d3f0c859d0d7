import { expect, test } from "bun:test";
import { JournalBacklog } from "#storage/ledger/journal/backlog.ts";

test("the backlog is what was written and not committed, over segments of this process and of earlier ones", () => {
  const found = new Map([
    [3, 100],
    [4, 50],
  ]);
  const backlog = new JournalBacklog(found, { segment: 3, offsetBytes: 40 });
  expect(backlog.bytes).toBe(110);
  backlog.grow(5, 20);
  backlog.grow(5, 5);
  expect(backlog.bytes).toBe(135);
  backlog.commit({ segment: 4, offsetBytes: 10 });
  expect(backlog.bytes).toBe(65);
  backlog.commit({ segment: 5, offsetBytes: 25 });
  expect(backlog.bytes).toBe(0);
  // The next segment has begun and is still empty.
  backlog.commit({ segment: 6, offsetBytes: 0 });
  expect(backlog.bytes).toBe(0);
  backlog.grow(6, 7);
  expect(backlog.bytes).toBe(7);
});

test("segments that were committed before the start do not count, removed or not", () => {
  const left = new JournalBacklog(new Map([[1, 100]]), { segment: 2, offsetBytes: 0 });
  expect(left.bytes).toBe(0);
  const removed = new JournalBacklog(new Map(), { segment: 2, offsetBytes: 70 });
  expect(removed.bytes).toBe(0);
});
