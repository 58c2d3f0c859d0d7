import { describe, expect, test } from "bun:test";
import type { Slot } from "#forward/gate.ts";
import { createGate, LINE_LENGTH_MAX } from "#forward/gate.ts";

const never = new AbortController().signal;
const lane = (maxConcurrency: number | null, name = "provider host") => ({ lane: name, maxConcurrency });

describe("the gate", () => {
  test("lets as many in as the cap says and serves who waits in order", async () => {
    const gate = createGate();
    const first = mustEnter(gate.tryEnter(lane(2)));
    const second = mustEnter(gate.tryEnter(lane(2)));
    expect(gate.tryEnter(lane(2))).toBeNull();
    const order: string[] = [];
    const a = note(gate.wait(lane(2), never), "a", order);
    const b = note(gate.wait(lane(2), never), "b", order);
    const c = note(gate.wait(lane(2), never), "c", order);
    expect(order).toEqual([]);
    second.release();
    mustEnter(await a).release();
    mustEnter(await b);
    expect(order).toEqual(["a", "b"]);
    first.release();
    await c;
    expect(order).toEqual(["a", "b", "c"]);
  });

  test("nobody overtakes those who wait", async () => {
    const gate = createGate();
    const slot = mustEnter(gate.tryEnter(lane(1)));
    const waiting = gate.wait(lane(1), never);
    slot.release();
    // The slot is given on at once, so that somebody new finds none.
    expect(gate.tryEnter(lane(1))).toBeNull();
    mustEnter(await waiting).release();
    expect(gate.tryEnter(lane(1))).not.toBeNull();
  });

  test("who leaves the line is passed over and takes no slot along", async () => {
    const gate = createGate();
    const slot = mustEnter(gate.tryEnter(lane(1)));
    const impatient = new AbortController();
    const left = gate.wait(lane(1), impatient.signal);
    const stayed = gate.wait(lane(1), never);
    impatient.abort();
    expect(await left).toBeNull();
    slot.release();
    mustEnter(await stayed).release();
    const aborted = new AbortController();
    aborted.abort();
    expect(await gate.wait(lane(1), aborted.signal)).toBeNull();
    expect(gate.tryEnter(lane(1))).not.toBeNull();
  });

  test("releasing twice gives back one slot only", () => {
    const gate = createGate();
    const first = mustEnter(gate.tryEnter(lane(2)));
    mustEnter(gate.tryEnter(lane(2)));
    first.release();
    first.release();
    expect(gate.tryEnter(lane(2))).not.toBeNull();
    expect(gate.tryEnter(lane(2))).toBeNull();
  });

  test("lanes do not hinder one another", () => {
    const gate = createGate();
    expect(gate.tryEnter(lane(1, "one host"))).not.toBeNull();
    expect(gate.tryEnter(lane(1, "other host"))).not.toBeNull();
    expect(gate.tryEnter(lane(1, "one host"))).toBeNull();
  });

  test("a raised cap that the next request brings lets the line move at once, a lowered one is reached as slots come back", async () => {
    const gate = createGate();
    const slots = [mustEnter(gate.tryEnter(lane(1)))];
    const waiting = [gate.wait(lane(1), never), gate.wait(lane(1), never)];
    expect(gate.tryEnter(lane(3))).toBeNull();
    for (const wait of waiting) slots.push(mustEnter(await wait));
    expect(gate.tryEnter(lane(1))).toBeNull();
    slots.pop()?.release();
    slots.pop()?.release();
    expect(gate.tryEnter(lane(1))).toBeNull();
    slots.pop()?.release();
    expect(gate.tryEnter(lane(1))).not.toBeNull();
  });

  test("who entered while there was no cap counts when there is one", () => {
    const gate = createGate();
    const slots = [1, 2, 3].map(() => mustEnter(gate.tryEnter(lane(null))));
    expect(gate.tryEnter(lane(3))).toBeNull();
    slots[0]?.release();
    expect(gate.tryEnter(lane(3))).not.toBeNull();
  });

  test("a line that is full takes nobody more, and moves on for those who are in it", async () => {
    const gate = createGate();
    const request = { lane: "a", maxConcurrency: 1 };
    const slot = gate.tryEnter(request);
    const { signal } = new AbortController();
    const waiting = Array.from({ length: LINE_LENGTH_MAX }, () => gate.wait(request, signal));
    expect(await gate.wait(request, signal)).toBeNull();
    slot?.release();
    expect(await waiting[0]).not.toBeNull();
    const second = waiting[1]?.then(() => "entered");
    expect(await Promise.race([second, Bun.sleep(0).then(() => "still waiting")])).toBe("still waiting");
  });
});

function mustEnter(slot: Slot | null): Slot {
  if (slot === null) throw new Error("no slot");
  return slot;
}

async function note(wait: Promise<Slot | null>, name: string, order: string[]): Promise<Slot | null> {
  const slot = await wait;
  order.push(name);
  return slot;
}
