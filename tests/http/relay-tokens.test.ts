import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createRelayAuthenticator, type RelayAuthenticator } from "#identity/relay-caller.ts";
import { startApp } from "../support/app.ts";
import { connect } from "./open-connection.ts";
import { call, createCaller, expectError, openSession, startHarness, type Harness } from "./support.ts";

let harness: Harness;
let relay: RelayAuthenticator;
beforeEach(async () => {
  harness = await startHarness();
  const { identity, keyUse, clock } = harness.deps;
  relay = createRelayAuthenticator({ store: identity, keyUse, secrets: harness.secrets, clock });
});
afterEach(() => harness.stop());

const MINE = "/my/relay-tokens";
const ALL = "/admin/v1/relay-tokens";
const TIMESTAMP = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/);
const UUID_V7 = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
);

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** A member with a relay token of its own. */
async function createRelayCaller(name: string, label?: string) {
  const member = await createCaller(harness, name);
  const response = await call(harness, "POST", MINE, { body: { label }, headers: bearer(member.key) });
  const { id, token }: { id: string; token: string } = await response.json();
  return { ...member, id, token };
}

const relayRefusal = async (token: string) =>
  relay.authenticate(token).then(
    () => null,
    (refusal: { code: string }) => refusal.code,
  );

async function newestEvents(limit = 1) {
  return (await (await call(harness, "GET", `/admin/v1/events?limit=${limit}`)).json()).events;
}

describe("POST /my/relay-tokens", () => {
  test("makes a token that the relay knows at once, and shows its plaintext this one time", async () => {
    const { principal, key } = await createCaller(harness, "anna");
    const headers = bearer(key);
    const created = await call(harness, "POST", MINE, { body: { label: "editor", owner: "x" }, headers });
    expect(created.status).toBe(201);
    expect(created.headers.get("cache-control")).toBe("no-store");
    const view = await created.json();
    expect(view).toEqual({
      id: UUID_V7,
      token_suffix: view.token.slice(-4),
      label: "editor",
      created_at: TIMESTAMP,
      last_used_at: null,
      token: expect.stringMatching(/^lpt_[0-9A-Za-z]{43}$/),
    });
    expect(await relay.authenticate(view.token)).toEqual({ principal, relayTokenId: view.id, fixedTags: [] });

    const listed = await (await call(harness, "GET", MINE, { headers })).text();
    expect(JSON.parse(listed)).toEqual({
      relay_tokens: [
        {
          id: view.id,
          token_suffix: view.token.slice(-4),
          label: "editor",
          created_at: view.created_at,
          last_used_at: TIMESTAMP,
        },
      ],
    });
    expect(listed + harness.logLines.join("")).not.toContain(view.token);
    expect(await newestEvents()).toMatchObject([{ action: "relay_token.create", target_ref: view.id }]);
    // Neither list mixes in what belongs to the other.
    const keys = await (await call(harness, "GET", "/my/keys", { headers })).json();
    expect(keys.keys.map(({ id }: { id: string }) => id)).not.toContain(view.id);
    expect(keys.keys).toHaveLength(1);
  });

  test("reads an empty body as {}, and a missing label as an empty one, by key and by session", async () => {
    const { principal, key } = await createCaller(harness, "bert");
    const cookie = await openSession(harness, principal);
    for (const headers of [bearer(key), { cookie }]) {
      for (const body of [undefined, "", "{}", '{"label":""}']) {
        const response = await call(harness, "POST", MINE, { body, headers });
        expect([response.status, (await response.json()).label]).toEqual([201, ""]);
      }
    }
  });

  test.each([
    ["{", "invalid_json", null],
    ["label=x", "invalid_json", null],
    ['{"label":5}', "invalid_request", "label"],
    ['{"label":null}', "invalid_request", "label"],
    ["[]", "invalid_request", null],
    ["null", "invalid_request", null],
    [JSON.stringify({ label: "🔑".repeat(121) }), "invalid_label", "label"],
    [JSON.stringify({ label: "a\u0007b" }), "invalid_label", "label"],
  ] as const)("%s is 400 %s, param %p, and makes no token", async (body, code, param) => {
    const { key } = await createCaller(harness, `refused-${Bun.hash(body).toString(36)}`);
    await expectError(await call(harness, "POST", MINE, { body, headers: bearer(key) }), {
      status: 400,
      code,
      param,
    });
    expect(await (await call(harness, "GET", MINE, { headers: bearer(key) })).json()).toEqual({
      relay_tokens: [],
    });
  });

  test("takes a label of 120 characters, however many bytes they are", async () => {
    const label = "🔑".repeat(120);
    const response = await call(harness, "POST", MINE, { body: { label } });
    expect([response.status, (await response.json()).label]).toEqual([201, label]);
  });
});

