import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { call, createCaller, expectError, openSession, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

async function auditCount(): Promise<number> {
  return (await harness.deps.audit.listEvents({ limit: 1, offset: 0 })).total;
}

describe("POST /my/keys", () => {
  test("makes a key that works at once and shows its plaintext this one time", async () => {
    const { principal, key } = await createCaller(harness, "anna");
    const headers = { authorization: `Bearer ${key}` };
    const before = await auditCount();
    const created = await call(harness, "POST", "/my/keys", {
      body: { label: "laptop", owner: "x" },
      headers,
    });
    expect(created.status).toBe(201);
    expect(created.headers.get("cache-control")).toBe("no-store");
    const view: Record<string, unknown> & { key: string } = await created.json();
    expect(view).toEqual({
      id: expect.stringMatching(UUID_V7),
      key_suffix: view.key.slice(-4),
      label: "laptop",
      created_at: expect.stringMatching(TIMESTAMP),
      last_used_at: null,
      key: expect.stringMatching(/^lp_[0-9A-Za-z]{43}$/),
    });
    const mine = { authorization: `Bearer ${view.key}` };
    const listed = await call(harness, "GET", "/my/keys", { headers: mine });
    const text = await listed.text();
    expect(text).not.toContain(view.key);
    const { keys }: { keys: Record<string, unknown>[] } = JSON.parse(text);
    expect(keys.map((row) => row["label"])).toEqual(["", "laptop"]);
    expect(keys[1]).toEqual({
      id: view["id"],
      key_suffix: view.key.slice(-4),
      label: "laptop",
      created_at: expect.stringMatching(TIMESTAMP),
      last_used_at: expect.stringMatching(TIMESTAMP),
    });
    expect((await harness.deps.keys.list({ principalId: principal.id }, { limit: 9, offset: 0 })).total).toBe(
      2,
    );
    expect(await auditCount()).toBe(before + 1);
  });

  test("reads an empty body as {}, and a missing label as an empty one", async () => {
    const { principal, key } = await createCaller(harness, "bert");
    const headers = { authorization: `Bearer ${key}` };
    for (const body of [undefined, "", "{}", '{"label":""}']) {
      const response = await call(harness, "POST", "/my/keys", { body, headers });
      expect([response.status, (await response.json()).label]).toEqual([201, ""]);
    }
    const cookie = await openSession(harness, principal);
    expect((await call(harness, "POST", "/my/keys", { headers: { cookie } })).status).toBe(201);
  });

  test("past 500 keys is 409 too_many_keys, also by an admin, until one is deleted", async () => {
    const { principal, keyId, key } = await createCaller(harness, "keeper");
    for (let made = 1; made < 500; made += 1)
      await harness.deps.keys.create({ principalId: principal.id }, null);
    const headers = { authorization: `Bearer ${key}` };
    const asAdmin = {
      body: { principal: "keeper" },
      headers: { authorization: `Bearer ${harness.adminKey}` },
    };
    const before = await auditCount();
    const [own, byAdmin] = [
      await call(harness, "POST", "/my/keys", { headers }),
      await call(harness, "POST", "/admin/v1/keys", asAdmin),
    ];
    for (const refused of [own, byAdmin]) await expectError(refused, { status: 409, code: "too_many_keys" });
    expect(await auditCount()).toBe(before);
    await harness.deps.keys.delete({ id: keyId }, null);
    expect((await call(harness, "POST", "/admin/v1/keys", asAdmin)).status).toBe(201);
  });

  test.each([
    ["{", "invalid_json", null],
    ["label=x", "invalid_json", null],
    ['{"label":5}', "invalid_request", "label"],
    ['{"label":null}', "invalid_request", "label"],
    ["[]", "invalid_request", null],
    ["null", "invalid_request", null],
    ['"text"', "invalid_request", null],
    [JSON.stringify({ label: "x".repeat(121) }), "invalid_label", "label"],
    [JSON.stringify({ label: "a\u0007b" }), "invalid_label", "label"],
  ] as const)("%s is 400 %s, param %p, and makes no key", async (body, code, param) => {
    const { principal, key } = await createCaller(harness, `refused-${Bun.hash(body).toString(36)}`);
    const response = await call(harness, "POST", "/my/keys", {
      body,
      headers: { authorization: `Bearer ${key}` },
    });
    await expectError(response, { status: 400, code, param });
    expect((await harness.deps.keys.list({ principalId: principal.id }, { limit: 9, offset: 0 })).total).toBe(
      1,
    );
  });

  test("counts a label in code points: 120 of them pass, however many bytes they are", async () => {
    const response = await call(harness, "POST", "/my/keys", { body: { label: "🔑".repeat(120) } });
    expect(response.status).toBe(201);
    await expectError(await call(harness, "POST", "/my/keys", { body: { label: "🔑".repeat(121) } }), {
      status: 400,
      code: "invalid_label",
      param: "label",
    });
  });
});

describe("DELETE /my/keys/{id}", () => {
  test("stops one's own key at once, and is 404 key_not_found the second time", async () => {
    const { key, keyId } = await createCaller(harness, "carl");
    const headers = { authorization: `Bearer ${key}` };
    const deleted = await call(harness, "DELETE", `/my/keys/${keyId}`, { headers });
    expect([deleted.status, await deleted.json()]).toEqual([200, { deleted: keyId }]);
    await expectError(await call(harness, "DELETE", `/my/keys/${keyId}`, { headers }), {
      status: 401,
      code: "invalid_api_key",
    });
    await expectError(await call(harness, "DELETE", `/my/keys/${keyId}`), {
      status: 404,
      code: "key_not_found",
      param: null,
    });
  });

  test("of somebody else's key is 404 key_not_found, for an admin too, and leaves it working", async () => {
    const { key, keyId } = await createCaller(harness, "dora");
    await expectError(await call(harness, "DELETE", `/my/keys/${keyId}`), {
      status: 404,
      code: "key_not_found",
    });
    expect(
      (await call(harness, "GET", "/my/keys", { headers: { authorization: `Bearer ${key}` } })).status,
    ).toBe(200);
  });
});
