import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { call, createCaller, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
  const { catalog } = harness.deps;
  const actor = { principalId: harness.adminId };
  // Out of order, so that an order of arrival is not taken for one by name.
  for (const name of ["c", "a", "b"]) {
    await catalog.createProvider({ name, base_url: "http://127.0.0.1:9/v1" }, actor);
    await catalog.createModel({ alias: name, provider: name, upstreamName: "up" }, actor);
    await createCaller(harness, name);
  }
});
afterAll(() => harness.stop());

type Page = { limit: number; offset: number; total: number } & Record<string, Record<string, string>[]>;
const read = async (list: string, query = ""): Promise<Page> => {
  const response = await call(harness, "GET", `/admin/v1/${list}${query}`);
  expect(response.status).toBe(200);
  return await response.json();
};

describe.each(["providers", "models", "principals", "keys", "events"])("GET /admin/v1/%s", (list) => {
  test.each([
    ["", 100, 0],
    ["?limit=1", 1, 0],
    ["?limit=500&offset=0", 500, 0],
    ["?limit=0", 100, 0],
    ["?limit=501", 100, 0],
    ["?limit=-1&offset=-1", 100, 0],
    ["?limit=1.5&offset=1.5", 100, 0],
    ["?limit=1e2&offset=0x1", 100, 0],
    ["?limit=&offset=", 100, 0],
    ["?limit=two&offset=two", 100, 0],
    ["?limit=99999999999999999999", 100, 0],
    ["?limit=2&offset=1000000", 2, 1_000_000],
  ])("with %j is a page of %d from %d on, and never a refusal", async (query, limit, offset) => {
    const page = await read(list, query);
    expect({ limit: page.limit, offset: page.offset }).toEqual({ limit, offset });
    expect(page[list]).toHaveLength(Math.max(0, Math.min(limit, page.total - offset)));
  });

  test("in pages of one has every row once, in the order of the whole list", async () => {
    const whole = await read(list);
    const pages = await Promise.all(
      Array.from({ length: whole.total }, (_, offset) => read(list, `?limit=1&offset=${offset}`)),
    );
    expect(whole.total).toBeGreaterThan(2);
    expect(pages.flatMap((page) => page[list] ?? [])).toEqual(whole[list] ?? []);
    expect(pages.map(({ total }) => total)).toEqual(pages.map(() => whole.total));
  });
});

test("providers and principals are listed by name, models by alias, keys by time, events newest first", async () => {
  const column = async (list: string, field: string) =>
    (await read(list))[list]?.map((row) => row[field] ?? "");
  expect(await column("providers", "name")).toEqual(["a", "b", "c"]);
  expect(await column("models", "alias")).toEqual(["a", "b", "c"]);
  expect(await column("principals", "name")).toEqual(["a", "admin", "b", "c"]);
  expect(await column("keys", "principal")).toEqual(["admin", "c", "a", "b"]);
  expect(await column("events", "target_ref")).toEqual(["b", "b", "a", "a", "c", "c"]);
});
