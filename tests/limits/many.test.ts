import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { LIMITS_MAX } from "#limits/store.ts";
import { until } from "../support/waiting.ts";
import { startWorld, type World } from "./world.ts";

const TEST_MS_MAX = 60_000;

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(async () => {
  await world.stop();
});

/** Written by hand, which the server has to notice. */
function insertLimits(count: number): void {
  const database = new Database(join(world.app.dataDir, "catalog.db"), { strict: true });
  try {
    const insert = database.prepare(
      `INSERT INTO limits (id, name, former_models, measure, amount, window, action, unpriced, enabled, fixed, created_at_us)
       VALUES (?, ?, '[]', 'requests', ?, 'day', 'refuse', 'allow', 1, 0, ?)`,
    );
    database.transaction(() => {
      for (let index = 0; index < count; index += 1)
        insert.run(`limit-${index}`, `limit ${index}`, index === 0 ? "2" : "1000000", index);
    })();
  } finally {
    database.close();
  }
}

describe("as many limits as there may be", () => {
  test(
    "hold for one request together, also those that another process has written a moment before",
    async () => {
      expect((await world.chat()).status).toBe(200);
      insertLimits(LIMITS_MAX);
      let first = await world.chat();
      // A busy machine may take longer to add them up than a request waits for them. None is let in unchecked meanwhile.
      await until(
        async () => {
          if (first.status === 500) first = await world.chat();
          return first.status !== 500;
        },
        () => "the limits are still being added up",
      );
      expect(first.status).toBe(200);
      const refused = await world.chat();
      expect([refused.status, refused.headers.get("x-proxy-limit")]).toEqual([429, "limit 0"]);
      const list = JSON.parse(await (await world.admin("GET", "/limits?limit=500&offset=9500")).text());
      expect([list.limits.length, list.total, list.limits.at(-1).used]).toEqual([500, LIMITS_MAX, 2]);
    },
    TEST_MS_MAX,
  );

  test("are followed by 409 too_many_limits", async () => {
    const draft = { name: "one more", subject: {}, measure: "requests", amount: 1, window: "day" };
    const refused = await world.admin("POST", "/limits", draft);
    expect([refused.status, JSON.parse(await refused.text()).error.code]).toEqual([409, "too_many_limits"]);
  });
});
