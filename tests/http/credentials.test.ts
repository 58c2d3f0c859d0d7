import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { createSystemClock, formatInstant } from "#kernel/clock.ts";
import { createLog } from "#kernel/log.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";
import { changeStored, readStored, readWhole } from "../support/stored.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamCall } from "../support/upstream.ts";
import { until } from "../support/waiting.ts";

const DAY_US = 86_400_000_000;
const LIST = JSON.stringify({ object: "list", data: [{ id: "b" }, { id: "a" }] });
const CHAT = { model: "m", messages: [{ role: "user", content: "hi" }] };
const FIRST = "sk-first-secret-word";
const SECOND = "sk-second-secret-word";
const ACME = "/admin/v1/providers/acme";

let folder: ReturnType<typeof makeFolder>;
let app: TestApp;
let upstream: ScriptedUpstream;
/** Keys that the upstream takes; null: it lists its models for everybody. */
let taken: readonly string[] | null;
let aheadUs: number;
const logged: string[] = [];

const system = createSystemClock();
const clock = { ...system, nowUs: () => system.nowUs() + aheadUs };
const log = createLog({
  level: "debug",
  json: true,
  write: (line) => void logged.push(line),
  timestamp: () => "",
});
const dataDir = () => join(folder.path, "data");
const catalogPath = () => join(dataDir(), "catalog.db");
const start = async () => {
  app = await startApp({ dataDir: dataDir() }, { clock, log });
};
const restart = async () => {
  await app.stop();
  await start();
};

beforeEach(async () => {
  folder = makeFolder();
  logged.length = 0;
  aheadUs = 0;
  taken = [FIRST, SECOND];
  upstream = await startUpstream({ script: answer });
  await start();
  await send("POST", "/admin/v1/providers", { name: "acme", base_url: upstream.baseUrl, api_key: FIRST });
  await send("POST", "/admin/v1/models", { alias: "m", provider: "acme", upstream_name: "a" });
});
afterEach(async () => {
  await app.stop();
  await upstream.stop();
  expect(logged.join("")).not.toMatch(/secret-word/);
  folder.remove();
});

function answer(call: UpstreamCall) {
  const key = call.request.headers.get("authorization")?.replace("Bearer ", "") ?? "";
  if (taken === null || taken.includes(key)) return call.reply({ body: LIST });
  return call.reply({ status: 401, body: `{"error":{"message":"no ${key}"}}` });
}

/** An answer's body, which repeats no credential. */
async function send(method: string, path: string, body?: unknown): Promise<any> {
  const text = await (await app.api(method, path, body)).text();
  expect(text).not.toMatch(/secret-word/);
  return JSON.parse(text);
}
const codeOf = async (method: string, path: string, body?: unknown): Promise<string> =>
  (await send(method, path, body)).error?.code ?? "none";
const replace = (patch: object = { api_key: SECOND }) => send("PATCH", ACME, patch);
const restore = () => send("POST", `${ACME}/restore-credential`);
const sentKey = () => upstream.requests.at(-1)?.headers.get("authorization");
/** The credential that a caller's request is served with now. */
async function use() {
  await (await app.api("POST", "/v1/chat/completions", CHAT)).arrayBuffer();
  return sentKey();
}
const storedFormer = async () => {
  const rows: readonly any[] = await readStored(catalogPath(), "providers");
  return rows[0].former_credential;
};