describe("GET /my/relay-tokens", () => {
  test("shows one's own tokens by creation time, all 500 of them, and nobody else's", async () => {
    const { principal, key } = await createCaller(harness, "many");
    await createRelayCaller("someone-else");
    const { relayTokens } = harness.deps;
    for (let index = 0; index < 500; index += 1) {
      await relayTokens.create({ principalId: principal.id, label: `${index}` }, null);
    }
    const { relay_tokens: mine } = await (await call(harness, "GET", MINE, { headers: bearer(key) })).json();
    expect(mine.map(({ label }: { label: string }) => label)).toEqual(
      Array.from({ length: 500 }, (_, index) => `${index}`),
    );
  });
});

describe("DELETE /my/relay-tokens/{id}", () => {
  test("stops one's own token at once, and is 404 relay_token_not_found the second time", async () => {
    const { key, id, token } = await createRelayCaller("carl");
    const headers = bearer(key);
    await relay.authenticate(token);
    const deleted = await call(harness, "DELETE", `${MINE}/${id}`, { headers });
    expect([deleted.status, await deleted.json()]).toEqual([200, { deleted: id }]);
    expect(await relayRefusal(token)).toBe("unknown_relay_token");
    await expectError(await call(harness, "DELETE", `${MINE}/${id}`, { headers }), {
      status: 404,
      code: "relay_token_not_found",
      param: null,
    });
    expect(await newestEvents()).toMatchObject([{ action: "relay_token.delete", target_ref: id }]);
  });

  test("of somebody else's token, or of a key, is 404 relay_token_not_found, for an admin too, and leaves it working", async () => {
    const { key, keyId, id, token } = await createRelayCaller("dora");
    for (const [path, headers] of [
      [`${MINE}/${id}`, bearer(harness.adminKey)],
      [`${MINE}/${keyId}`, bearer(key)],
      [`${MINE}/nope`, bearer(key)],
    ] as const) {
      await expectError(await call(harness, "DELETE", path, { headers }), {
        status: 404,
        code: "relay_token_not_found",
      });
    }
    await expectError(await call(harness, "DELETE", `/my/keys/${id}`, { headers: bearer(key) }), {
      status: 404,
      code: "key_not_found",
    });
    expect(await relayRefusal(token)).toBeNull();
    expect((await call(harness, "GET", MINE, { headers: bearer(key) })).status).toBe(200);
  });
});

