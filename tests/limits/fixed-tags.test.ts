import { afterEach, describe, expect, test } from "bun:test";
import { outcomeOf, startWorld, type World, type WorldOptions } from "./world.ts";

/** Tags that no caller can change: on what they are, what they win over, and the budgets that count them alone. */

const REFUSED = "429 limit_exceeded";
const MESSAGE = '{"usage":{"input_tokens":1,"output_tokens":1}}';
const BUDGET = { measure: "requests", amount: 1, window: "day" };
const worlds: World[] = [];

async function openWorld(options: WorldOptions = {}): Promise<World> {
  const world = await startWorld(options);
  worlds.push(world);
  return world;
}
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.stop();
});

const json = async (response: Response): Promise<any> => {
  const text = await response.text();
  expect({ ok: response.ok, text }).toEqual({ ok: true, text });
  return JSON.parse(text);
};
const newestTags = async (world: World) =>
  (await json(await world.admin("GET", "/requests?limit=1"))).requests[0].tags;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** `ann` of team search, with a key of an app, and a server that relays. */
async function openTeam() {
  const upstream = await openWorld({ script: (call) => call.reply({ body: MESSAGE }) });
  const world = await openWorld({ messagesBaseUrl: upstream.upstream.baseUrl.replace(/\/v1$/, "") });
  const ann = await world.person("ann");
  await json(await world.admin("PATCH", `/principals/${ann.id}`, { tags: ["Team:search", "app:none"] }));
  await json(await world.admin("PATCH", `/keys/${ann.keyId}`, { tags: ["app:web"] }));
  return { world, ann };
}

async function signIn(world: World): Promise<Record<string, string>> {
  const response = await world.app.api(
    "POST",
    "/auth/login-link",
    { token: await world.app.makeLoginToken() },
    {},
  );
  const [cookie = ""] = (response.headers.get("set-cookie") ?? "").split(";");
  return { cookie };
}

describe("fixed tags", () => {
  test("are on requests of a key, of a key that it makes, of a relay token and of a session, and a header neither changes nor adds to them", async () => {
    const { world, ann } = await openTeam();
    const tags = "team:other,app:mine,env:prod,TEAM:x";
    const expected = ["app:web", "env:prod", "team:search"];
    expect(await outcomeOf(world.chat({ key: ann.key, tags }))).toBe("200");
    expect(await newestTags(world)).toEqual(expected);
    expect(await outcomeOf(world.chat({ key: ann.key }))).toBe("200");
    expect(await newestTags(world)).toEqual(["app:web", "team:search"]);

    const child = await json(await world.app.api("POST", "/my/keys", {}, bearer(ann.key)));
    expect(child.tags).toEqual(["app:web"]);
    expect(await outcomeOf(world.chat({ key: child.key, tags }))).toBe("200");
    expect(await newestTags(world)).toEqual(expected);

    const token = await json(await world.app.api("POST", "/my/relay-tokens", {}, bearer(ann.key)));
    expect(token.tags).toEqual(["app:web"]);
    const relay = `/transparent/messages/${token.token}/v1/messages`;
    expect(await outcomeOf(world.app.api("POST", relay, { model: "claude" }, { "x-proxy-tags": tags }))).toBe(
      "200",
    );
    expect(await newestTags(world)).toEqual(expected);

    const { principals }: any = await json(await world.admin("GET", "/principals"));
    const admin = principals.find(({ name }: { name: string }) => name === "admin");
    await json(await world.admin("PATCH", `/principals/${admin.id}`, { tags: ["team:ops"] }));
    const headers = { ...(await signIn(world)), "x-proxy-tags": tags };
    expect(await outcomeOf(world.app.api("POST", "/v1/chat/completions", { model: "m" }, headers))).toBe(
      "200",
    );
    expect(await newestTags(world)).toEqual(["app:mine", "env:prod", "team:ops"]);
  });

  test("hold from the next request on, for the principal and for the key, and null takes them away", async () => {
    const { world, ann } = await openTeam();
    const ask = async () => {
      expect(await outcomeOf(world.chat({ key: ann.key }))).toBe("200");
      return await newestTags(world);
    };
    for (const [path, tags, expected] of [
      [`/keys/${ann.keyId}`, ["team:core"], ["app:none", "team:core"]],
      [`/keys/${ann.keyId}`, [], ["app:none", "team:search"]],
      [`/principals/${ann.id}`, ["team:late"], ["team:late"]],
      [`/principals/${ann.id}`, null, []],
    ] as const) {
      const view = await json(await world.admin("PATCH", path, { tags }));
      expect(view.tags).toEqual(tags === null || tags.length === 0 ? undefined : [...tags]);
      expect(await ask()).toEqual([...expected]);
    }
  });

  test("are set by admins alone: a member gets 403 admin_required for its keys and tokens, and nothing changes", async () => {
    const { world, ann } = await openTeam();
    const token = await json(await world.app.api("POST", "/my/relay-tokens", {}, bearer(ann.key)));
    for (const [method, path] of [
      ["POST", "/my/keys"],
      ["PATCH", `/my/keys/${ann.keyId}`],
      ["POST", "/my/relay-tokens"],
      ["PATCH", `/my/relay-tokens/${token.id}`],
    ] as const)
      for (const tags of [["team:x"], [], null, "nonsense"]) {
        const refused = await world.app.api(method, path, { tags }, bearer(ann.key));
        expect([refused.status, JSON.parse(await refused.text()).error]).toMatchObject([
          403,
          { code: "admin_required", param: "tags" },
        ]);
      }
    const { keys }: any = await json(await world.admin("GET", "/keys?principal=ann"));
    expect(keys).toMatchObject([{ tags: ["app:web"] }]);
  });

  const INVALID: readonly (readonly [string, unknown])[] = [
    ["text", "team:x"],
    ["a pair without a value", ["team"]],
    ["a number", [7]],
    ["an object", { team: "x" }],
    ["one name twice", ["team:x", "TEAM:y"]],
    ["nine pairs", Array.from({ length: 9 }, (_, index) => `k${index}:v`)],
    ["257 characters", [`a:${"x".repeat(255)}`]],
    ["257 characters with the comma", [`a:${"x".repeat(125)}`, `b:${"x".repeat(127)}`]],
    ["what looks like a key", [`team:lp_${"a".repeat(43)}`]],
  ];
  test("of another form are 400 invalid_tags wherever they are set, and change nothing", async () => {
    const { world, ann } = await openTeam();
    for (const [what, tags] of INVALID)
      for (const [method, path, body] of [
        ["POST", "/principals", { name: "bob" }],
        ["PATCH", `/principals/${ann.id}`, {}],
        ["POST", "/keys", { principal: "ann" }],
        ["PATCH", `/keys/${ann.keyId}`, {}],
      ] as const) {
        const refused = await world.admin(method, path, { ...body, tags });
        const { error }: any = await refused.json();
        expect({ what, path, status: refused.status, code: error.code, param: error.param }).toEqual({
          what,
          path,
          status: 400,
          code: "invalid_tags",
          param: "tags",
        });
      }
    expect(await outcomeOf(world.chat({ key: ann.key }))).toBe("200");
    expect(await newestTags(world)).toEqual(["app:web", "team:search"]);
  });
});

