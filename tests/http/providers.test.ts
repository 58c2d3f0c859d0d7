import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { call, expectError, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

const PROVIDERS = "/admin/v1/providers";
const TIMESTAMP = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/);
let names = 0;
const freshName = () => `provider-${(names += 1)}`;

async function create(fields: Record<string, unknown> = {}): Promise<string> {
  const name = freshName();
  const response = await call(harness, "POST", PROVIDERS, {
    body: { name, base_url: "http://127.0.0.1:9/v1", ...fields },
  });
  expect(response.status).toBe(201);
  return name;
}

async function lastEvent() {
  const {
    events,
  }: {
    events: unknown[];
  } = await (await call(harness, "GET", "/admin/v1/events?limit=1")).json();
  return events[0];
}

describe("POST /admin/v1/providers", () => {
  test("makes a provider with the defaults, strips the trailing slash, and is audited", async () => {
    const name = freshName();
    const response = await call(harness, "POST", PROVIDERS, {
      body: { name, base_url: "https://api.example.org/v1/" },
    });
    expect([response.status, await response.json()]).toEqual([
      201,
      {
        name,
        wire_format: "openai",
        base_url: "https://api.example.org/v1",
        has_credential: false,
        verify_tls: true,
        has_custom_ca: false,
        timeout_connect: 10,
        timeout_read: 300,
        max_concurrency: null,
        enabled: true,
        created_at: TIMESTAMP,
        endpoints: {},
      },
    ]);
    expect(await lastEvent()).toEqual({
      ts: TIMESTAMP,
      actor_principal_id: harness.adminId,
      actor: "admin",
      action: "provider.create",
      target_kind: "provider",
      target_ref: name,
      change: expect.objectContaining({ omitted: 0 }),
    });
  });

  test("keeps every field that is given, and never shows the credential or the bundle again", async () => {
    const name = freshName();
    const caPem = await Bun.file(`${import.meta.dir}/../catalog/root.pem`).text();
    const body = {
      name,
      base_url: "https://api.example.org/v1",
      wire_format: "openai",
      api_key: "sk-planted-secret",
      auth_style: "x-api-key",
      verify_tls: false,
      ca_pem: caPem,
      timeout_connect: 1.5,
      timeout_read: 20,
      max_concurrency: 7,
      endpoints: { chat: "https://chat.example.org/x", embeddings: "http://e.example.org/y" },
    };
    const created = await (await call(harness, "POST", PROVIDERS, { body })).text();
    const single = await (await call(harness, "GET", `${PROVIDERS}/${name}`)).text();
    expect(single).toBe(created);
    expect(JSON.parse(created)).toMatchObject({
      has_credential: true,
      auth_style: "x-api-key",
      verify_tls: false,
      has_custom_ca: true,
      timeout_connect: 1.5,
      timeout_read: 20,
      max_concurrency: 7,
      endpoints: body.endpoints,
    });
    const list = await (await call(harness, "GET", `${PROVIDERS}?limit=500`)).text();
    const { endpoints: _endpoints, ...listed } = JSON.parse(created);
    expect(JSON.parse(list).providers).toContainEqual(listed);
    for (const text of [created, list, harness.logLines.join("")]) {
      expect(text).not.toContain("sk-planted-secret");
      expect(text).not.toContain("BEGIN CERTIFICATE");
    }
  });

  test.each([
    [{ name: undefined }, "invalid_request", "name"],
    [{ name: 5 }, "invalid_request", "name"],
    [{ name: null }, "invalid_request", "name"],
    [{ name: "Upper" }, "invalid_name", "name"],
    [{ wire_format: "messages" }, "invalid_wire_format", "wire_format"],
    [{ wire_format: 1 }, "invalid_request", "wire_format"],
    [{ base_url: 7 }, "invalid_request", "base_url"],
    [{ base_url: "https://user:secret@x/v1" }, "invalid_base_url", "base_url"],
    [{ endpoints: { nope: "https://x/" } }, "invalid_endpoint", "endpoints.nope"],
    [{ endpoints: { chat: "file:///etc/passwd" } }, "invalid_override", "endpoints.chat"],
    [{ endpoints: { chat: 5 } }, "invalid_request", "endpoints.chat"],
    [{ endpoints: [] }, "invalid_request", "endpoints"],
    [{ timeout_read: "5" }, "invalid_request", "timeout_read"],
    [{ timeout_connect: -1 }, "invalid_request", "timeout_connect"],
    [{ max_concurrency: "3" }, "invalid_request", "max_concurrency"],
    [{ verify_tls: "yes" }, "invalid_request", "verify_tls"],
    [{ auth_style: null }, "invalid_request", "auth_style"],
    [{ ca_pem: "no pem" }, "invalid_request", "ca_pem"],
    [{ enabled: true }, "invalid_request", "enabled"],
    [{ has_credential: true }, "invalid_request", "has_credential"],
    [{ remove_credential: true }, "invalid_request", "remove_credential"],
    [{ constructor: 1 }, "invalid_request", "constructor"],
  ])("%j is refused with %s, param %s, and makes nothing", async (fields, code, param) => {
    const body = { name: freshName(), base_url: "https://x/v1", ...fields };
    const before: { total: number } = await (await call(harness, "GET", PROVIDERS)).json();
    const message = await expectError(await call(harness, "POST", PROVIDERS, { body }), `400 ${code}`, param);
    expect(message).not.toMatch(/secret|passwd|no pem/);
    expect((await (await call(harness, "GET", PROVIDERS)).json()).total).toBe(before.total);
  });

  test("a field whose name is no plain word is refused without repeating it", async () => {
    for (const field of ["<script>", "a b", "x".repeat(65), "é", "__proto__/x"]) {
      const body = { name: freshName(), base_url: "https://x/v1", [field]: 1 };
      const message = await expectError(
        await call(harness, "POST", PROVIDERS, { body }),
        "400 invalid_request",
        null,
      );
      expect(message).not.toContain(field);
    }
    const polluted = `{"name":"${freshName()}","base_url":"https://x/v1","__proto__":{"enabled":false}}`;
    await expectError(
      await call(harness, "POST", PROVIDERS, { body: polluted }),
      "400 invalid_request",
      "__proto__",
    );
  });

  test.each([
    ["", "invalid_json"],
    ["{", "invalid_json"],
    ["\ufeff{}", "invalid_json"],
    ["[]", "invalid_request"],
    ["null", "invalid_request"],
    ["5", "invalid_request"],
    ['"text"', "invalid_request"],
  ])("the body %j is refused with %s", async (body, code) => {
    await expectError(await call(harness, "POST", PROVIDERS, { body }), `400 ${code}`, null);
  });

  test("a body of invalid UTF-8, an encoded one and one over 1 MiB are refused", async () => {
    await expectError(
      await call(harness, "POST", PROVIDERS, { body: new Uint8Array([0x7b, 0xff, 0x7d]) }),
      "400 invalid_json",
    );
    const headers = { authorization: `Bearer ${harness.adminKey}`, "content-encoding": "gzip" };
    await expectError(await call(harness, "POST", PROVIDERS, { body: "{}", headers }), "400 invalid_json");
    const body = { name: freshName(), base_url: "https://x/v1", ca_pem: "x".repeat(1024 * 1024) };
    await expectError(await call(harness, "POST", PROVIDERS, { body }), "413 request_too_large", null);
  });

  test("a content type is not looked at when a key authenticates", async () => {
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data",
      "application/xml",
    ]) {
      const headers = { authorization: `Bearer ${harness.adminKey}`, "content-type": type };
      const body = { name: freshName(), base_url: "https://x/v1" };
      expect((await call(harness, "POST", PROVIDERS, { body, headers })).status).toBe(201);
    }
  });
});

