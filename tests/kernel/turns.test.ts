import { describe, expect, test } from "bun:test";
import { Turns } from "#kernel/turns.ts";

describe("requests that are ready in one turn of the event loop", () => {
  test("go on together and in order", async () => {
    const turns = new Turns();
    const seen: string[] = [];
    const wait = async (name: string) => {
      await turns.next();
      seen.push(name);
    };
    const first = wait("first");
    await Promise.resolve();
    const second = wait("second");
    await Promise.resolve();
    expect(seen, "none goes on in a microtask").toEqual([]);
    await Promise.all([first, second]);
    expect(seen).toEqual(["first", "second"]);
  });

  test("do not hold up the event loop by more than 64 of them at once, and none is forgotten", async () => {
    const turns = new Turns();
    let turn = 0;
    const wentOnIn: number[] = [];
    const all = Array.from({ length: 150 }, () => turns.next().then(() => void wentOnIn.push(turn)));
    for (; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    await Promise.all(all);
    const counts = [0, 1, 2, 3, 4].map((at) => wentOnIn.filter((seen) => seen === at).length);
    expect(Math.max(...counts)).toBe(64);
    expect(counts.reduce((sum, count) => sum + count)).toBe(150);
  });

  test("of a later turn begin anew when the one before has ended", async () => {
    const turns = new Turns();
    await turns.next();
    await turns.next();
    const [a, b] = [turns.next(), turns.next()];
    expect(a).toBe(b);
    await a;
    expect(turns.next()).not.toBe(a);
  });

  test("have a turn each where only one of them may go on at once", async () => {
    const turns = new Turns(1);
    let turn = 0;
    const wentOnIn: number[] = [];
    const all = Array.from({ length: 3 }, () => turns.next().then(() => void wentOnIn.push(turn)));
    for (; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    await Promise.all(all);
    expect(new Set(wentOnIn).size).toBe(3);
  });
});
