import { expect, test } from "bun:test";
import { JournalBacklog } from "#storage/journal/backlog.ts";

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

test("the oldest line that waits is as old as its write, to some seconds, whatever came after it", () => {
  let nowMs = 1_000_000;
  const backlog = new JournalBacklog(new Map(), { segment: 0, offsetBytes: 0 }, () => nowMs);
  const pass = (seconds: number) => (nowMs += seconds * 1000);
  expect(backlog.ageMs).toBe(0);
  pass(100);
  backlog.grow(1, 10);
  pass(1);
  backlog.grow(1, 10);
  pass(59);
  backlog.grow(1, 10);
  backlog.grow(2, 10);
  expect(backlog.ageMs).toBe(60_000);
  // The second line is not told apart from the first, which came a second before it.
  backlog.commit({ segment: 1, offsetBytes: 10 });
  expect(backlog.ageMs).toBe(60_000);
  pass(5);
  backlog.commit({ segment: 1, offsetBytes: 20 });
  expect(backlog.ageMs).toBe(5_000);
  backlog.commit({ segment: 2, offsetBytes: 10 });
  expect(backlog.ageMs).toBe(0);
  pass(100);
  backlog.grow(2, 1);
  expect(backlog.ageMs).toBe(0);
});

test("what a process before has left waits since the start of this one", () => {
  let nowMs = 0;
  const backlog = new JournalBacklog(new Map([[4, 50]]), { segment: 4, offsetBytes: 10 }, () => nowMs);
  nowMs = 7_000;
  expect(backlog.ageMs).toBe(7_000);
  backlog.commit({ segment: 4, offsetBytes: 50 });
  expect(backlog.ageMs).toBe(0);
});