describe("GET /admin/v1/providers", () => {
  test("one that does not exist is 404 provider_not_found for GET, PATCH and DELETE", async () => {
    for (const name of ["nope", "a%2Fb", "%00", "x".repeat(500), "..%2F..%2Fetc"]) {
      for (const method of ["GET", "PATCH", "DELETE"]) {
        const response = await call(
          harness,
          method,
          `${PROVIDERS}/${name}`,
          method === "PATCH" ? { body: {} } : {},
        );
        await expectError(response, "404 provider_not_found", null);
      }
    }
  });
});

describe("PATCH /admin/v1/providers/{name}", () => {
  test("changes what is given and leaves the rest", async () => {
    const name = await create({ api_key: "k", timeout_read: 50, max_concurrency: 4 });
    const response = await call(harness, "PATCH", `${PROVIDERS}/${name}`, {
      body: { timeout_connect: 3, endpoints: { chat: "https://c.example/" } },
    });
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({
        name,
        has_credential: true,
        timeout_connect: 3,
        timeout_read: 50,
        max_concurrency: 4,
        enabled: true,
        endpoints: { chat: "https://c.example/" },
      }),
    ]);
    expect(await lastEvent()).toMatchObject({ action: "provider.update", target_ref: name });
  });

  test.each([
    [{ api_key: "" }, { has_credential: false }],
    [{ remove_credential: true }, { has_credential: false }],
    [{ remove_credential: false }, { has_credential: true }],
    [{ max_concurrency: null }, { max_concurrency: null }],
    [{ enabled: false }, { enabled: false }],
    [{}, { enabled: true }],
  ])("%j gives %j", async (patch, expected) => {
    const name = await create({ api_key: "k", max_concurrency: 4 });
    const response = await call(harness, "PATCH", `${PROVIDERS}/${name}`, { body: patch });
    expect([response.status, await response.json()]).toEqual([200, expect.objectContaining(expected)]);
  });

  test("auth_style: bearer, the default, is absent from every view, and the entity tag tells of its change", async () => {
    const name = await create({ api_key: "k", auth_style: "bearer" });
    const path = `${PROVIDERS}/${name}`;
    const before = await call(harness, "GET", path);
    expect(await before.json()).not.toHaveProperty("auth_style");
    const changed = await call(harness, "PATCH", path, { body: { auth_style: "x-api-key" } });
    expect(changed.headers.get("etag")).not.toBe(before.headers.get("etag"));
    const back = await call(harness, "PATCH", path, { body: { auth_style: "bearer" } });
    expect(await back.json()).not.toHaveProperty("auth_style");
    expect(back.headers.get("etag")).toBe(before.headers.get("etag"));
    expect(await lastEvent()).toMatchObject({ action: "provider.update", target_ref: name });
  });

  test.each([
    [{ name: "renamed" }, "invalid_request", "name"],
    [{ wire_format: "openai" }, "invalid_request", "wire_format"],
    [{ enabled: "true" }, "invalid_request", "enabled"],
    [{ enabled: null }, "invalid_request", "enabled"],
    [{ base_url: "nope" }, "invalid_base_url", "base_url"],
    [{ api_key: "k", remove_credential: true }, "invalid_request", "remove_credential"],
  ])("%j is refused with %s, param %s, and changes nothing", async (patch, code, param) => {
    const name = await create();
    const before = await (await call(harness, "GET", `${PROVIDERS}/${name}`)).json();
    await expectError(
      await call(harness, "PATCH", `${PROVIDERS}/${name}`, { body: patch }),
      `400 ${code}`,
      param,
    );
    expect(await (await call(harness, "GET", `${PROVIDERS}/${name}`)).json()).toEqual(before);
  });

  test("without a body is 400 invalid_json", async () => {
    const name = await create();
    await expectError(await call(harness, "PATCH", `${PROVIDERS}/${name}`), "400 invalid_json", null);
  });
});

describe("DELETE /admin/v1/providers/{name}", () => {
  test("removes it with its models, whatever its body is, and the second time is not found", async () => {
    const name = await create();
    await harness.deps.catalog.createModel({ alias: "goes", provider: name, upstreamName: "u" }, null);
    const response = await call(harness, "DELETE", `${PROVIDERS}/${name}`, { body: "not looked at" });
    expect([response.status, await response.json()]).toEqual([200, { deleted: name }]);
    expect((await harness.deps.catalog.snapshot()).findModel("goes")).toBeNull();
    await expectError(await call(harness, "DELETE", `${PROVIDERS}/${name}`), "404 provider_not_found");
  });
});
