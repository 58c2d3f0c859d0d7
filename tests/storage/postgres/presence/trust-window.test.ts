import { expect, test } from "bun:test";
import { TrustWindow } from "#storage/replicas/heartbeat.ts";
import { IdleTimes } from "#storage/replicas/replica-row.ts";

function createClocks() {
  const clock = { ms: 1_000, us: 5_000_000 };
  return { ...clock, monotonicMs: () => clock.ms, nowUs: () => clock.us, clock };
}

test("trust counts from when the question was sent, however late its answer is read", () => {
  const { clock, ...both } = createClocks();
  const trust = new TrustWindow(both, 1_000);
  expect(trust.isOpen()).toBe(false);
  const sentAt = trust.now();
  clock.ms += 900;
  clock.us += 900_000;
  trust.extend(sentAt);
  expect(trust.leftMs()).toBe(100);
  clock.ms += 100;
  clock.us += 100_000;
  expect(trust.isOpen()).toBe(false);
  // An answer that was overtaken takes nothing away.
  const later = trust.now();
  trust.extend(later);
  trust.extend(sentAt);
  expect(trust.isOpen()).toBe(true);
  trust.end();
  expect(trust.isOpen()).toBe(false);
});

test("a machine that was suspended has lost its trust, and a wall clock that is set back gives none", () => {
  const { clock, ...both } = createClocks();
  const trust = new TrustWindow(both, 1_000);
  trust.extend(trust.now());
  // The monotonic clock stood still meanwhile.
  clock.us += 60_000_000;
  expect(trust.isOpen()).toBe(false);
  trust.extend({ ...trust.now(), monotonicMs: clock.ms + 1 });
  clock.us -= 3_600_000_000;
  clock.ms += 1_002;
  expect(trust.isOpen()).toBe(false);
});

test("idle time is measured from when a heartbeat was first seen, and begins anew with another server", () => {
  const idleTimes = new IdleTimes();
  const peer = { id: "a", heartbeats: 7, lane: 1, graceMs: 1_000, isFenced: false };
  idleTimes.observe("one", [peer], 100);
  idleTimes.observe("one", [peer], 900);
  expect(idleTimes.ofPeer(peer, 1_100)).toBe(1_000);
  // One that was not seen yet ends it.
  expect(idleTimes.ofPeer({ ...peer, heartbeats: 8 }, 1_100)).toBe(0);
  // A promoted standby may lack the latest heartbeats.
  idleTimes.observe("two", [peer], 1_200);
  expect(idleTimes.ofPeer(peer, 1_300)).toBe(100);
  idleTimes.observe("two", [], 1_400);
  expect(idleTimes.ofPeer(peer, 9_000)).toBe(0);
});