describe("relay tokens of any principal", () => {
  test("GET lists by creation time, of one principal or of all, in pages with the exact total", async () => {
    const first = await createRelayCaller("ida", "first");
    const second = await createRelayCaller("jan", "second");
    const read = async (query: string) => await (await call(harness, "GET", `${ALL}${query}`)).json();
    const whole = await read("?limit=500");
    const everything = await read(`?limit=1&offset=${whole.total - 1}`);
    expect(everything).toEqual({
      relay_tokens: [
        {
          id: second.id,
          token_suffix: second.token.slice(-4),
          label: "second",
          created_at: TIMESTAMP,
          last_used_at: null,
          principal: "jan",
        },
      ],
      limit: 1,
      offset: whole.total - 1,
      total: whole.total,
    });
    const created: string[] = whole.relay_tokens.map((row: { created_at: string }) => row.created_at);
    expect(created).toEqual([...created].sort());
    await relay.authenticate(first.token);
    expect(await read("?principal=ida")).toMatchObject({
      relay_tokens: [{ id: first.id, principal: "ida", last_used_at: TIMESTAMP }],
      total: 1,
      limit: 100,
      offset: 0,
    });
    expect(await read("?principal=nobody")).toEqual({ relay_tokens: [], limit: 100, offset: 0, total: 0 });
    expect((await read("?principal=")).total).toBe(whole.total);
    expect(await read("?limit=0&offset=-1")).toMatchObject({ limit: 100, offset: 0 });
    expect(JSON.stringify(await read("?limit=500"))).not.toContain(first.token);
  });

  test("DELETE stops any principal's token at once and is audited by its id; an unknown one is 404 and is not", async () => {
    const { id, keyId, token } = await createRelayCaller("kim");
    const response = await call(harness, "DELETE", `${ALL}/${id}`);
    expect([response.status, await response.json()]).toEqual([200, { deleted: id }]);
    expect(await relayRefusal(token)).toBe("unknown_relay_token");
    const events = await newestEvents();
    expect(events).toEqual([
      {
        ts: TIMESTAMP,
        actor_principal_id: harness.adminId,
        actor: "admin",
        action: "relay_token.delete",
        target_kind: "relay_token",
        target_ref: id,
      },
    ]);
    for (const missing of [id, keyId, "nope"]) {
      await expectError(await call(harness, "DELETE", `${ALL}/${missing}`), {
        status: 404,
        code: "relay_token_not_found",
        param: null,
      });
    }
    expect(await newestEvents()).toEqual(events);
  });

  test("a member sees and deletes none of them: 403 admin_required", async () => {
    const { key, id, token } = await createRelayCaller("lea");
    for (const [method, path] of [
      ["GET", ALL],
      ["DELETE", `${ALL}/${id}`],
    ] as const) {
      await expectError(await call(harness, method, path, { headers: bearer(key) }), {
        status: 403,
        code: "admin_required",
      });
    }
    expect(await relayRefusal(token)).toBeNull();
  });

  test("are made by their owners only: POST is 404 unknown_endpoint", async () => {
    await expectError(await call(harness, "POST", ALL, { body: { principal: "admin" } }), {
      status: 404,
      code: "unknown_endpoint",
    });
  });

  test("a disabled principal's token stops at once and comes back with it; a deleted one's goes, its row too", async () => {
    const { principal, token } = await createRelayCaller("max");
    const path = `/admin/v1/principals/${principal.id}`;
    await call(harness, "PATCH", path, { body: { enabled: false } });
    expect(await relayRefusal(token)).toBe("unknown_relay_token");
    await call(harness, "PATCH", path, { body: { enabled: true } });
    expect(await relayRefusal(token)).toBeNull();
    // Sessions are another matter: a token outlives their revocation.
    await call(harness, "POST", `${path}/revoke-sessions`);
    expect(await relayRefusal(token)).toBeNull();
    const before = (await (await call(harness, "GET", ALL)).json()).total;
    await call(harness, "DELETE", path);
    expect(await relayRefusal(token)).toBe("unknown_relay_token");
    expect((await (await call(harness, "GET", ALL)).json()).total).toBe(before - 1);
  });
});

describe("a relay token on the relay path of a running server", () => {
  test("fails on the very next request of a connection that stays open, and reaches no upstream any more", async () => {
    let reached = 0;
    const upstream = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch() {
        reached += 1;
        return Response.json({ ok: true });
      },
    });
    const app = await startApp({ messagesBaseUrl: `http://127.0.0.1:${upstream.port}` });
    try {
      const read = async (...request: Parameters<typeof app.api>) =>
        JSON.parse(await (await app.api(...request)).text());
      const { id: principalId } = await read("POST", "/admin/v1/principals", { name: "nia" });
      const path = `/admin/v1/principals/${principalId}`;
      const asNia = await read("POST", "/admin/v1/keys", { principal: "nia" });
      const headers = bearer(asNia.key);
      const { id, token } = await read("POST", MINE, {}, headers);
      using connection = await connect(Number(new URL(app.url).port));
      const relayed = (text: string) => connection.send("GET", `/transparent/messages/${text}/v1/models`);
      const refused = async (text: string) => {
        const response = await relayed(text);
        const message = await expectError(response, {
          status: 404,
          code: "unknown_relay_token",
          param: null,
        });
        expect(message).not.toContain(text);
      };

      expect((await relayed(token)).status).toBe(200);
      const { relay_tokens: used } = await read("GET", MINE, undefined, headers);
      expect(used).toEqual([expect.objectContaining({ id, last_used_at: TIMESTAMP })]);
      await refused(asNia.key);
      await refused(app.adminKey);
      await app.api("PATCH", path, { enabled: false });
      await refused(token);
      await app.api("PATCH", path, { enabled: true });
      expect((await relayed(token)).status).toBe(200);
      await app.api("DELETE", `${MINE}/${id}`, undefined, headers);
      await refused(token);

      const second = await read("POST", MINE, {}, headers);
      expect((await relayed(second.token)).status).toBe(200);
      await app.api("DELETE", path);
      await refused(second.token);
      expect(reached).toBe(3);
    } finally {
      await app.stop();
      await upstream.stop(true);
    }
  });
});
