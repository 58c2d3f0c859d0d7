import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Limit } from "#limits/limit.ts";
import { Limits } from "#limits/limits.ts";
import type { LimitSet } from "#limits/store.ts";
import { toShare, type BoardAnswer, type LimitBoard, type OpenUse } from "#limits/open-elsewhere.ts";
import type { UsageBeginning } from "#usage/event.ts";
import { ENDING, SUBJECT } from "../ledger/usage.ts";
import { createChance } from "../support/chance.ts";
import { silentLog } from "../storage/support.ts";
import { LIMIT } from "./limit.ts";

const EIGHT: Limit = { ...LIMIT, name: "at once", measure: "concurrent", amount: 8n, window: null };

/** Processes and what they say to each other; their clocks are one, which a test moves on. */
class Site {
  /** What each living process has said; null for one that has said nothing yet. */
  readonly #said = new Map<string, readonly OpenUse[] | null>();
  nowMs = 0;
  asked = 0;

  async open(id: string, limits: readonly Limit[], isAlone = false): Promise<Process> {
    if (!isAlone) this.#said.set(id, null);
    const store = { set: { limits } };
    const gate = new Limits({
      store: { peek: () => store.set, snapshot: async () => store.set },
      ledger: { sumLimits: async () => [] },
      clock: { nowUs: () => this.nowMs * 1_000, monotonicMs: () => this.nowMs },
      log: silentLog,
      board: isAlone ? null : this.#boardOf(id),
    });
    await gate.follow();
    await gate.exchange();
    return new Process(gate, store);
  }

  /** What the database does with a replica that was given up. */
  forget(id: string): void {
    this.#said.delete(id);
  }

  #boardOf(ownId: string): LimitBoard {
    return {
      exchange: async (own): Promise<BoardAnswer> => {
        this.asked += 1;
        this.#said.set(ownId, own);
        const peers = [...this.#said]
          .map(([id, uses]) => ({ id, uses: uses ?? [] }))
          .filter(({ id }) => id !== ownId);
        return { ownId, peers, turn: Math.floor(this.nowMs / 1_000) };
      },
    };
  }
}

class Process {
  readonly gate: Limits;
  readonly open: { readonly request: UsageBeginning; endsAtMs: number }[] = [];
  readonly #store: { set: LimitSet };

  constructor(gate: Limits, store: { set: LimitSet }) {
    this.gate = gate;
    this.#store = store;
  }

  /** As a change of another process does: memory has it, and the gate follows by itself. */
  setLimits(limits: readonly Limit[]): void {
    this.#store.set = { limits };
  }

  /** Whether it was let in. */
  ask(changes: Partial<UsageBeginning> = {}, endsAtMs = Number.POSITIVE_INFINITY): boolean {
    const request = { ...SUBJECT, ...changes };
    try {
      this.gate.admit(request, () => true);
    } catch {
      return false;
    }
    this.gate.began(request);
    this.open.push({ request, endsAtMs });
    return true;
  }

  end(untilMs: number): void {
    for (const one of this.open.filter(({ endsAtMs }) => endsAtMs <= untilMs)) {
      this.open.splice(this.open.indexOf(one), 1);
      this.gate.ended(one.request, ENDING);
    }
  }

  uses() {
    return this.gate.book.listUses(EIGHT.id, 0).map(({ label, amount }) => `${label} ${amount}`.trim());
  }
}

