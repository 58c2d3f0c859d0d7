import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { call, createCaller, expectError, openSession, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

const PRINCIPALS = "/admin/v1/principals";
const KEYS = "/admin/v1/keys";
const TIMESTAMP = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/);
const UNKNOWN_ID = "01900000-0000-7000-8000-000000000000";

async function events(limit = 1): Promise<readonly any[]> {
  return (await (await call(harness, "GET", `/admin/v1/events?limit=${limit}`)).json()).events;
}

describe("principals", () => {
  test("POST makes a user and member unless told otherwise, and is audited by its id", async () => {
    const response = await call(harness, "POST", PRINCIPALS, { body: { name: "ann" } });
    const created: Record<string, unknown> = await response.json();
    expect([response.status, created]).toEqual([
      201,
      {
        id: expect.any(String),
        name: "ann",
        kind: "user",
        role: "member",
      },
    ]);
    expect(await events()).toEqual([
      {
        ts: TIMESTAMP,
        actor_principal_id: harness.adminId,
        actor: "admin",
        action: "principal.create",
        target_kind: "principal",
        target_ref: created["id"],
        change: expect.objectContaining({ label: "ann", omitted: 0 }),
      },
    ]);
    const service = await call(harness, "POST", PRINCIPALS, {
      body: { name: "bot", kind: "service", role: "admin" },
    });
    expect(await service.json()).toMatchObject({ kind: "service", role: "admin" });
  });

  test.each([
    [{}, 400, "invalid_request", "name"],
    [{ name: "Ann" }, 400, "invalid_name", "name"],
    [{ name: 1 }, 400, "invalid_request", "name"],
    [{ name: "y", kind: "robot" }, 400, "invalid_request", "kind"],
    [{ name: "y", role: "owner" }, 400, "invalid_request", "role"],
    [{ name: "y", role: null }, 400, "invalid_request", "role"],
    [{ name: "y", id: UNKNOWN_ID }, 400, "invalid_request", "id"],
    [{ name: "y", enabled: true }, 400, "invalid_request", "enabled"],
    [{ name: "admin" }, 409, "principal_exists", "name"],
  ])("POST of %j is refused with %d %s, param %s", async (body, status, code, param) => {
    await expectError(await call(harness, "POST", PRINCIPALS, { body }), `${status} ${code}`, param);
  });

  test("PATCH disables at once and gives back; a demoted admin's key is a member's", async () => {
    const { principal, key } = await createCaller(harness, "eve", "admin");
    const headers = { authorization: `Bearer ${key}` };
    const disabled = await call(harness, "PATCH", `${PRINCIPALS}/${principal.id}`, {
      body: { enabled: false },
    });
    expect([disabled.status, await disabled.json()]).toEqual([
      200,
      expect.objectContaining({ name: "eve", enabled: false, role: "admin" }),
    ]);
    const listed: { principals: object[] } = await (await call(harness, "GET", PRINCIPALS)).json();
    expect(listed.principals).toContainEqual(expect.objectContaining({ name: "eve", enabled: false }));
    expect(Object.keys(listed.principals[0] ?? {}).sort()).toEqual([
      "created_at",
      "id",
      "kind",
      "name",
      "role",
    ]);
    await expectError(await call(harness, "GET", "/my/keys", { headers }), "401 invalid_api_key");
    await call(harness, "PATCH", `${PRINCIPALS}/${principal.id}`, {
      body: { enabled: true, role: "member" },
    });
    expect((await call(harness, "GET", "/my/keys", { headers })).status).toBe(200);
    await expectError(await call(harness, "GET", PRINCIPALS, { headers }), "403 admin_required");
    expect(await events()).toMatchObject([{ action: "principal.update", target_ref: principal.id }]);
  });

  test.each([
    [{ name: "other" }, "name"],
    [{ kind: "service" }, "kind"],
    [{ role: "root" }, "role"],
    [{ enabled: "no" }, "enabled"],
  ])("PATCH of %j is 400 invalid_request, param %s", async (body, param) => {
    await expectError(
      await call(harness, "PATCH", `${PRINCIPALS}/${harness.adminId}`, { body }),
      "400 invalid_request",
      param,
    );
  });

  test("DELETE takes keys and sessions along, and events keep standing with a null actor", async () => {
    const { principal, key } = await createCaller(harness, "fay", "admin");
    const cookie = await openSession(harness, principal);
    const made = await call(harness, "POST", PRINCIPALS, {
      body: { name: "made-by-fay" },
      headers: { authorization: `Bearer ${key}` },
    });
    expect(made.status).toBe(201);
    const response = await call(harness, "DELETE", `${PRINCIPALS}/${principal.id}`);
    expect([response.status, await response.json()]).toEqual([200, { deleted: principal.id }]);
    await expectError(
      await call(harness, "GET", "/my/keys", { headers: { authorization: `Bearer ${key}` } }),
      "401 invalid_api_key",
    );
    await expectError(await call(harness, "GET", "/my/keys", { headers: { cookie } }), "401 missing_api_key");
    expect(await events(2)).toMatchObject([
      { action: "principal.delete", actor: "admin", target_ref: principal.id },
      { action: "principal.create", actor: null, actor_principal_id: principal.id },
    ]);
  });

  test("POST revoke-sessions ends every session, leaves the keys, and tells how many", async () => {
    const { principal, key } = await createCaller(harness, "gus");
    const cookies = [await openSession(harness, principal), await openSession(harness, principal)];
    const response = await call(harness, "POST", `${PRINCIPALS}/${principal.id}/revoke-sessions`);
    expect([response.status, await response.json()]).toEqual([200, { revoked: 2 }]);
    for (const cookie of cookies) {
      await expectError(
        await call(harness, "GET", "/my/keys", { headers: { cookie } }),
        "401 missing_api_key",
      );
    }
    expect(
      (await call(harness, "GET", "/my/keys", { headers: { authorization: `Bearer ${key}` } })).status,
    ).toBe(200);
    expect(await events()).toMatchObject([
      { action: "session.revoke", target_kind: "principal", target_ref: principal.id },
    ]);
  });
});

