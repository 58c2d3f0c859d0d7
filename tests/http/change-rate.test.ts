import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { CHANGE_RATES } from "#http/door/door.ts";
import { createSystemClock } from "#kernel/clock.ts";
import { call, createCaller, expectError, startHarness, type Harness } from "./support.ts";

const MEMBER_BURST = CHANGE_RATES.member.burst;

let harness: Harness;
let nowMs = 0;
beforeEach(async () => {
  harness = await startHarness({ clock: { ...createSystemClock(), monotonicMs: () => nowMs } });
});
afterEach(() => harness.stop());

const asKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const NOTHING = "/my/keys/019cdd2a-7c00-7000-8000-00000000dead";

/** Changes that change nothing: what was refused by its rule counts as well. */
async function spend(key: string, count: number): Promise<Set<number>> {
  const statuses = new Set<number>();
  for (let sent = 0; sent < count; sent += 1) {
    statuses.add((await call(harness, "DELETE", NOTHING, asKey(key))).status);
  }
  return statuses;
}

describe("a member's changes", () => {
  test("past 600 at once are 429 too_many_changes with retry-after, on every route, and are not made", async () => {
    const { key } = await createCaller(harness, "loop");
    expect(await spend(key, MEMBER_BURST)).toEqual(new Set([404]));
    for (const [method, path] of [
      ["POST", "/my/keys"],
      ["POST", "/my/relay-tokens"],
      ["DELETE", NOTHING],
    ] as const) {
      const refused = await call(harness, method, path, asKey(key));
      expect(refused.headers.get("retry-after")).toBe("1");
      await expectError(refused, "429 too_many_changes");
    }
    const listed = await call(harness, "GET", "/my/keys", asKey(key));
    expect((await listed.json()).keys).toHaveLength(1);
  });

  test("come back at five a second, and another principal's are its own", async () => {
    const { key } = await createCaller(harness, "loop");
    const { key: other } = await createCaller(harness, "other");
    await spend(key, MEMBER_BURST);
    expect(await spend(key, 1)).toEqual(new Set([429]));
    expect(await spend(other, MEMBER_BURST)).toEqual(new Set([404]));
    nowMs += 1000;
    expect(await spend(key, 5)).toEqual(new Set([404]));
    expect(await spend(key, 1)).toEqual(new Set([429]));
    nowMs += 3_600_000;
    expect(await spend(key, MEMBER_BURST)).toEqual(new Set([404]));
    expect(await spend(key, 1)).toEqual(new Set([429]));
  });
});

test("an admin may make five thousand changes at once; then every route that changes something refuses, and reads go on", async () => {
  expect(await spend(harness.adminKey, CHANGE_RATES.admin.burst)).toEqual(new Set([404]));
  const changes = harness.routes.filter(
    ({ method, access, upstreamErrorHeaders }) =>
      (access === "caller" || access === "admin") && method !== "GET" && upstreamErrorHeaders === undefined,
  );
  expect(changes.length).toBeGreaterThan(20);
  for (const { method, path } of changes) {
    const refused = await call(harness, method, path.replace(/:[a-z]+/, "x"), asKey(harness.adminKey));
    expect([method, path, refused.status]).toEqual([method, path, 429]);
    await expectError(refused, "429 too_many_changes");
  }
  for (let read = 0; read < 20; read += 1) {
    expect((await call(harness, "GET", "/admin/v1/principals", asKey(harness.adminKey))).status).toBe(200);
  }
});