describe("a limit of concurrent requests over several processes", () => {
  test("counts what is open on all of them, for each person by itself, and each of them tells the sum", async () => {
    const site = new Site();
    const limits = [{ ...EIGHT, each: { kind: "principal" }, amount: 3n } as const];
    const [one, two] = [await site.open("1", limits), await site.open("2", limits)];
    const ada = { principalId: "p1", principalName: "ada" };
    const bob = { principalId: "p2", principalName: "bob" };
    expect([one.ask(ada), one.ask(ada), two.ask(bob)]).toEqual([true, true, true]);
    await one.gate.exchange();
    await two.gate.exchange();
    await one.gate.exchange();
    expect(two.uses()).toEqual(["ada 2", "bob 1"]);
    expect(one.uses()).toEqual(["ada 2", "bob 1"]);
    expect(two.gate.book.findUse(EIGHT.id, "p1", 0)).toMatchObject({ label: "ada", amount: 2n });
    // One of hers is left, and what bob has is nothing to her.
    expect([two.ask(ada), two.ask(ada), two.ask(bob), two.ask(bob)]).toEqual([true, false, true, true]);
    expect(() => two.gate.admit({ ...SUBJECT, ...ada }, () => true)).toThrow("3 of 3 requests under way");
    // What others have said stays when the ledger is read again.
    await two.gate.renew();
    expect(two.uses()).toEqual(["ada 3", "bob 3"]);
    one.gate.close();
    two.gate.close();
  });

  test("that was just made is known with all that the others hold from the first request on", async () => {
    const site = new Site();
    const processes = await Promise.all(["1", "2", "3"].map((id) => site.open(id, [])));
    const [one, two, three] = processes;
    if (one === undefined || two === undefined || three === undefined) throw new Error("three were opened");
    for (let count = 0; count < 8; count += 1) expect(one.ask()).toBe(true);
    for (const process of processes) process.setLimits([EIGHT]);
    // The others have not followed yet: the first request waits until each of them has told of the limit.
    const first = two.gate.current(SUBJECT);
    expect(first).toBeInstanceOf(Promise);
    await first;
    expect(two.ask()).toBe(false);
    expect(two.uses()).toEqual(["8"]);
    // Nor does one pass that asks later, which had no request since.
    await three.gate.current(SUBJECT);
    expect(three.ask()).toBe(false);
    expect(two.gate.current(SUBJECT)).toBeNull();
    for (const process of processes) process.gate.close();
  });

  test("does not wait for a process that says nothing for longer than a moment", async () => {
    const site = new Site();
    const one = await site.open("1", []);
    const mute = await site.open("2", []);
    mute.gate.close();
    one.setLimits([EIGHT]);
    await one.gate.current(SUBJECT);
    expect([one.gate.current(SUBJECT), one.ask()]).toEqual([null, true]);
    one.gate.close();
  });

  test("frees what a process had that is gone, and a process that starts anew has nothing open and knows of the others", async () => {
    const site = new Site();
    const [one, two] = [await site.open("1", [EIGHT]), await site.open("2", [EIGHT])];
    for (let count = 0; count < 8; count += 1) expect(one.ask()).toBe(true);
    await one.gate.exchange();
    await two.gate.exchange();
    expect(two.ask()).toBe(false);
    const three = await site.open("3", [EIGHT]);
    expect(three.ask()).toBe(false);
    site.forget("1");
    one.gate.close();
    const anew = await site.open("4", [EIGHT]);
    expect(anew.uses()).toEqual([]);
    await two.gate.exchange();
    expect(two.ask()).toBe(true);
    for (const process of [two, three, anew]) process.gate.close();
  });

  test("asks nobody where there is no such limit, nor where one process is alone", async () => {
    const site = new Site();
    const requests = { ...EIGHT, measure: "requests", window: "day" } as const;
    const other = await site.open("1", [requests]);
    const alone = await site.open("2", [EIGHT], true);
    await other.gate.exchange();
    await alone.gate.exchange();
    expect(site.asked).toBe(0);
    expect(alone.ask()).toBe(true);
    other.gate.close();
    alone.gate.close();
  });

  test.each([
    [8, [14, 9, 9]],
    [8, [30, 2, 1]],
    [3, [5, 5, 5]],
  ] as const)(
    "with %p at once and %p callers it is passed in the first rush alone, and none of them is left without",
    async (amount, callers) => {
      const chance = createChance();
      const site = new Site();
      const limit = { ...EIGHT, amount: BigInt(amount) };
      const processes = await Promise.all(callers.map((_, index) => site.open(`${index}`, [limit])));
      const served = callers.map(() => 0);
      let [rush, most, sum, ticks] = [0, 0, 0, 0];
      for (; site.nowMs < 10_000; site.nowMs += 10) {
        for (const [index, process] of processes.entries()) {
          process.end(site.nowMs);
          // Each comes again as soon as it has been served or refused.
          for (let free = (callers[index] ?? 0) - process.open.length; free > 0; free -= 1)
            if (process.ask({}, site.nowMs + 10 + chance.below(150)))
              served[index] = (served[index] ?? 0) + 1;
          // Each at a time of its own.
          if ((site.nowMs + index * 80) % 250 === 0) await process.gate.exchange();
        }
        const open = processes.reduce((count, process) => count + process.open.length, 0);
        if (site.nowMs < 1_000) {
          rush = Math.max(rush, open);
        } else {
          most = Math.max(most, open);
          sum += open;
          ticks += 1;
        }
      }
      expect(rush).toBeLessThanOrEqual(amount * callers.length);
      expect(most).toBeLessThanOrEqual(amount);
      // Nor is it kept from being used.
      expect(sum / ticks).toBeGreaterThan(amount * 0.8);
      for (const count of served) expect(count).toBeGreaterThan(50);
      for (const process of processes) process.gate.close();
    },
  );

  test("where it is passed each keeps its share of what it has, and none lets in more", async () => {
    const site = new Site();
    const limits = [{ ...EIGHT, amount: 4n }];
    const processes = await Promise.all(["1", "2"].map((id) => site.open(id, limits)));
    for (const process of processes)
      for (let count = 0; count < 4; count += 1) expect(process.ask()).toBe(true);
    for (let turn = 0; turn < 2; turn += 1) for (const process of processes) await process.gate.exchange();
    for (const process of processes) {
      for (const one of process.open.slice(2)) one.endsAtMs = 0;
      process.end(0);
      // Two of four are its share, also while the other still has more.
      expect(process.ask()).toBe(false);
      Object.assign(process.open[0] ?? {}, { endsAtMs: 0 });
      process.end(0);
      expect([process.ask(), process.ask()]).toEqual([true, false]);
      process.gate.close();
    }
  });

  test("processes that want more than there is come to shares that add up to it, each by itself", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 8 }),
        fc.nat(100),
        fc.nat(9),
        (amount, count, turn, excess) => {
          const all = Array.from({ length: count }, (_, id) => ({ id: `${id}`, wanted: amount + excess }));
          const shares = all.map(({ id }) =>
            toShare(
              { amount, ownId: id, turn },
              all.filter((one) => one.id !== id),
            ),
          );
          expect(shares.reduce((sum, share) => sum + share, 0)).toBe(amount);
          expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
        },
      ),
    );
    const other = (wanted: number, id = "b") => ({ id, wanted });
    expect(toShare({ amount: 8, ownId: "a", turn: 0 }, [])).toBe(8);
    expect(toShare({ amount: 8, ownId: "a", turn: 0 }, [other(2)])).toBe(6);
    expect(toShare({ amount: 8, ownId: "a", turn: 0 }, [other(8), other(1, "c")])).toBe(4);
    // One that two want is each one's in turn.
    expect([0, 1, 2].map((turn) => toShare({ amount: 1, ownId: "a", turn }, [other(1)]))).toEqual([1, 0, 1]);
  });
});
