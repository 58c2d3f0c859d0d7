import { afterEach, beforeEach, expect, test } from "bun:test";
import { startHarness, type Harness } from "./support.ts";

let harness: Harness;
let isServing = true;

beforeEach(async () => {
  isServing = true;
  const plain = await startHarness();
  const { metrics } = plain.deps;
  await plain.stop();
  harness = await startHarness({
    metrics: { ...metrics, health: () => ({ isServing, replica: null }) },
  });
});
afterEach(() => harness.stop());

test("GET /healthz is 503 while requests are refused because the database is away, 200 as soon as it is back, and /metrics answers all the time", async () => {
  const ask = (path: string, method = "GET") => fetch(`${harness.url}${path}`, { method });
  expect((await ask("/healthz")).status).toBe(200);
  isServing = false;
  const away = await ask("/healthz");
  expect({ status: away.status, body: await away.json() }).toEqual({
    status: 503,
    body: { status: "unavailable" },
  });
  expect(away.headers.get("cache-control")).toBe("no-store");
  expect(away.headers.get("x-proxy-version")).not.toBeNull();
  expect((await ask("/healthz", "HEAD")).status).toBe(503);
  expect((await ask("/metrics")).status).toBe(200);
  isServing = true;
  const back = await ask("/healthz");
  expect({ status: back.status, body: await back.json() }).toEqual({ status: 200, body: { status: "ok" } });
});
