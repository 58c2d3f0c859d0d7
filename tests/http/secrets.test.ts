import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createRelayAuthenticator } from "#identity/caller.ts";
import { startApp } from "../support/app.ts";
import { connect } from "./open-connection.ts";
import { call, createCaller, expectError, openSession, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

const TIMESTAMP = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/);
const UUID_V7 = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
);

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** The code with which a secret is refused; null where it works. */
type Use = (plaintext: string) => Promise<string | null>;

const useKey: Use = async (plaintext) => {
  const response = await call(harness, "GET", "/my/usage", { headers: bearer(plaintext) });
  return response.status === 200 ? null : (await response.json()).error.code;
};

const useToken: Use = async (plaintext) => {
  const { identity, keyUse, clock } = harness.deps;
  const relay = createRelayAuthenticator({ store: identity, keyUse, secrets: harness.secrets, clock });
  return relay.authenticate(plaintext).then(
    () => null,
    (refusal: { code: string }) => refusal.code,
  );
};

const KINDS = [
  {
    noun: "key",
    list: "keys",
    text: "key",
    pattern: /^lp_[0-9A-Za-z]{43}$/,
    targetKind: "api_key",
    dead: "invalid_api_key",
    path: "keys",
    use: useKey,
  },
  {
    noun: "relay_token",
    list: "relay_tokens",
    text: "token",
    pattern: /^lpt_[0-9A-Za-z]{43}$/,
    targetKind: "relay_token",
    dead: "unknown_relay_token",
    path: "relay-tokens",
    use: useToken,
  },
] as const;

async function readEvents(limit = 1) {
  return (await (await call(harness, "GET", `/admin/v1/events?limit=${limit}`)).json()).events;
}