describe("a credential that is replaced", () => {
  test("is kept sealed for a day, and serves again from the next request on once it is taken back", async () => {
    const before = await send("GET", ACME);
    expect(before).not.toHaveProperty("former_credential_until");
    expect(await use()).toBe(`Bearer ${FIRST}`);
    const changed = await replace();
    expect(Date.parse(changed.former_credential_until)).toBe(
      Date.parse(changed.credential_set_at) + 86_400_000,
    );
    expect(await use()).toBe(`Bearer ${SECOND}`);
    expect(await readWhole(catalogPath())).not.toMatch(/secret-word/);

    const back = await restore();
    expect(back).toMatchObject({ has_credential: true, credential_set_at: before.credential_set_at });
    expect(await use()).toBe(`Bearer ${FIRST}`);
    expect(await use()).toBe(`Bearer ${FIRST}`);
    // The one that it took the place of is the former now, for a day from this moment.
    expect(back.former_credential_until > changed.former_credential_until).toBe(true);
    expect((await restore()).credential_set_at).toBe(changed.credential_set_at);
    expect(await use()).toBe(`Bearer ${SECOND}`);
    await restart();
    await restore();
    expect(await use()).toBe(`Bearer ${FIRST}`);
  });

  test("is not taken back by a body with a field that the request does not have", async () => {
    await replace();
    expect(await codeOf("POST", `${ACME}/restore-credential`, { dry_run: true })).toBe("invalid_request");
    expect(await use()).toBe(`Bearer ${SECOND}`);
  });

  test("is taken back with an entry of the audit log that says so and holds neither", async () => {
    await replace();
    await restore();
    const { events } = await send("GET", "/admin/v1/events?limit=3");
    expect(events[0]).toMatchObject({
      actor: "admin",
      action: "credential.restore",
      target_kind: "provider",
      target_ref: "acme",
      change: {
        sentence: "api key replaced",
        fields: [{ field: "api_key", before: "set", after: "set", secret: true }],
      },
    });
    expect(events[1].action).toBe("provider.update");
  });

  test("cannot be taken back when there is none, after its day, and twice at once by one who saw the state before", async () => {
    const path = `${ACME}/restore-credential`;
    expect(await codeOf("POST", path)).toBe("former_credential_not_found");
    expect(await codeOf("POST", "/admin/v1/providers/acma/restore-credential")).toBe("provider_not_found");
    const { former_credential_until: keptUntil } = await replace();
    const etag = (await app.api("GET", ACME)).headers.get("etag") ?? "";
    const headers = { authorization: `Bearer ${app.adminKey}`, "if-match": etag };
    const both = await Promise.all([1, 2].map(() => app.api("POST", path, undefined, headers)));
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 412]));
    await restore();
    aheadUs = DAY_US * 2;
    expect(formatInstant(clock.nowUs()) > keptUntil).toBe(true);
    expect(await codeOf("POST", path)).toBe("former_credential_not_found");
    expect(await use()).toBe(`Bearer ${SECOND}`);
  });

  test("is kept no longer once the address or the TLS settings change, or the credential is removed", async () => {
    for (const patch of [
      { base_url: "http://127.0.0.1:9/v1" },
      { endpoints: { chat: "http://127.0.0.1:9/chat" } },
      { verify_tls: false },
      { remove_credential: true },
      { base_url: "http://127.0.0.1:9/v1", api_key: "sk-third-secret-word" },
    ]) {
      await replace({ base_url: upstream.baseUrl, endpoints: {}, verify_tls: true, api_key: FIRST });
      await replace();
      expect(await storedFormer()).not.toBeNull();
      expect(await replace(patch)).not.toHaveProperty("former_credential_until");
      expect(await storedFormer()).toBeNull();
      expect(await codeOf("POST", `${ACME}/restore-credential`)).toBe("former_credential_not_found");
    }
  });

  test("stays the former one when the present one is given again, or another field is changed", async () => {
    await replace();
    await replace();
    await replace({ timeout_read: 5, base_url: `${upstream.baseUrl}/` });
    await restore();
    expect(await use()).toBe(`Bearer ${FIRST}`);
  });

  test("is in no file of the catalog, and gone with its provider", async () => {
    const { former_credential_until: keptUntil } = await replace();
    const file = await (await app.api("GET", "/admin/v1/catalog")).text();
    expect(file).toContain('"acme"');
    expect(file).not.toMatch(/former|secret-word/);
    expect(file).not.toContain(keptUntil);
    await send("DELETE", ACME);
    expect(await readStored(catalogPath(), "providers")).toEqual([]);
    await send("POST", "/admin/v1/providers", { name: "acme", base_url: upstream.baseUrl });
    expect(await codeOf("POST", `${ACME}/restore-credential`)).toBe("former_credential_not_found");
  });

  test("does not open after its end, nor for another address, though somebody writes so into the database", async () => {
    await replace();
    aheadUs = DAY_US + 60_000_000;
    await changeStored(catalogPath(), [`UPDATE providers SET former_until_us = ${clock.nowUs() + DAY_US}`]);
    expect(await codeOf("POST", `${ACME}/restore-credential`)).toBe("former_credential_not_found");
    expect(await use()).toBe(`Bearer ${SECOND}`);
  });

  test("is gone from the database after its day, at the next start", async () => {
    await replace();
    await restart();
    expect(await storedFormer()).not.toBeNull();
    aheadUs = DAY_US + 60_000_000;
    await restart();
    await until(
      async () => (await storedFormer()) === null,
      () => "the former credential is still stored",
    );
    expect(await send("GET", ACME)).not.toHaveProperty("former_credential_until");
    expect(await use()).toBe(`Bearer ${SECOND}`);
    const { events } = await send("GET", "/admin/v1/events?limit=1");
    expect(events[0].action).toBe("provider.update");
  });

  test("is gone from the database after its day, though nobody asks a server that runs", async () => {
    using timers = spyOn(globalThis, "setInterval");
    await restart();
    const eachMinute = timers.mock.calls.flatMap(([run, ms]) => (ms === 60_000 ? [run] : []));
    await replace();
    const tick = () => eachMinute.forEach((run) => run());
    tick();
    aheadUs = DAY_US - 60_000_000;
    tick();
    await use();
    expect(await storedFormer()).not.toBeNull();
    aheadUs = DAY_US + 1_000_000;
    tick();
    await until(
      async () => (await storedFormer()) === null,
      () => "the former credential is still stored",
    );
  });
});

