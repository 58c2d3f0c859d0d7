import { expect, test } from "bun:test";
import { countDecimals } from "../../ui/components/cost.tsx";
import { toPlace } from "../../ui/components/entity-link.tsx";

test("a name leads administrators to its panel and members to its requests", () => {
  const requestsOf = (search: object) => ({ to: "/requests", search });
  const places = [
    [{ kind: "model", name: "fast" }, { to: "/models", search: { open: "fast" } }, null],
    [
      { kind: "provider", name: "lab" },
      { to: "/providers", search: { open: "lab" } },
      requestsOf({ provider: "lab" }),
    ],
    [
      { kind: "principal", name: "ada", id: "p1" },
      { to: "/people", search: { open: "p1" } },
      requestsOf({ principal: "ada" }),
    ],
    [{ kind: "key", name: "laptop", id: "k1" }, requestsOf({ key: "k1" }), null],
  ] as const;
  for (const [entity, ofAdmin, ofMember] of places) {
    expect<object>(toPlace(entity, true)).toEqual(ofAdmin);
    expect<object>(toPlace(entity, false)).toEqual(ofMember ?? ofAdmin);
  }
});

test("a column of money keeps as many decimals free as are written, and none for what is unpriced", () => {
  expect([12.3, 0.0123, 0.000005, 1234, 0, null].map(countDecimals)).toEqual([2, 4, 6, 2, 2, 0]);
});