describe.each(KINDS)("a $noun", ({ noun, list, text, pattern, targetKind, dead, path, use }) => {
  const [mine, all, suffix] = [`/my/${path}`, `/admin/v1/${path}`, `${text}_suffix`];
  const missing = [`404 ${noun}_not_found`, null] as const;

  /** A member with a secret of this kind beside its first key. */
  async function createOwner(name: string, label?: string) {
    const member = await createCaller(harness, name);
    const made = await call(harness, "POST", mine, { body: { label }, headers: bearer(member.key) });
    const view = await made.json();
    return { ...member, id: view.id as string, plaintext: view[text] as string };
  }

  test("that a caller makes works at once, and its plaintext is shown this one time", async () => {
    const { key } = await createCaller(harness, "anna");
    const headers = bearer(key);
    const created = await call(harness, "POST", mine, { body: { label: "laptop", owner: "x" }, headers });
    expect([created.status, created.headers.get("cache-control")]).toEqual([201, "no-store"]);
    const { [text]: plaintext, ...view } = await created.json();
    expect(plaintext).toMatch(pattern);
    expect(view).toEqual({
      id: UUID_V7,
      [suffix]: plaintext.slice(-4),
      label: "laptop",
      created_at: TIMESTAMP,
      last_used_at: null,
    });
    expect(await use(plaintext)).toBeNull();
    expect(await readEvents()).toMatchObject([
      { action: `${noun}.create`, target_kind: targetKind, target_ref: view.id },
    ]);
    const listed = await (await call(harness, "GET", mine, { headers })).text();
    expect(JSON.parse(listed)[list].at(-1)).toEqual({ ...view, last_used_at: TIMESTAMP });
    expect(listed + JSON.stringify(await readEvents(500)) + harness.logLines.join("")).not.toContain(
      plaintext,
    );
    // Neither list mixes in what belongs to the other.
    for (const [other, length] of [
      ["keys", path === "keys" ? 2 : 1],
      ["relay-tokens", path === "keys" ? 0 : 1],
    ] as const) {
      const shown = await (await call(harness, "GET", `/my/${other}`, { headers })).json();
      expect(shown[other.replace("-", "_")]).toHaveLength(length);
    }
  });

  test("is made by an empty body as by {}, and a missing label is an empty one, by key and by session", async () => {
    const { principal, key } = await createCaller(harness, "bert");
    const cookie = await openSession(harness, principal);
    for (const headers of [bearer(key), { cookie }])
      for (const body of [undefined, "", "{}", '{"label":""}']) {
        const response = await call(harness, "POST", mine, { body, headers });
        expect([response.status, (await response.json()).label]).toEqual([201, ""]);
      }
  });

  test("is one of 500 at most, which its owner sees by creation time, and nobody else's", async () => {
    const { principal, key } = await createCaller(harness, "many");
    await createOwner("someone-else");
    const secrets = path === "keys" ? harness.deps.keys : harness.deps.relayTokens;
    const wanted = Array.from({ length: path === "keys" ? 499 : 500 }, (_, index) => `${index}`);
    for (const label of wanted) await secrets.create({ principalId: principal.id, label }, null);
    const headers = bearer(key);
    const rows = (await (await call(harness, "GET", mine, { headers })).json())[list];
    const labels = rows.map(({ label }: { label: string }) => label);
    expect(labels).toEqual(path === "keys" ? ["", ...wanted] : wanted);
    const before = await readEvents();
    const own = await call(harness, "POST", mine, { headers });
    await expectError(own, `409 too_many_${list}`);
    if (path === "keys") {
      const asAdmin = () => call(harness, "POST", all, { body: { principal: "many" } });
      await expectError(await asAdmin(), "409 too_many_keys");
      expect(await readEvents()).toEqual(before);
      await harness.deps.keys.delete({ id: rows[1].id }, null);
      expect((await asAdmin()).status).toBe(201);
    }
  });

  test("that its owner deletes stops at once, and is not found the second time", async () => {
    const { key, id, plaintext } = await createOwner("carl");
    const headers = bearer(key);
    expect(await use(plaintext)).toBeNull();
    const deleted = await call(harness, "DELETE", `${mine}/${id}`, { headers });
    expect([deleted.status, await deleted.json()]).toEqual([200, { deleted: id }]);
    expect(await use(plaintext)).toBe(dead);
    await expectError(await call(harness, "DELETE", `${mine}/${id}`, { headers }), ...missing);
    expect(await readEvents()).toMatchObject([{ action: `${noun}.delete`, target_ref: id }]);
  });

  test("of somebody else is not found under /my, for an admin too, nor by the path of the other kind", async () => {
    const { key, id, plaintext } = await createOwner("dora");
    const other = path === "keys" ? "/my/relay-tokens" : "/my/keys";
    const ofOther = path === "keys" ? "404 relay_token_not_found" : "404 key_not_found";
    for (const [where, headers, refusal] of [
      [`${mine}/${id}`, bearer(harness.adminKey), missing[0]],
      [`${mine}/nope`, bearer(key), missing[0]],
      [`${other}/${id}`, bearer(key), ofOther],
    ] as const)
      await expectError(await call(harness, "DELETE", where, { headers }), refusal);
    expect(await use(plaintext)).toBeNull();
  });

  test("is listed to admins by creation time, of one principal or of all, in pages with the exact total", async () => {
    const first = await createOwner("ida", "first");
    const second = await createOwner("jan", "second");
    const read = async (query: string) => await (await call(harness, "GET", `${all}${query}`)).json();
    const whole = await read("?limit=500");
    const last = { limit: 1, offset: whole.total - 1, total: whole.total };
    expect(await read(`?limit=1&offset=${last.offset}`)).toEqual({
      [list]: [
        {
          id: second.id,
          [suffix]: second.plaintext.slice(-4),
          label: "second",
          created_at: TIMESTAMP,
          last_used_at: null,
          principal: "jan",
        },
      ],
      ...last,
    });
    const created: string[] = whole[list].map((row: { created_at: string }) => row.created_at);
    expect(created).toEqual([...created].sort());
    expect(await use(first.plaintext)).toBeNull();
    const ofIda = await read("?principal=ida");
    expect(ofIda).toMatchObject({ limit: 100, offset: 0, total: path === "keys" ? 2 : 1 });
    expect(ofIda[list].at(-1)).toMatchObject({ id: first.id, principal: "ida", last_used_at: TIMESTAMP });
    expect(await read("?principal=nobody")).toEqual({ [list]: [], limit: 100, offset: 0, total: 0 });
    expect((await read("?principal=")).total).toBe(whole.total);
    expect(JSON.stringify(await read("?limit=500"))).not.toContain(first.plaintext);
  });

  test("that an admin deletes stops at once and is audited by its id; an unknown one is not found, and is not", async () => {
    const { id, plaintext } = await createOwner("kim");
    const response = await call(harness, "DELETE", `${all}/${id}`);
    expect([response.status, await response.json()]).toEqual([200, { deleted: id }]);
    expect(await use(plaintext)).toBe(dead);
    const events = await readEvents();
    expect(events).toEqual([
      {
        ts: TIMESTAMP,
        actor_principal_id: harness.adminId,
        actor: "admin",
        action: `${noun}.delete`,
        target_kind: targetKind,
        target_ref: id,
        change: expect.objectContaining({ label: `***${plaintext.slice(-4)} of kim` }),
      },
    ]);
    for (const unknown of [id, "nope"])
      await expectError(await call(harness, "DELETE", `${all}/${unknown}`), ...missing);
    expect(await readEvents()).toEqual(events);
  });
});