describe("POST /admin/v1/providers/{name}/test", () => {
  const ask = (patch?: object) => send("POST", `${ACME}/test`, patch);

  test("asks with what is typed, or with what is stored where nothing is, and stores nothing of it", async () => {
    const before = await send("GET", ACME);
    const stored = await readStored(catalogPath(), "providers");
    expect(await ask()).toMatchObject({ provider: "acme", credential_checked: true });
    expect(upstream.requests.map(({ headers }) => headers.get("authorization"))).toEqual([
      `Bearer ${FIRST}`,
      undefined,
    ]);
    expect(await ask({ api_key: SECOND, auth_style: "bearer" })).toEqual({
      provider: "acme",
      discovered_at: expect.any(String),
      models: [
        expect.objectContaining({ upstream_name: "a", bound_alias: "m" }),
        expect.objectContaining({ upstream_name: "b", bound_alias: null }),
      ],
      credential_checked: true,
    });
    expect(upstream.requests.at(-2)?.headers.get("authorization")).toBe(`Bearer ${SECOND}`);
    expect(await send("GET", ACME)).toEqual(before);
    expect(await readStored(catalogPath(), "providers")).toEqual(stored);
    const { events } = await send("GET", "/admin/v1/events?limit=1");
    expect(events[0].action).toBe("model.create");
    expect(await use()).toBe(`Bearer ${FIRST}`);
  });

  test("says that a key is refused, in words that repeat neither it nor the provider's own", async () => {
    taken = [FIRST];
    const { error } = await ask({ api_key: SECOND });
    expect([error.code, error.message]).toEqual(["discovery_failed", expect.stringContaining("status 401")]);
    expect(sentKey()).toBe(`Bearer ${SECOND}`);
  });

  test("says that a credential was not checked where the models are listed without it as well", async () => {
    taken = null;
    expect(await ask({ api_key: "sk-nonsense-secret-word" })).toMatchObject({ credential_checked: false });
    expect(await ask({ remove_credential: true })).not.toHaveProperty("credential_checked");
    expect(sentKey()).toBeUndefined();
  });

  test("never sends the stored credential anywhere but where it was stored for", async () => {
    const elsewhere = await startUpstream({ script: (call) => call.reply({ body: LIST }) });
    try {
      for (const patch of [{ base_url: elsewhere.baseUrl }, { verify_tls: false }]) {
        const { error } = await ask(patch);
        expect([error.code, error.param]).toEqual(["invalid_request", "api_key"]);
      }
      expect(upstream.requests).toHaveLength(0);
      expect(elsewhere.connectionCount()).toBe(0);
      const moved = { base_url: elsewhere.baseUrl, api_key: SECOND };
      expect((await ask(moved)).models).toHaveLength(2);
      expect(elsewhere.requests[0]?.headers.get("authorization")).toBe(`Bearer ${SECOND}`);
      expect((await ask({ base_url: elsewhere.baseUrl, remove_credential: true })).models).toHaveLength(2);
      expect(elsewhere.lastRequest().headers.has("authorization")).toBe(false);
    } finally {
      await elsewhere.stop();
    }
  });

  test("refuses what the change would refuse, before anything is sent", async () => {
    for (const [patch, code] of [
      [{ base_url: "http://169.254.169.254/latest" }, "invalid_base_url"],
      [{ base_url: "file:///etc/passwd" }, "invalid_base_url"],
      [{ endpoints: { chat: "http://169.254.169.254/" } }, "invalid_override"],
      [{ endpoints: { nope: "http://127.0.0.1/" } }, "invalid_endpoint"],
      [{ api_key: `${SECOND}\r\nx: y` }, "invalid_request"],
      [{ api_key: SECOND, remove_credential: true }, "invalid_request"],
      [{ ca_pem: "no PEM" }, "invalid_request"],
      [{ unknown: 1 }, "invalid_request"],
    ] as const)
      expect(await codeOf("POST", `${ACME}/test`, patch)).toBe(code);
    expect(await codeOf("POST", "/admin/v1/providers/acma/test", {})).toBe("provider_not_found");
    expect(upstream.requests).toHaveLength(0);
  });
});