describe("GET /admin/v1/events", () => {
  test("is newest first, and holds identifiers with the change beside them", async () => {
    for (const name of ["kim", "lou", "mia"]) await call(harness, "POST", PRINCIPALS, { body: { name } });
    const all = await events(500);
    expect(all.length).toBeGreaterThanOrEqual(3);
    expect(all).toEqual(all.toSorted((left, right) => (left.ts < right.ts ? 1 : -1)));
    expect(await events(2)).toEqual(all.slice(0, 2));
    for (const event of all) {
      expect(Object.keys(event).sort()).toEqual([
        "action",
        "actor",
        "actor_principal_id",
        "change",
        "target_kind",
        "target_ref",
        "ts",
      ]);
    }
  });

  test("a refused mutation writes none", async () => {
    const before = await events();
    await call(harness, "POST", PRINCIPALS, { body: { name: "Bad Name" } });
    await call(harness, "POST", PRINCIPALS, { body: { name: "admin" } });
    await call(harness, "DELETE", `${KEYS}/nope`);
    await call(harness, "DELETE", "/admin/v1/providers/nope");
    expect(await events()).toEqual(before);
  });
});

/** Oldest first, as `actor action kind target`. */
async function listAudited(): Promise<readonly string[]> {
  return (await events(100))
    .toReversed()
    .map((event) => `${event.actor} ${event.action} ${event.target_kind} ${event.target_ref}`);
}

test("what a caller does with keys and relay tokens of its own is audited under its name, refusals are not", async () => {
  const { principal, key } = await createCaller(harness, "anna");
  const before = (await listAudited()).length;
  const ask = async (method: string, path: string, body?: object): Promise<any> => {
    const headers = { authorization: `Bearer ${key}` };
    return await (await call(harness, method, path, { body, headers })).json();
  };
  const expected: string[] = [];
  for (const [path, kind, noun] of [
    ["/my/keys", "api_key", "key"],
    ["/my/relay-tokens", "relay_token", "relay_token"],
  ] as const) {
    const { id } = await ask("POST", path, { label: "a" });
    await ask("PATCH", `${path}/${id}`, { enabled: false });
    await ask("PATCH", `${path}/${id}`, { expires_at: "yesterday" });
    await ask("PATCH", `${path}/none`, { enabled: false });
    if (noun === "key") await ask("POST", `${path}/${id}/rotate`);
    await ask("POST", `${path}/none/rotate`);
    await ask("DELETE", `${path}/${id}`);
    await ask("DELETE", `${path}/${id}`);
    const actions = ["create", "update", ...(noun === "key" ? ["rotate"] : []), "delete"];
    expected.push(...actions.map((action) => `anna ${noun}.${action} ${kind} ${id}`));
  }
  expect((await listAudited()).slice(before)).toEqual(expected);
  expect(JSON.stringify(await listAudited())).not.toContain("yesterday");
  await harness.deps.principals.delete(principal.id, null);
  expect((await listAudited()).slice(before)).toEqual(expected.map((line) => line.replace("anna", "null")));
});
