import { expect, test } from "bun:test";
import { countDecimals } from "../../ui/components/cost.tsx";
import { type EntityLinkProps, toPlace } from "../../ui/components/entity-link.tsx";

test("a name leads administrators to its panel and members to its requests, and an id that is missing leads nowhere wrong", () => {
  const places = [
    [{ kind: "model", name: "fast" }, "/models", "/models"],
    [{ kind: "provider", name: "lab" }, "/providers", "/requests"],
    [{ kind: "principal", name: "ada", id: "p1" }, "/people", "/requests"],
    [{ kind: "principal", name: "ada" }, "/requests", "/requests"],
    [{ kind: "key", name: "laptop", id: "k1" }, "/requests", "/requests"],
    [{ kind: "key", name: "laptop" }, undefined, undefined],
    [{ kind: "client", name: "curl/8" }, "/requests", "/requests"],
    [{ kind: "tag", name: "app:web" }, "/requests", "/requests"],
    [{ kind: "limit", name: "Daily", id: "l1" }, "/limits", undefined],
    [{ kind: "limit", name: "Daily" }, undefined, undefined],
  ] as const;
  for (const [entity, ofAdmin, ofMember] of places) {
    expect([entity, toPlace(entity, true)?.to]).toEqual([entity, ofAdmin]);
    expect([entity, toPlace(entity, false)?.to]).toEqual([entity, ofMember]);
  }
});

test("a link to requests filters by what it names, in the window that it was given", () => {
  const window = { range: "7d" } as const;
  const searchOf = (entity: EntityLinkProps): object | undefined => toPlace(entity, false)?.search;
  expect(searchOf({ kind: "tag", name: "app:web", window })).toEqual({ range: "7d", tag: ["app:web"] });
  expect(searchOf({ kind: "key", name: "laptop", id: "k1" })).toEqual({ key: "k1" });
  expect(searchOf({ kind: "provider", name: "lab", window })).toEqual({ range: "7d", provider: "lab" });
});

test("a column of money keeps as many decimals free as are written, and none for what is unpriced", () => {
  expect([12.3, 0.0123, 0.000005, 1234, 0, null].map(countDecimals)).toEqual([2, 4, 6, 2, 2, 0]);
});