describe("a limit by fixed tags", () => {
  test("counts neither what a caller says it is nor misses what it says it is not, in memory and from the ledger", async () => {
    const { world, ann } = await openTeam();
    const bob = await world.person("bob");
    const fixed = await world.limit({
      name: "fixed",
      subject: { tag: "team:search" },
      fixed: true,
      ...BUDGET,
    });
    const each = await world.limit({
      name: "each",
      subject: {},
      each: "tag:team",
      fixed: true,
      ...BUDGET,
      amount: 5,
    });
    const any = await world.limit({ name: "any", subject: { tag: "team:search" }, ...BUDGET, amount: 5 });
    // A caller of another team claims this one: only the limit that believes callers counts it.
    expect(await outcomeOf(world.chat({ key: bob.key, tags: "team:search" }))).toBe("200");
    const used = async () => [
      (await world.readLimit(fixed.id)).used,
      (await world.readLimit(each.id)).used,
      (await world.readLimit(any.id)).used,
    ];
    expect(await used()).toEqual([0, 0, 1]);
    expect(await outcomeOf(world.chat({ key: ann.key, tags: "team:nobody" }))).toBe("200");
    expect(await used()).toEqual([1, 1, 2]);
    expect(await outcomeOf(world.chat({ key: ann.key, tags: "team:nobody" }))).toBe(REFUSED);
    const child = await json(await world.app.api("POST", "/my/keys", {}, bearer(ann.key)));
    expect(await outcomeOf(world.chat({ key: child.key }))).toBe(REFUSED);
    expect(await outcomeOf(world.chat({ key: bob.key, tags: "team:search" }))).toBe("200");

    // A limit that is made now is added up from the ledger.
    const later = await world.limit({
      name: "later",
      subject: { tag: "team:search" },
      fixed: true,
      ...BUDGET,
    });
    const laterEach = await world.limit({
      name: "later each",
      subject: {},
      each: "tag:team",
      fixed: true,
      ...BUDGET,
    });
    expect((await world.readLimit(later.id)).used).toBe(1);
    expect(await world.readLimit(laterEach.id)).toMatchObject({
      used: 1,
      top: [{ tag: "team:search", used: 1 }],
    });
  });

  test("holds on the relay", async () => {
    const { world, ann } = await openTeam();
    await world.limit({ name: "fixed", subject: { tag: "team:search" }, fixed: true, ...BUDGET });
    const { token } = await json(await world.app.api("POST", "/my/relay-tokens", {}, bearer(ann.key)));
    const send = () =>
      outcomeOf(
        world.app.api(
          "POST",
          `/transparent/messages/${token}/v1/messages`,
          { model: "claude" },
          {
            "x-proxy-tags": "team:other",
          },
        ),
      );
    expect([await send(), await send()]).toEqual(["200", REFUSED]);
  });
});
