import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { call, createCaller, expectError, openSession, startHarness, type Harness } from "./support.ts";

/** A key that has terms of its own makes and changes nothing that is wider than itself. */

const SOONER = "2125-01-31T08:00:00.000000Z";
const END = "2126-01-31T08:00:00.000000Z";
const LATER = "2127-01-31T08:00:00.000000Z";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

const by = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

async function makeKey(terms: object, role: "member" | "admin" = "member") {
  const { principal, key: free, keyId: freeId } = await createCaller(harness, "anna", role);
  const made = await call(harness, "POST", "/my/keys", { body: { label: "maker", ...terms }, ...by(free) });
  const { id, key } = await made.json();
  return { principal, free, freeId, id, key };
}

async function listSecrets() {
  const lists = ["keys", "relay-tokens"].map(async (kind) =>
    (await call(harness, "GET", `/admin/v1/${kind}`)).json(),
  );
  const [keys, tokens] = await Promise.all(lists);
  return [...keys.keys, ...tokens.relay_tokens].map(({ last_used_at: _lastUsedAt, ...secret }) => secret);
}

const ENDS = { expires_at: END };
const MODELS = { models: ["gpt", "fast"] };

/** `{key}`: another key of the owner, `{paused}`: one that is paused, `{scoped}`: one for inference, `{token}`: a relay token. */
type Refused = readonly [what: string, terms: object, asked: string, body: object, param: string | null];

const REFUSED: readonly Refused[] = [
  ["makes a key without an end", ENDS, "POST /keys", { expires_at: null }, "expires_at"],
  ["makes a key that ends later", ENDS, "POST /keys", { expires_at: LATER }, "expires_at"],
  ["makes a key of any model", MODELS, "POST /keys", { models: null }, "models"],
  ["makes a key of other models", MODELS, "POST /keys", { models: ["gpt", "dear"] }, "models"],
  ["lifts the end of a key", ENDS, "PATCH /keys/{key}", { expires_at: null }, "expires_at"],
  ["puts the end of a key off", MODELS, "PATCH /keys/{key}", { expires_at: LATER }, "expires_at"],
  ["gives a key more models", ENDS, "PATCH /keys/{key}", { models: ["gpt", "fast", "dear"] }, "models"],
  ["gives a key any model", MODELS, "PATCH /keys/{key}", { models: null }, "models"],
  ["resumes a key", ENDS, "PATCH /keys/{paused}", { enabled: true }, "enabled"],
  ["widens the scope of a key", ENDS, "PATCH /keys/{scoped}", { scope: "full" }, "scope"],
  ["rotates another key", ENDS, "POST /keys/{key}/rotate", {}, null],
  ["rotates a free key", MODELS, "POST /keys/{free}/rotate", {}, null],
];
/** Only of one's own: an admin makes relay tokens of nobody else. */
const REFUSED_TOKENS: readonly Refused[] = [
  ["makes a relay token that ends later", ENDS, "POST /relay-tokens", { expires_at: LATER }, "expires_at"],
  ["makes a relay token without an end", ENDS, "POST /relay-tokens", { expires_at: null }, "expires_at"],
  ["makes a relay token, which reaches any model", MODELS, "POST /relay-tokens", {}, null],
  [
    "lifts the end of a relay token",
    MODELS,
    "PATCH /relay-tokens/{token}",
    { expires_at: null },
    "expires_at",
  ],
];