describe("a key for another principal", () => {
  const KEYS = "/admin/v1/keys";

  test("is made by an admin alone, shown once, and the principal's from then on", async () => {
    await createCaller(harness, "hal");
    const response = await call(harness, "POST", KEYS, { body: { principal: "hal", label: "ci" } });
    const { key, ...view } = await response.json();
    expect([response.status, response.headers.get("cache-control")]).toEqual([201, "no-store"]);
    expect(view).toMatchObject({ key_suffix: key.slice(-4), label: "ci", principal: "hal" });
    expect(await readEvents()).toMatchObject([{ action: "key.create", target_ref: view.id }]);
    const me = await call(harness, "GET", "/auth/me", { headers: { "x-api-key": key } });
    expect(await me.json()).toMatchObject({ name: "hal" });
    const listed = await (await call(harness, "GET", `${KEYS}?limit=500`)).text();
    expect(listed + harness.logLines.join("")).not.toContain(key);
  });

  test.each([
    [{}, 400, "invalid_request", "principal"],
    [{ principal: "nobody" }, 404, "principal_not_found", "principal"],
    [{ principal: 5 }, 400, "invalid_request", "principal"],
    [{ principal: "admin", key: "lp_chosen" }, 400, "invalid_request", "key"],
    [{ principal_id: "x", principal: "admin" }, 400, "invalid_request", "principal_id"],
  ])("from %j is refused with %d %s, param %s", async (body, status, code, param) => {
    await expectError(await call(harness, "POST", KEYS, { body }), `${status} ${code}`, param);
  });

  test("has no counterpart for relay tokens: they are made by their owners only", async () => {
    const response = await call(harness, "POST", "/admin/v1/relay-tokens", { body: { principal: "admin" } });
    await expectError(response, "404 unknown_endpoint");
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
      const { id, token } = await read("POST", "/my/relay-tokens", {}, headers);
      using connection = await connect(Number(new URL(app.url).port));
      const relayed = (text: string) => connection.send("GET", `/transparent/messages/${text}/v1/models`);
      const refused = async (text: string) => {
        const response = await relayed(text);
        const message = await expectError(response, "404 unknown_relay_token", null);
        expect(message).not.toContain(text);
      };

      expect((await relayed(token)).status).toBe(200);
      const { relay_tokens: used } = await read("GET", "/my/relay-tokens", undefined, headers);
      expect(used).toEqual([expect.objectContaining({ id, last_used_at: TIMESTAMP })]);
      await refused(asNia.key);
      await refused(app.adminKey);
      await app.api("PATCH", path, { enabled: false });
      await refused(token);
      await app.api("PATCH", path, { enabled: true });
      expect((await relayed(token)).status).toBe(200);
      await app.api("DELETE", `/my/relay-tokens/${id}`, undefined, headers);
      await refused(token);

      const second = await read("POST", "/my/relay-tokens", {}, headers);
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
