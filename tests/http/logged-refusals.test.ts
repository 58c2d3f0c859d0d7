import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startWorld, type Person, type World } from "../limits/world.ts";

let world: World;
let ada: Person;
let bob: Person;

beforeEach(async () => {
  world = await startWorld();
  ada = await world.person("ada");
  bob = await world.person("bob");
});
afterEach(() => world.stop());

/** Sends a request of each model in turn; `nope` is refused. Returns their ids. */
async function send(person: Person, ...models: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const model of models) {
    const response = await world.chat({ key: person.key, model });
    await response.text();
    ids.push(response.headers.get("x-proxy-request-id") ?? "");
  }
  return ids;
}

async function read(query: string, key = world.app.adminKey, path = "/stats/requests") {
  const response = await world.app.api("GET", `${path}?${query}`, undefined, {
    authorization: `Bearer ${key}`,
  });
  return { status: response.status, ...JSON.parse(await response.text()) };
}

const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
const refusalsOf = async (query: string, key?: string) =>
  idsOf((await read(`refusals=1&${query}`, key)).refusals);

describe("refusals beside the request log", () => {
  test("stand on the page of the rows that they arrived among, each on one page, in either order by time", async () => {
    const models = ["nope", "m", "nope", "nope", "m", "m", "nope"];
    const ids = await send(ada, ...models);
    const refused = ids.filter((_, index) => models[index] === "nope");
    for (const [order, all] of [
      ["newest", ids.toReversed()],
      ["oldest", ids],
    ] as const) {
      const seen: string[] = [];
      for (let offset = 0; offset < 3; offset += 1) {
        const page = await read(`refusals=1&order=${order}&limit=1&offset=${offset}`);
        expect(page).toMatchObject({ limit: 1, offset, total: 3, refusals_total: refused.length });
        expect(page.requests).toHaveLength(1);
        // A page has no more refusals than its limit, the first of them.
        const behind = order === "newest" ? page.requests : page.requests.toReversed();
        seen.push(
          ...idsOf([...page.refusals, ...behind]).toSorted((a, b) => all.indexOf(a) - all.indexOf(b)),
        );
      }
      const leftOut = order === "newest" ? [ids[2]] : [ids[2], ids[3]];
      expect(seen).toEqual(all.filter((id) => !leftOut.includes(id)));
      expect((await read(`refusals=1&order=${order}&limit=1&offset=3`)).refusals).toEqual([]);
      const whole = await read(`refusals=1&order=${order}`);
      expect(idsOf(whole.refusals)).toEqual(all.filter((id) => refused.includes(id)));
      expect(whole.requests).toHaveLength(3);
    }
    // They have no cost and no duration.
    for (const order of ["cost", "duration"]) expect(await refusalsOf(`order=${order}`)).toEqual([]);
    const { refusals } = await read("limit=1", undefined, "/admin/v1/refusals");
    expect((await read("refusals=1", undefined, "/admin/v1/requests")).refusals[0]).toEqual(refusals[0]);
  });

  test("are none unless they are asked for, and a page without them keeps its keys", async () => {
    await send(ada, "m", "nope");
    for (const query of ["", "refusals=", "refusals=0"])
      expect(Object.keys(await read(query))).toEqual(["status", "requests", "limit", "offset", "total"]);
    expect((await read("refusals=1&outcome=ok")).refusals).toEqual([]);
    expect((await read("refusals=1&outcome=failed")).refusals).toEqual([]);
  });

  test("alone are the rows of the page where the outcome is refused, which matches no usage in any report", async () => {
    const [, first, second] = await send(ada, "m", "nope", "nope");
    const page = await read("refusals=1&outcome=refused&limit=1&offset=1");
    expect(page).toMatchObject({ requests: [], total: 0, refusals_total: 2 });
    expect(idsOf(page.refusals)).toEqual([first ?? ""]);
    expect(await refusalsOf("outcome=refused&order=oldest")).toEqual([first ?? "", second ?? ""]);
    expect(await refusalsOf("outcome=refused&order=cost")).toEqual([second ?? "", first ?? ""]);
    const both = await read("refusals=1&outcome=refused&outcome=ok");
    expect([both.total, both.refusals_total]).toEqual([1, 2]);
    for (const path of ["/stats/breakdown", "/stats/summary", "/stats/errors", "/stats/requests/facets"])
      expect((await read("outcome=refused", undefined, path)).status).toBe(200);
    expect((await read("outcome=refused", undefined, "/stats/breakdown")).total.requests).toBe(0);
    expect((await read("outcome=nope")).error.code).toBe("invalid_outcome");
  });

  test("obey the filters that they have a value for, and no other filter lets one through", async () => {
    const [ofAda] = await send(ada, "nope");
    const [ofBob] = await send(bob, "none");
    expect(await refusalsOf("principal=ada")).toEqual([ofAda ?? ""]);
    expect(await refusalsOf("principal=ada&principal=bob&model=none")).toEqual([ofBob ?? ""]);
    expect(await refusalsOf("client=Bun")).toEqual([ofBob ?? "", ofAda ?? ""]);
    expect(await refusalsOf("status=404")).toHaveLength(2);
    expect(await refusalsOf("status=4xx")).toHaveLength(2);
    const { at } = (await read("refusals=1&principal=bob")).refusals[0];
    expect(await refusalsOf(`until=${at}`)).toEqual([ofAda ?? ""]);
    for (const query of [
      "client=curl",
      "status=5xx",
      `key=${ada.keyId}`,
      "provider=lab",
      "tag=app:wiki",
      "error_kind=timeout",
      "tier=flex",
      "unpriced=true",
      "min_cost=0.1",
      "since=2999-01-01",
    ])
      expect({ query, found: await refusalsOf(query) }).toEqual({ query, found: [] });
  });

  test("are a member's own alone, and those of unknown callers an admin's", async () => {
    const [ofAda] = await send(ada, "nope");
    const [ofBob] = await send(bob, "nope");
    const [unknown] = await send({ ...bob, key: `lp_${"u".repeat(43)}` }, "m");
    expect(await refusalsOf("", ada.key)).toEqual([ofAda ?? ""]);
    expect(await refusalsOf("principal=bob", ada.key)).toEqual([]);
    expect(await refusalsOf("outcome=refused", bob.key)).toEqual([ofBob ?? ""]);
    expect(await refusalsOf("")).toEqual([unknown ?? "", ofBob ?? "", ofAda ?? ""]);
    expect((await read("refusals=1", ada.key)).refusals_total).toBe(1);
  });

  test("come with what was recorded since a cursor, once, and a flood of them asks for the page anew", async () => {
    await send(ada, "nope");
    const follow = (cursor: string, query = "") =>
      read(`refusals=1&after=${encodeURIComponent(cursor)}${query}`);
    const start = await follow("");
    expect(start).toMatchObject({ requests: [], refusals: [], gap: false });
    expect(await follow(start.cursor)).toEqual(start);
    const [refused, answered] = await send(ada, "nope", "m");
    // The log waits for what has just ended.
    expect((await read("")).total).toBe(1);
    const since = await follow(start.cursor);
    expect([idsOf(since.requests), idsOf(since.refusals)]).toEqual([[answered ?? ""], [refused ?? ""]]);
    expect((await follow(since.cursor)).refusals).toEqual([]);
    expect((await follow(start.cursor, "&principal=bob")).refusals).toEqual([]);
    // A cursor of another start, and one that came without refusals.
    expect((await follow("7~of-another-start.0")).gap).toBe(true);
    expect((await follow((await read("after=")).cursor)).refusals).toEqual([]);
    await send(ada, "nope", "nope");
    const flood = await follow(since.cursor, "&limit=1");
    expect([flood.refusals.length, flood.gap]).toEqual([1, true]);
  });
});
