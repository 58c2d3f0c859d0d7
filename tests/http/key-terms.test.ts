import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { call, createCaller, expectError, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

const LATER = "2126-01-31T08:00:00Z";
const LATER_VIEW = "2126-01-31T08:00:00.000000Z";
const SOONER = "2125-01-31T08:00:00.000000Z";
const by = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

/** Everywhere that terms are written: keys and relay tokens, one's own and by an admin. */
async function openSites() {
  const { principal, key } = await createCaller(harness, "anna");
  const own = await harness.deps.keys.create({ principalId: principal.id }, null);
  const token = await harness.deps.relayTokens.create({ principalId: principal.id }, null);
  const site = (method: string, path: string, caller: string, base = {}) => ({ method, path, caller, base });
  return {
    keys: [
      site("POST", "/my/keys", key),
      site("POST", "/admin/v1/keys", harness.adminKey, { principal: "anna" }),
      site("PATCH", `/my/keys/${own.secret.id}`, key),
      site("PATCH", `/admin/v1/keys/${own.secret.id}`, harness.adminKey),
    ],
    tokens: [
      site("POST", "/my/relay-tokens", key),
      site("PATCH", `/my/relay-tokens/${token.secret.id}`, key),
      site("PATCH", `/admin/v1/relay-tokens/${token.secret.id}`, harness.adminKey),
    ],
  };
}

const BAD_EXPIRIES = ["", "soon", "30d", "2126-01-31", "2020-01-31T08:00:00Z", 4_900_000_000, true, {}, []];
const BAD_MODELS = ["gpt", [], {}, 7, [7], [""], ["a b"], ["a", null], Array(101).fill("m")];
const BAD_SCOPES = ["", "Inference", "read", "full inference", 7, null, true, []];
const BAD_LABELS = ["x".repeat(121), "a\nb"];
const OF_WRONG_TYPE = [
  ["label", 7],
  ["label", null],
  ["enabled", "no"],
  ["enabled", null],
  ["enabled", 0],
] as const;

describe("bad input", () => {
  test("is refused for each field of each shape with its code and param, and nothing changes", async () => {
    const { keys, tokens } = await openSites();
    const lists = async () => [
      await (await call(harness, "GET", "/admin/v1/keys")).json(),
      await (await call(harness, "GET", "/admin/v1/relay-tokens")).json(),
    ];
    const [, { relay_tokens }] = await lists();
    let asked = 0;
    for (const { method, path, caller, base } of [...keys, ...tokens]) {
      const refused = async (field: string, value: unknown, code: string) => {
        const response = await call(harness, method, path, {
          body: { ...base, [field]: value },
          ...by(caller),
        });
        await expectError(response, `400 ${code}`, field);
        asked += 1;
      };
      for (const bad of BAD_EXPIRIES) await refused("expires_at", bad, "invalid_expiry");
      for (const bad of BAD_LABELS) await refused("label", bad, "invalid_label");
      for (const [field, bad] of OF_WRONG_TYPE) await refused(field, bad, "invalid_request");
      if (path.includes("/keys"))
        for (const [field, bads, code] of [
          ["models", BAD_MODELS, "invalid_models"],
          ["scope", BAD_SCOPES, "invalid_request"],
        ] as const)
          for (const bad of bads) await refused(field, bad, code);
      for (const body of ["[]", "7", '"x"', "null"]) {
        const response = await call(harness, method, path, { body, ...by(caller) });
        await expectError(response, "400 invalid_request");
      }
      await expectError(await call(harness, method, path, { body: "{", ...by(caller) }), "400 invalid_json");
    }
    expect(asked).toBe(7 * 16 + 4 * (BAD_MODELS.length + BAD_SCOPES.length));
    const [after, { relay_tokens: tokensAfter }] = await lists();
    expect(tokensAfter).toEqual(relay_tokens);
    expect(after.total).toBe(3);
    for (const view of [...after.keys, ...tokensAfter])
      for (const field of ["expires_at", "models", "enabled", "scope"])
        expect(view).not.toHaveProperty(field);
  });

  test("a field that a shape does not have is refused under /admin/v1, and ignored under /my", async () => {
    const { keys, tokens } = await openSites();
    for (const { method, path, caller, base } of [...keys, ...tokens]) {
      const body = { ...base, expires: LATER };
      const { status } = await call(harness, method, path, { body, ...by(caller) });
      expect([path, status < 300]).toEqual([path, path.startsWith("/my/")]);
    }
    const [own] = tokens;
    const body = { models: ["gpt"], scope: "inference" };
    const made = await (await call(harness, "POST", own!.path, { body, ...by(own!.caller) })).json();
    for (const field of ["models", "scope"]) expect(made).not.toHaveProperty(field);
  });

  test("of an id that is not there, or of another principal's, is its own not-found", async () => {
    const { keys, tokens } = await openSites();
    const { key: other } = await createCaller(harness, "bert");
    for (const [{ path }, code] of [
      [keys[2]!, "key_not_found"],
      [tokens[1]!, "relay_token_not_found"],
    ] as const) {
      const response = await call(harness, "PATCH", path, { body: { enabled: false }, ...by(other) });
      await expectError(response, `404 ${code}`, null);
      for (const place of ["/my/", "/admin/v1/"]) {
        const missing = path.replace("/my/", place).replace(/[^/]+$/, "none");
        await expectError(await call(harness, "PATCH", missing, { body: {} }), `404 ${code}`);
      }
    }
  });
});

describe("the scope inference", () => {
  const scopeOf = async (response: Response): Promise<unknown> => Object(await response.json()).scope;

  test("that an owner sets is lifted by it, and one that an admin sets by an admin alone; a rotation keeps it", async () => {
    const { keyId, key } = await createCaller(harness, "anna");
    const { key: other, keyId: otherId } = await createCaller(harness, "bert", "admin");
    const set = (place: string, scope: string, secret = key) =>
      call(harness, "PATCH", `${place}/keys/${keyId}`, { body: { scope }, ...by(secret) });
    const own = await call(harness, "POST", "/my/keys", { body: { scope: "full" }, ...by(key) });
    const { key: maker, scope } = await own.json();
    expect(scope).toBeUndefined();
    expect(await scopeOf(await set("/my", "inference", maker))).toBe("inference");
    expect(await scopeOf(await set("/my", "full", maker))).toBeUndefined();
    expect(await scopeOf(await set("/admin/v1", "inference", other))).toBe("inference");
    const refused = await set("/my", "full", maker);
    await expectError(refused, "403 admin_required", "scope");
    expect(await scopeOf(await set("/my", "inference", maker))).toBe("inference");

    const rotated = await call(harness, "POST", `/my/keys/${keyId}/rotate`, by(maker));
    const { key: next, ...view } = await rotated.json();
    expect(view.scope).toBe("inference");
    const listed = await call(harness, "GET", "/my/keys", by(next));
    await expectError(listed, "403 scope_required", null);

    expect(await scopeOf(await set("/admin/v1", "full", other))).toBeUndefined();
    expect((await call(harness, "GET", "/my/keys", by(next))).status).toBe(200);
    expect(otherId).not.toBe(keyId);
  });

  test("does not widen, copy, rotate or delete itself, and reads what it used and what is left", async () => {
    const { principal } = await createCaller(harness, "anna", "admin");
    const { secret, plaintext } = await harness.deps.keys.create(
      { principalId: principal.id, scope: "inference" },
      null,
    );
    const list = async () => {
      const { keys } = await (await call(harness, "GET", "/admin/v1/keys")).json();
      return keys.map(({ last_used_at: _lastUsedAt, ...key }: { last_used_at: unknown }) => key);
    };
    const before = await list();
    for (const [method, path, body] of [
      ["PATCH", `/my/keys/${secret.id}`, { scope: "full" }],
      ["PATCH", `/admin/v1/keys/${secret.id}`, { scope: "full" }],
      ["POST", "/my/keys", {}],
      ["POST", `/my/keys/${secret.id}/rotate`, {}],
      ["POST", "/my/relay-tokens", {}],
      ["DELETE", `/my/keys/${secret.id}`, undefined],
    ] as const) {
      const response = await call(harness, method, path, { body, ...by(plaintext) });
      const told = await expectError(response, "403 scope_required", null);
      expect(told).toContain("The scope of this API key is inference");
      expect(told).not.toContain(plaintext);
    }
    expect(await list()).toEqual(before);
    const reached = harness.routes.filter(
      ({ scope, path }) => scope === "inference" && path.startsWith("/my/"),
    );
    const places = new Set(reached.map(({ path }) => path.split("/", 3).join("/")));
    expect(places.size).toBeGreaterThan(2);
    const refusal = await call(harness, "GET", "/stats/summary", by(plaintext));
    const told = await expectError(refusal, "403 scope_required", null);
    expect([...places].filter((place) => !told.includes(place))).toEqual([]);
    for (const path of ["/my/usage", "/my/usage/series", "/my/usage/breakdown", "/my/limits"])
      expect([path, (await call(harness, "GET", path, by(plaintext))).status]).toEqual([path, 200]);
    // Section 4.1: it always answers; such a key opens nothing that it tells of.
    const me = await call(harness, "GET", "/auth/me", by(plaintext));
    expect([me.status, (await me.json()).authenticated]).toEqual([200, false]);
  });
});

describe("a rotation", () => {
  test("answers 200 with the same id and another secret, and the old one works until its grace has passed", async () => {
    const { keyId, key } = await createCaller(harness, "anna");
    const use = async (secret: string) =>
      (await call(harness, "GET", "/v1/models?include_pricing=1", by(secret))).status;
    await call(harness, "PATCH", `/admin/v1/keys/${keyId}`, {
      body: { label: "laptop", expires_at: LATER, models: ["gpt"] },
    });
    const [before] = (await (await call(harness, "GET", "/my/keys", by(key))).json()).keys;
    const rotated = await call(harness, "POST", `/my/keys/${keyId}/rotate`, {
      body: { grace_seconds: 604_800 },
      ...by(key),
    });
    expect([rotated.status, rotated.headers.get("cache-control")]).toEqual([200, "no-store"]);
    const view = await rotated.json();
    const next: string = view.key;
    expect(view).toEqual({ ...before, key: expect.stringMatching(/^lp_/), key_suffix: next.slice(-4) });
    expect(await Promise.all([key, next].map(use))).toEqual([200, 200]);

    const byAdmin = await call(harness, "POST", `/admin/v1/keys/${keyId}/rotate`);
    const last = await byAdmin.json();
    expect(last).toMatchObject({ id: keyId, principal: "anna", models: ["gpt"], label: "laptop" });
    expect(await Promise.all([key, next, last.key].map(use))).toEqual([401, 401, 200]);
    const text = JSON.stringify(await (await call(harness, "GET", "/admin/v1/keys")).json());
    for (const secret of [key, next, last.key]) expect(text).not.toContain(secret);
  });

  test("with a grace that is none is refused with its param, also beside a good field, and nothing is rotated", async () => {
    const { keyId, key } = await createCaller(harness, "anna");
    const { key: other } = await createCaller(harness, "bert");
    for (const [path, secret] of [
      [`/my/keys/${keyId}/rotate`, key],
      [`/admin/v1/keys/${keyId}/rotate`, harness.adminKey],
    ] as const) {
      for (const grace_seconds of [-1, 0.5, 604_801, 1e300, "60", null, true, [], {}]) {
        const response = await call(harness, "POST", path, { body: { grace_seconds }, ...by(secret) });
        await expectError(response, "400 invalid_request", "grace_seconds");
      }
      const nan = await call(harness, "POST", path, { body: '{"grace_seconds":NaN}', ...by(secret) });
      await expectError(nan, "400 invalid_json");
    }
    const foreign = await call(harness, "POST", `/my/keys/${keyId}/rotate`, by(other));
    await expectError(foreign, "404 key_not_found");
    expect((await call(harness, "GET", "/my/keys", by(key))).status).toBe(200);
  });
});

describe("terms", () => {
  test("are in the views where they are set, in the server's one spelling, and absent where they are not", async () => {
    const { keys, tokens } = await openSites();
    const full = {
      expires_at: "2126-01-31T09:00:00+01:00",
      models: ["later", "gpt", "later"],
      scope: "inference",
      enabled: false,
    };
    for (const { method, path, caller, base } of [...keys, ...tokens]) {
      const isKey = path.includes("/keys");
      const { models, scope, ...ends } = full;
      const body = { ...base, ...ends, ...(isKey && { models, scope }) };
      const view = await (await call(harness, method, path, { body, ...by(caller) })).json();
      expect([path, view]).toEqual([
        path,
        expect.objectContaining({
          expires_at: LATER_VIEW,
          enabled: false,
          ...(isKey && { models: ["later", "gpt"], scope }),
        }),
      ]);
      const isOwn = path.startsWith("/my/");
      const list = isOwn ? path.split("/").slice(0, 3).join("/") : path.split("/").slice(0, 4).join("/");
      const listed = await (await call(harness, "GET", list, by(caller))).json();
      const { key: _key, token: _token, ...shown } = view;
      expect(listed[isKey ? "keys" : "relay_tokens"]).toContainEqual(shown);

      const lift = {
        expires_at: null,
        ...(isKey && { models: null, scope: "full" }),
        enabled: true,
        label: "free",
      };
      const id = `${list}/${view.id}`;
      const lifted = await (await call(harness, "PATCH", id, { body: lift, ...by(caller) })).json();
      expect(lifted.label).toBe("free");
      for (const field of ["expires_at", "models", "enabled", "scope"])
        expect(lifted).not.toHaveProperty(field);
    }
  });

  test("that an admin set are tightened by their owner, and loosened only by an admin, whatever the path", async () => {
    const { principal, key } = await createCaller(harness, "anna");
    const made = await call(harness, "POST", "/admin/v1/keys", {
      body: { principal: "anna", expires_at: LATER, models: ["a", "b"], enabled: true },
    });
    const { id } = await made.json();
    const patch = (body: object) => call(harness, "PATCH", `/my/keys/${id}`, { body, ...by(key) });
    for (const body of [{ expires_at: SOONER }, { models: ["b"] }])
      expect(await (await patch(body)).json()).toMatchObject(body);
    await expectError(await patch({ expires_at: null }), "403 admin_required", "expires_at");
    await expectError(await patch({ models: null, label: "x" }), "403 admin_required", "models");
    await call(harness, "PATCH", `/admin/v1/keys/${id}`, { body: { enabled: false, models: null } });
    await expectError(await patch({ enabled: true, label: "x" }), "403 admin_required", "enabled");
    expect(await (await patch({ models: ["z"] })).json()).toMatchObject({ label: "", models: ["z"] });
    // The role is asked, not the path: an admin loosens its own under /my too.
    await harness.deps.principals.update(principal.id, { role: "admin" }, null);
    expect((await patch({ enabled: true })).status).toBe(200);
  });
});
