import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSecretBox } from "#kernel/crypto.ts";
import { findCatalogAge } from "#storage/sqlite/catalog/inspect.ts";
import { runLocal } from "../cli/terminal.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";

const CREDENTIAL = "sk-upstream-secret";
const CHAT = { model: "m", messages: [{ role: "user", content: "hi" }] };

let folder: ReturnType<typeof makeFolder>;
let dataDir: string;
let own: ScriptedUpstream;
let foreign: ScriptedUpstream;

beforeEach(async () => {
  folder = makeFolder();
  dataDir = join(folder.path, "data");
  const script = { script: (call: { reply(answer: object): unknown }) => call.reply({ body: "{}" }) };
  own = await startUpstream(script);
  foreign = await startUpstream(script);
});
afterEach(async () => {
  await own.stop();
  await foreign.stop();
  folder.remove();
});

/** What a thief of the disk who has no secret key can do. */
function write(sql: string, ...values: (string | Uint8Array)[]): void {
  const database = new Database(join(dataDir, "catalog.db"), { readwrite: true, strict: true });
  database.run("PRAGMA busy_timeout = 5000");
  database.run(sql, values);
  database.close();
}

async function startWithProvider(): Promise<TestApp> {
  const app = await startApp({ dataDir });
  await app.api("POST", "/admin/v1/providers", { name: "p", base_url: own.baseUrl, api_key: CREDENTIAL });
  await app.api("POST", "/admin/v1/models", { alias: "m", provider: "p", upstream_name: "m" });
  return app;
}

const authorizations = ({ requests }: ScriptedUpstream) =>
  requests.map(({ headers }) => headers.get("authorization"));

describe("a credential whose provider's row something else than Lockport has changed", () => {
  test("is sent nowhere, while serving and after a restart; doctor says so, and setting it again mends it", async () => {
    const app = await startWithProvider();
    let stopped = app;
    try {
      expect((await app.api("POST", "/v1/chat/completions", CHAT)).status).toBe(200);
      expect(authorizations(own)).toEqual([`Bearer ${CREDENTIAL}`]);
      write("UPDATE providers SET base_url = ?", foreign.baseUrl);
      for (const restart of [false, true]) {
        if (restart) {
          await stopped.stop();
          stopped = await startApp({ dataDir });
        }
        const refused = await stopped.api("POST", "/v1/chat/completions", CHAT);
        expect(refused.status).toBe(500);
        const answer = await refused.text();
        expect(JSON.parse(answer)).toMatchObject({ error: { code: "internal_error" } });
        expect(answer).toContain("API key again");
        expect(answer).not.toContain(CREDENTIAL);
        const discovered = await stopped.api("GET", "/admin/v1/providers/p/models");
        expect(discovered.status).toBeGreaterThanOrEqual(400);
      }
      const { code, data } = await runLocal(dataDir, ["doctor"]);
      expect(code).toBe(1);
      expect(data).toContain("something else than Lockport changed its row");
      expect(foreign.requests).toEqual([]);

      await stopped.api("PATCH", "/admin/v1/providers/p", { base_url: own.baseUrl });
      expect((await stopped.api("POST", "/v1/chat/completions", CHAT)).status).toBe(200);
      expect(authorizations(own).at(-1)).toBe(`Bearer ${CREDENTIAL}`);
    } finally {
      await stopped.stop();
    }
  });
});

describe("credentials that an earlier executable sealed for their row alone", () => {
  /** Its format: the row's id as additional data, and another first byte. */
  function makeFormer(id: string, apiKey: string): Uint8Array {
    const secret = Buffer.from(readFileSync(join(dataDir, "secret.key"), "utf8").trim(), "base64");
    const sealed = createSecretBox(secret).seal(apiKey, `provider:${id}:credential`);
    return Uint8Array.of(1, ...sealed.subarray(1));
  }

  test("are bound to their address by the next start, and none is lost; until then commands read them", async () => {
    const app = await startWithProvider();
    const { id } = new Database(join(dataDir, "catalog.db"))
      .query<{ id: string }, []>("SELECT id FROM providers")
      .get()!;
    await app.stop();
    const catalog = join(dataDir, "catalog.db");
    write("UPDATE providers SET sealed_credential = ?", makeFormer(id, CREDENTIAL));
    expect(findCatalogAge(catalog)).toBe("older");
    const before = await runLocal(dataDir, ["doctor"]);
    expect(before.data).toContain("next start of the server brings it up to date");
    expect(before.data).not.toContain("changed its row");
    expect(findCatalogAge(catalog)).toBe("older");

    const next = await startApp({ dataDir });
    try {
      expect(findCatalogAge(catalog)).toBe("current");
      expect((await next.api("POST", "/v1/chat/completions", CHAT)).status).toBe(200);
      expect(authorizations(own).at(-1)).toBe(`Bearer ${CREDENTIAL}`);
      // Put back into a running server it opens no more.
      write(
        "UPDATE providers SET sealed_credential = ?, base_url = ?",
        makeFormer(id, CREDENTIAL),
        foreign.baseUrl,
      );
      expect((await next.api("POST", "/v1/chat/completions", CHAT)).status).toBe(500);
      expect(foreign.requests).toEqual([]);
    } finally {
      await next.stop();
    }
  });

  test("that do not open stay refused, and keep no start from happening", async () => {
    const app = await startWithProvider();
    await app.stop();
    write("UPDATE providers SET sealed_credential = ?", makeFormer("another", CREDENTIAL));
    const next = await startApp({ dataDir });
    expect(findCatalogAge(join(dataDir, "catalog.db"))).toBe("current");
    expect((await next.api("POST", "/v1/chat/completions", CHAT)).status).toBe(500);
    expect(own.requests).toEqual([]);
    await next.stop();
  });

  test("of a row that cannot be read keep no start from happening, and are bound by the first start after its correction", async () => {
    const app = await startWithProvider();
    const { id } = new Database(join(dataDir, "catalog.db"))
      .query<{ id: string }, []>("SELECT id FROM providers")
      .get()!;
    await app.stop();
    const ENDPOINTS = "UPDATE providers SET endpoints = ?";
    write("UPDATE providers SET sealed_credential = ?", makeFormer(id, CREDENTIAL));
    write(ENDPOINTS, '{"teleport":"http://planted"}');
    const next = await startApp({ dataDir });
    expect(findCatalogAge(join(dataDir, "catalog.db"))).toBe("current");
    expect((await next.api("POST", "/v1/chat/completions", CHAT)).status).toBe(404);
    await next.stop();

    write(ENDPOINTS, "{}");
    expect(findCatalogAge(join(dataDir, "catalog.db"))).toBe("older");
    const corrected = await startApp({ dataDir });
    expect((await corrected.api("POST", "/v1/chat/completions", CHAT)).status).toBe(200);
    expect(authorizations(own)).toEqual([`Bearer ${CREDENTIAL}`]);
    await corrected.stop();
  });
});
