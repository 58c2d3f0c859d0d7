import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { toLoan, TURN_MS } from "#storage/replicas/slot-shares.ts";

const borrower = { lent: 0, wanted: 0, starvedMs: 0, isAsking: true };
const request = { limit: 8, keep: 0, wanted: 0, starvedMs: 0, canGrow: true };

describe("what a replica may have of the slots of a host", () => {
  test("it has what it wants of what the others leave, and never more", () => {
    expect(toLoan({ ...request, wanted: 3 }, [])).toEqual({ lent: 3, share: null });
    expect(toLoan({ ...request, wanted: 3 }, [{ ...borrower, lent: 6, wanted: 6 }])).toEqual({
      lent: 2,
      share: null,
    });
    // One that has said nothing for a while holds what it has.
    const silent = { ...borrower, lent: 8, isAsking: false };
    expect(toLoan({ ...request, wanted: 3 }, [silent])).toEqual({ lent: 0, share: null });
    expect(toLoan({ ...request, wanted: 3, canGrow: false }, [])).toEqual({ lent: 0, share: null });
  });

  test("while another is short it has its share, and what one wants less than its share goes to the others", () => {
    const greedy = { ...request, keep: 8, wanted: 8 };
    expect(toLoan(greedy, [{ ...borrower, wanted: 1 }])).toEqual({ lent: 8, share: 7 });
    expect(toLoan(greedy, [{ ...borrower, wanted: 8 }])).toEqual({ lent: 8, share: 4 });
    expect(toLoan({ ...greedy, keep: 2 }, [{ ...borrower, lent: 3, wanted: 8 }])).toEqual({
      lent: 4,
      share: 4,
    });
  });

  test("a slot too few stays where it is for a turn, then goes to who has starved", () => {
    const one = { ...request, limit: 1, keep: 1, wanted: 4 };
    expect(toLoan(one, [{ ...borrower, wanted: 4, starvedMs: TURN_MS - 1 }]).share).toBe(1);
    expect(toLoan(one, [{ ...borrower, wanted: 4, starvedMs: TURN_MS }]).share).toBe(0);
    const starved = { ...request, limit: 1, wanted: 4, starvedMs: TURN_MS };
    expect(toLoan(starved, [{ ...borrower, lent: 1, wanted: 4 }])).toEqual({ lent: 0, share: 1 });
  });

  test("whatever replicas claim in whatever order, no more is lent than the limit", () => {
    const step = fc.record({
      who: fc.nat(3),
      wanted: fc.nat(12),
      keep: fc.nat(12),
      starvedMs: fc.nat(2_000),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.array(step, { maxLength: 40 }), (limit, steps) => {
        const all = Array.from({ length: 4 }, () => ({ ...borrower }));
        for (const { who, wanted, keep, starvedMs } of steps) {
          const own = all[who];
          if (own === undefined) return;
          const others = all.filter((one) => one !== own);
          const kept = Math.min(keep, own.lent);
          const { lent } = toLoan({ limit, keep: kept, wanted, starvedMs, canGrow: true }, others);
          expect(lent).toBeGreaterThanOrEqual(kept);
          Object.assign(own, { lent, wanted, starvedMs: lent === 0 ? starvedMs : 0 });
          expect(all.reduce((sum, one) => sum + one.lent, 0)).toBeLessThanOrEqual(limit);
        }
      }),
    );
  });
});
