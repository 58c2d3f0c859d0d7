import { beforeEach, describe, expect, test } from "bun:test";
import type { Statement } from "../../ui/api/reports.ts";
import { findChanges, findSeen, keepSeen, toSeen } from "../../ui/pages/statement/seen.ts";

const figures = (requests: number, cost: number | null) => ({
  requests,
  unpriced_requests: cost === null ? requests : 0,
  unmetered_requests: 0,
  cost,
});
const ADA = { by: "principal", value: "ada", ...figures(2, 3) } as const;
const LAPTOP = { by: "key", value: "key-1", label: "laptop", ...figures(2, 3) } as const;
const STATEMENT: Statement = {
  month: "2026-03",
  hash: "one",
  total: figures(2, 3),
  repricings: [
    { state: "running", changed_at: null },
    { state: "applied", changed_at: "2026-04-01T00:00:00.000000Z" },
  ],
  rows: [ADA, LAPTOP],
};
const AT = "2026-04-02T00:00:00.000Z";
const toRows = (changed: ReturnType<typeof findChanges>) =>
  changed.map(({ by, name, before, now }) => [by, name, before?.[3], now?.[3]]);

const stored = new Map<string, string>();
beforeEach(() => {
  stored.clear();
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, text: string) => void stored.set(key, text),
  };
  Object.defineProperty(globalThis, "localStorage", { value: storage, configurable: true });
});

describe("what changed in a statement", () => {
  test("is the total and each row with other figures, and no row that stayed", () => {
    const now = { ...STATEMENT, hash: "two", total: figures(3, 5), rows: [{ ...ADA, cost: 5 }, LAPTOP] };
    expect(toRows(findChanges(toSeen(STATEMENT, AT), now))).toEqual([
      ["total", "Total", 3, 5],
      ["principal", "ada", 3, 5],
    ]);
    expect(findChanges(toSeen(STATEMENT, AT), STATEMENT)).toEqual([]);
  });

  test("has rows that came and rows that went, and tells no price from a cost of nothing", () => {
    const tag = { by: "tag", value: "app:a b", ...figures(1, null) } as const;
    const before = toSeen({ ...STATEMENT, rows: [ADA, tag] }, AT);
    expect(toRows(findChanges(before, STATEMENT))).toEqual([
      ["key", "laptop", undefined, 3],
      ["tag", "app:a b", null, undefined],
    ]);
    const priced = { ...STATEMENT, rows: [ADA, { ...tag, ...figures(1, 0) }] };
    expect(toRows(findChanges(before, priced))).toEqual([["tag", "app:a b", null, 0]]);
  });

  test("is the total alone where there were too many rows to keep", () => {
    const rows = Array.from({ length: 301 }, (_, index) => ({ ...ADA, value: `p${index}` }));
    const before = toSeen({ ...STATEMENT, rows }, AT);
    expect(before.rows).toBeNull();
    const now = { ...STATEMENT, total: figures(2, 4) };
    expect(toRows(findChanges(before, now))).toEqual([["total", "Total", 3, 4]]);
  });
});

describe("a statement that was opened", () => {
  const account = (name: string, isAdmin = false) => ({ name, isAdmin });

  test("is kept by account, role and month, with its last re-pricing, and what is shown is the opening before", () => {
    expect(findSeen(account("ada"), "2026-03")).toBeNull();
    keepSeen(account("bob"), "2026-03", toSeen(STATEMENT, AT));
    expect(findSeen(account("bob"), "2026-03")).toMatchObject({
      at: AT,
      hash: "one",
      repricedAt: "2026-04-01T00:00:00.000000Z",
    });
    expect(findSeen(account("bob", true), "2026-03")).toBeNull();
    expect(findSeen(account("bob"), "2026-02")).toBeNull();
    keepSeen(account("bob"), "2026-03", toSeen({ ...STATEMENT, hash: "two" }, AT));
    expect(findSeen(account("bob"), "2026-03")?.hash).toBe("one");
  });

  test("is kept for the last twelve months that were opened", () => {
    const months = Array.from({ length: 14 }, (_, index) => `20${10 + index}-01`);
    for (const month of months) keepSeen(account("eve"), month, toSeen(STATEMENT, AT));
    const kept = Object.keys(JSON.parse(stored.get("lockport.statements.own.eve") ?? "{}"));
    expect(kept).toEqual(months.slice(2));
  });

  test("is none where what is kept cannot be read, or nothing may be kept", () => {
    stored.set("lockport.statements.own.mia", '{"2026-03": {"hash": 1}, "2026-04": null}');
    stored.set("lockport.statements.own.zoe", "{");
    expect(findSeen(account("mia"), "2026-03")).toBeNull();
    expect(findSeen(account("mia"), "2026-04")).toBeNull();
    expect(findSeen(account("zoe"), "2026-03")).toBeNull();
    Object.defineProperty(globalThis, "localStorage", {
      get: () => {
        throw new Error("forbidden");
      },
      configurable: true,
    });
    expect(findSeen(account("ivy"), "2026-03")).toBeNull();
    expect(() => keepSeen(account("ivy"), "2026-03", toSeen(STATEMENT, AT))).not.toThrow();
  });
});
