import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { toGrant, TURN_MS } from "#storage/replicas/slot-pool.ts";

const tenant = { slots: 0, wanted: 0, starvedMs: 0, isAsking: true };
const request = { limit: 8, keep: 0, wanted: 0, starvedMs: 0, canGrow: true };

describe("what a replica may have of the slots of a host", () => {
  test("it has what it wants of what the others leave, and never more", () => {
    expect(toGrant({ ...request, wanted: 3 }, [])).toEqual({ slots: 3, quota: null });
    expect(toGrant({ ...request, wanted: 3 }, [{ ...tenant, slots: 6, wanted: 6 }])).toEqual({
      slots: 2,
      quota: null,
    });
    // One that has said nothing for a while holds what it has.
    const sislots = { ...tenant, slots: 8, isAsking: false };
    expect(toGrant({ ...request, wanted: 3 }, [sislots])).toEqual({ slots: 0, quota: null });
    expect(toGrant({ ...request, wanted: 3, canGrow: false }, [])).toEqual({ slots: 0, quota: null });
  });

  test("while another is short it has its quota, and what one wants less than its quota goes to the others", () => {
    const greedy = { ...request, keep: 8, wanted: 8 };
    expect(toGrant(greedy, [{ ...tenant, wanted: 1 }])).toEqual({ slots: 8, quota: 7 });
    expect(toGrant(greedy, [{ ...tenant, wanted: 8 }])).toEqual({ slots: 8, quota: 4 });
    expect(toGrant({ ...greedy, keep: 2 }, [{ ...tenant, slots: 3, wanted: 8 }])).toEqual({
      slots: 4,
      quota: 4,
    });
  });

  test("a slot too few stays where it is for a turn, then goes to who has starved", () => {
    const one = { ...request, limit: 1, keep: 1, wanted: 4 };
    expect(toGrant(one, [{ ...tenant, wanted: 4, starvedMs: TURN_MS - 1 }]).quota).toBe(1);
    expect(toGrant(one, [{ ...tenant, wanted: 4, starvedMs: TURN_MS }]).quota).toBe(0);
    const starved = { ...request, limit: 1, wanted: 4, starvedMs: TURN_MS };
    expect(toGrant(starved, [{ ...tenant, slots: 1, wanted: 4 }])).toEqual({ slots: 0, quota: 1 });
  });

  test("whatever replicas claim in whatever order, no more is leased than the limit", () => {
    const step = fc.record({
      who: fc.nat(3),
      wanted: fc.nat(12),
      keep: fc.nat(12),
      starvedMs: fc.nat(2_000),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.array(step, { maxLength: 40 }), (limit, steps) => {
        const all = Array.from({ length: 4 }, () => ({ ...tenant }));
        for (const { who, wanted, keep, starvedMs } of steps) {
          const own = all[who];
          if (own === undefined) return;
          const others = all.filter((one) => one !== own);
          const kept = Math.min(keep, own.slots);
          const { slots } = toGrant({ limit, keep: kept, wanted, starvedMs, canGrow: true }, others);
          expect(slots).toBeGreaterThanOrEqual(kept);
          Object.assign(own, { slots, wanted, starvedMs: slots === 0 ? starvedMs : 0 });
          expect(all.reduce((sum, one) => sum + one.slots, 0)).toBeLessThanOrEqual(limit);
        }
      }),
    );
  });
});
