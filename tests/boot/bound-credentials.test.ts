import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
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

/** The means of a thief of the disk who has no secret key. */
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