describe("a key that has an expiry or models", () => {
  for (const [place, role, cases] of [
    ["/my", "member", [...REFUSED, ...REFUSED_TOKENS]],
    ["/my", "admin", [...REFUSED, ...REFUSED_TOKENS]],
    ["/admin/v1", "admin", REFUSED],
  ] as const) {
    test.each(cases)(
      `is refused with admin_required under ${place} as ${role} when it %s, and nothing changes`,
      async (_what, terms, asked, body, param) => {
        const [method = "", path = ""] = asked.split(" ");
        const { freeId, free, key } = await makeKey(terms, role);
        const make = async (kind: string, more: object) =>
          (await (await call(harness, "POST", `/my/${kind}`, { body: more, ...by(free) })).json()).id;
        const ids: { readonly [name: string]: string } = {
          free: freeId,
          key: await make("keys", { expires_at: END, models: ["gpt", "fast"] }),
          paused: await make("keys", { enabled: false }),
          scoped: await make("keys", { scope: "inference" }),
          token: await make("relay-tokens", { expires_at: END }),
        };
        const before = await listSecrets();
        const at = place + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "");
        const sent = place === "/admin/v1" && at.endsWith("/keys") ? { principal: "admin", ...body } : body;
        const response = await call(harness, method, at, { body: sent, ...by(key) });
        await expectError(response, "403 admin_required", param);
        expect(await listSecrets()).toEqual(before);
      },
    );
  }

  test("makes keys and relay tokens that have its terms where they are left out, and its own where they are narrower", async () => {
    const { key } = await makeKey({ expires_at: END, models: ["gpt", "fast"] });
    const make = async (body: object) =>
      await (await call(harness, "POST", "/my/keys", { body, ...by(key) })).json();
    expect(await make({})).toMatchObject({ expires_at: END, models: ["gpt", "fast"] });
    expect(await make({ expires_at: SOONER })).toMatchObject({ expires_at: SOONER, models: ["gpt", "fast"] });
    expect(await make({ models: ["fast"] })).toMatchObject({ expires_at: END, models: ["fast"] });
    const child = await make({ models: ["fast"] });
    const again = await call(harness, "POST", "/my/keys", { body: {}, ...by(child.key) });
    expect(await again.json()).toMatchObject({ expires_at: END, models: ["fast"] });

    const { key: ending } = await makeOther({ expires_at: END });
    const token = await call(harness, "POST", "/my/relay-tokens", { body: {}, ...by(ending) });
    expect(await token.json()).toMatchObject({ expires_at: END });
  });

  const SECRET_OF_FILE = `lp_${"Ab3".repeat(14)}z`;
  const OF_FILE = { wide: { principal: "anna", secret: SECRET_OF_FILE } };
  const applyFile = (key: string, sections: object, query = "") =>
    call(harness, "POST", `/admin/v1/catalog${query}`, {
      body: { lockport_catalog: 1, ...sections },
      ...by(key),
    });

  test.each([
    ["an expiry", ENDS],
    ["models", MODELS],
    ["both", { ...ENDS, ...MODELS }],
  ])("by %s applies no file that has keys, also as a dry run, and a file without them", async (_, terms) => {
    const { freeId, key } = await makeKey(terms, "admin");
    const before = await listSecrets();
    for (const keys of [OF_FILE, { [freeId]: { principal: "anna", secret: SECRET_OF_FILE } }, {}])
      for (const query of ["", "?dry_run=1", "?prune=1"]) {
        const sections = { principals: { bert: {} }, keys };
        await expectError(await applyFile(key, sections, query), "403 admin_required", "keys");
      }
    expect(await listSecrets()).toEqual(before);
    const { principals } = await (await call(harness, "GET", "/admin/v1/principals")).json();
    expect(principals.map(({ name }: { name: string }) => name)).not.toContain("bert");
    // Their own routes are open to it.
    const limits = { all: { measure: "requests", amount: 5, window: "day" } };
    for (const sections of [{ principals: { bert: {} } }, { limits }, { providers: {} }])
      expect((await applyFile(key, sections)).status).toBe(200);
  });

  test("does not bind files that its owner applies with a key without terms, or signed in", async () => {
    const { principal, id, free, key } = await makeKey({ expires_at: END }, "admin");
    expect((await applyFile(free, { keys: OF_FILE })).status).toBe(200);
    const cookie = await openSession(harness, principal);
    const body = { lockport_catalog: 1, keys: OF_FILE };
    expect((await call(harness, "POST", "/admin/v1/catalog", { body, headers: { cookie } })).status).toBe(
      200,
    );
    // Fixed tags alone bind no admin's key.
    await call(harness, "PATCH", `/admin/v1/keys/${id}`, { body: { expires_at: null, tags: ["team:a"] } });
    expect((await applyFile(key, { keys: OF_FILE })).status).toBe(200);
  });

  test("narrows, pauses and deletes keys, names them, and rotates itself", async () => {
    const { id, freeId, key } = await makeKey({ expires_at: END });
    const patch = (body: object) => call(harness, "PATCH", `/my/keys/${freeId}`, { body, ...by(key) });
    for (const body of [
      { label: "named" },
      { models: ["gpt"] },
      { expires_at: LATER },
      { scope: "inference" },
      { enabled: false },
    ])
      expect(await (await patch(body)).json()).toMatchObject(body);
    const rotated = await call(harness, "POST", `/my/keys/${id}/rotate`, { body: {}, ...by(key) });
    const { key: next } = await rotated.json();
    expect((await call(harness, "DELETE", `/my/keys/${freeId}`, by(next))).status).toBe(200);
  });

  test("of an admin does not change fixed tags, and one without terms does", async () => {
    const { key, free, freeId } = await makeKey({ expires_at: END }, "admin");
    const patch = (by_: string, tags: unknown) =>
      call(harness, "PATCH", `/my/keys/${freeId}`, { body: { tags }, ...by(by_) });
    expect(await (await patch(free, ["team:a"])).json()).toMatchObject({ tags: ["team:a"] });
    for (const tags of [null, [], ["team:b"]])
      await expectError(await patch(key, tags), "403 admin_required", "tags");
    const { keys } = await (await call(harness, "GET", "/admin/v1/keys?principal=anna")).json();
    expect(keys.find(({ id }: { id: string }) => id === freeId)).toMatchObject({ tags: ["team:a"] });
  });

  test("or fixed tags that its owner cannot set rotates only itself", async () => {
    const { free, freeId, id, key } = await makeKey({});
    await call(harness, "PATCH", `/admin/v1/keys/${id}`, { body: { tags: ["team:a"] } });
    const rotate = (which: string, secret: string) =>
      call(harness, "POST", `/my/keys/${which}/rotate`, { body: {}, ...by(secret) });
    await expectError(await rotate(freeId, key), "403 admin_required", null);
    expect((await call(harness, "GET", "/my/keys", by(free))).status).toBe(200);
    const { key: next } = await (await rotate(id, key)).json();
    expect(await (await call(harness, "POST", "/my/keys", { body: {}, ...by(next) })).json()).toMatchObject({
      tags: ["team:a"],
    });
  });

  test("does not bind its owner's session, nor a key without terms", async () => {
    const { principal, free } = await makeKey({ expires_at: END, models: ["gpt"] });
    const cookie = await openSession(harness, principal);
    for (const headers of [{ cookie }, { authorization: `Bearer ${free}` }]) {
      const response = await call(harness, "POST", "/my/keys", { body: {}, headers });
      const made = await response.json();
      expect(response.status).toBe(201);
      for (const field of ["expires_at", "models"]) expect(made).not.toHaveProperty(field);
    }
  });

  test("of an admin gives keys that it makes for others its terms, which their owners cannot loosen", async () => {
    const { key } = await makeKey({ expires_at: END, models: ["gpt"] }, "admin");
    const { key: bert } = await createCaller(harness, "bert");
    const made = await call(harness, "POST", "/admin/v1/keys", { body: { principal: "bert" }, ...by(key) });
    const { id, ...view } = await made.json();
    expect(view).toMatchObject({ principal: "bert", expires_at: END, models: ["gpt"] });
    for (const [param, value] of [["expires_at", LATER] as const, ["models", null] as const]) {
      const loosened = await call(harness, "PATCH", `/my/keys/${id}`, {
        body: { [param]: value },
        ...by(bert),
      });
      await expectError(loosened, "403 admin_required", param);
    }
  });

  async function makeOther(terms: object) {
    const { key: free } = await createCaller(harness, "other");
    return await (await call(harness, "POST", "/my/keys", { body: terms, ...by(free) })).json();
  }
});

describe("the secret from before a rotation", () => {
  test("lists models in its grace, and is invalid_api_key on every other route, which says that it was rotated", async () => {
    const { keyId, key } = await createCaller(harness, "anna", "admin");
    const rotate = (secret: string) =>
      call(harness, "POST", `/my/keys/${keyId}/rotate`, { body: { grace_seconds: 600 }, ...by(secret) });
    const { key: next } = await (await rotate(key)).json();
    expect((await call(harness, "GET", "/v1/models?include_pricing=1", by(key))).status).toBe(200);
    for (const [method, path] of [
      ["POST", `/my/keys/${keyId}/rotate`],
      ["POST", "/my/keys"],
      ["DELETE", `/my/keys/${keyId}`],
      ["GET", "/my/usage"],
      ["GET", "/stats/summary"],
      ["GET", "/admin/v1/keys"],
    ] as const) {
      const response = await call(harness, method, path, {
        ...(method === "POST" && { body: {} }),
        ...by(key),
      });
      const message = await expectError(response, "401 invalid_api_key");
      expect(message).toStartWith("This API key was rotated");
    }
    // The owner is not locked out.
    expect((await rotate(next)).status).toBe(200);
  });
});
