import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { requireOnFiles, parseConfig } from "#boot/settings/config.ts";
import { loadKeyring } from "#boot/secrets/secret-key.ts";
import { createSecretBox } from "#kernel/crypto.ts";
import { createSystemClock } from "#kernel/clock.ts";
import { createLog } from "#kernel/log.ts";
import { openCatalogDatabase } from "#storage/sqlite/catalog/catalog-database.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { runLocal } from "../cli/terminal.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { createChance } from "../support/chance.ts";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { cleanEnvironment } from "../support/process.ts";
import { scale } from "../support/scale.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";

const CREDENTIAL = "sk-upstream-secret";
const CALLERS = 6;
const KILLS = 4 * scale;

let folder: ReturnType<typeof makeFolder>;
let dataDir: string;
let upstream: ScriptedUpstream;

beforeEach(async () => {
  folder = makeFolder();
  dataDir = join(folder.path, "data");
  upstream = await startUpstream({ script: (call) => call.reply({ body: "{}" }) });
});
afterEach(async () => {
  await upstream.stop();
  folder.remove();
});

const inFolder = (name: string) => join(dataDir, name);
const readKey = (name = "secret.key") => readFileSync(inFolder(name), "utf8");
const former = () => readdirSync(dataDir).filter((name) => name.startsWith("secret.key.until-"));
const rotate = (...options: string[]) => runLocal(dataDir, ["secrets", "rotate", ...options]);

async function addModel(app: TestApp, name: string): Promise<void> {
  const provider = { name, base_url: upstream.baseUrl, api_key: CREDENTIAL };
  expect((await app.api("POST", "/admin/v1/providers", provider)).status).toBe(201);
  const model = { alias: name, provider: name, upstream_name: name };
  expect((await app.api("POST", "/admin/v1/models", model)).status).toBe(201);
}

async function createKey(app: TestApp): Promise<string> {
  const created: unknown = await (await app.api("POST", "/my/keys", {})).json();
  return /lp_[0-9A-Za-z]+/.exec(JSON.stringify(created))?.[0] ?? "";
}

const chat = (app: TestApp, model: string, key = app.adminKey) =>
  app.api(
    "POST",
    "/v1/chat/completions",
    { model, messages: [] },
    {
      authorization: `Bearer ${key}`,
    },
  );

async function signIn(app: TestApp): Promise<string> {
  const answer = await app.api("POST", "/auth/password", { password: app.adminPassword }, {});
  return (answer.headers.get("set-cookie") ?? "").replace(/;.*$/, "");
}

describe("lockport secrets rotate", () => {
  test("under load fails no request, loses no credential and no key, ends sessions, and a restart finds all of it", async () => {
    let app = await startApp({ dataDir });
    const adminKey = app.adminKey;
    await addModel(app, "m0");
    const keys = [adminKey];
    const cookie = await signIn(app);
    expect((await app.api("GET", "/my/keys", undefined, { cookie })).status).toBe(200);
    const firstKey = readKey();

    const rotated = new AbortController();
    let models = 1;
    const statuses = new Map<number, number>();
    const callers = Array.from({ length: CALLERS }, async (_, caller) => {
      while (!rotated.signal.aborted) {
        const answer = await chat(app, "m0", keys[caller % keys.length]);
        await answer.arrayBuffer();
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      }
    });
    const maker = (async () => {
      while (!rotated.signal.aborted) {
        await addModel(app, `m${models}`);
        models += 1;
        keys.push(await createKey(app));
      }
    })();
    for (let round = 0; round < 3; round += 1) {
      const { code, messages } = await rotate("--json");
      expect(`${code} ${messages}`).toBe("0 ");
    }
    rotated.abort();
    await Promise.all([...callers, maker]);
    expect([...statuses.keys()]).toEqual([200]);
    expect((await app.api("GET", "/my/keys", undefined, { cookie })).status).toBe(401);
    expect((await app.api("GET", "/my/keys", undefined, { cookie: await signIn(app) })).status).toBe(200);

    expect(readKey()).not.toBe(firstKey);
    expect(existsSync(inFolder("secret.key.next"))).toBe(false);
    const kept = former();
    expect(kept.map((name) => readKey(name))).toContain(firstKey);
    for (const name of [...kept, "secret.key"]) expect(statSync(inFolder(name)).mode & 0o777).toBe(0o600);
    for (const restart of [false, true]) {
      if (restart) {
        await app.stop();
        app = await startApp({ dataDir });
      }
      for (const key of keys) expect((await chat(app, "m0", key)).status).toBe(200);
      for (let model = 0; model < models; model += 1)
        expect((await chat(app, `m${model}`, keys[0])).status).toBe(200);
      expect((await chat(app, "m0", `${adminKey.slice(0, -1)}!`)).status).toBe(401);
    }
    expect(new Set(upstream.requests.map(({ headers }) => headers.get("authorization")))).toEqual(
      new Set([`Bearer ${CREDENTIAL}`]),
    );
    await app.stop();
  }, 60_000);

  test("keeps both secrets of a key that was rotated with grace, before or after it, also across a restart", async () => {
    let app = await startApp({ dataDir });
    const status = async (key: string) =>
      (await app.api("GET", "/v1/models?include_pricing=1", undefined, { authorization: `Bearer ${key}` }))
        .status;
    const keys: string[] = [];
    for (const isBefore of [true, false]) {
      const made: any = await (await app.api("POST", "/my/keys", {})).json();
      if (!isBefore) await rotate();
      const body = { grace_seconds: 604_800 };
      const next: any = await (await app.api("POST", `/my/keys/${made.id}/rotate`, body)).json();
      if (isBefore) await rotate();
      keys.push(made.key, next.key);
    }
    expect(await Promise.all(keys.map(status))).toEqual([200, 200, 200, 200]);
    await app.stop();
    app = await startApp({ dataDir });
    expect(await Promise.all(keys.map(status))).toEqual([200, 200, 200, 200]);
    const { keys: listed }: any = await (await app.api("GET", "/admin/v1/keys")).json();
    for (const { id, label } of listed)
      if (label === "") expect((await app.api("POST", `/admin/v1/keys/${id}/rotate`)).status).toBe(200);
    expect(await Promise.all(keys.map(status))).toEqual([401, 401, 401, 401]);
    await app.stop();
  }, 30_000);

  test("leaves an audit entry, and with --revoke-keys one for each key and relay token that it ends", async () => {
    const app = await startApp({ dataDir });
    const token: any = await (await app.api("POST", "/my/relay-tokens", {})).json();
    const { keys }: any = await (await app.api("GET", "/admin/v1/keys")).json();
    const events = async () => {
      const database = new Database(inFolder("catalog.db"), { readonly: true });
      const rows = database.query(
        "SELECT actor_principal_id, action, target_ref FROM audit_events ORDER BY id",
      );
      const found = rows.values();
      database.close();
      return found.filter(([actor]) => actor === "local").map((row) => row.slice(1));
    };
    await rotate();
    expect(await events()).toEqual([["secret_key.rotate", "secret.key"]]);
    await rotate("--revoke-keys", "--yes");
    expect((await events()).slice(1)).toEqual([
      ...keys.map(({ id }: { id: string }) => ["key.delete", id]),
      ["relay_token.delete", token.id],
      ["secret_key.rotate", "secret.key"],
    ]);
    await app.stop();
  });

  test("with --revoke-keys ends every key as well, and none of the former secrets is kept", async () => {
    const app = await startApp({ dataDir });
    await rotate();
    expect((await chat(app, "none")).status).toBe(404);
    const { code, data } = await rotate("--revoke-keys", "--yes", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(data)).toMatchObject({ keys_revoked: 1 });
    expect((await chat(app, "none")).status).toBe(401);
    const database = new Database(inFolder("catalog.db"));
    expect(database.query("SELECT key FROM meta").values()).toEqual([["secret_check"]]);
    database.close();
    await app.stop();
  });

  test("whose credential does not open changes nothing and names the provider", async () => {
    const app = await startApp({ dataDir });
    await addModel(app, "m0");
    const before = readKey();
    const database = new Database(inFolder("catalog.db"));
    database.run("PRAGMA busy_timeout = 5000");
    database.run("UPDATE providers SET verify_tls = 0");
    const { code, messages } = await rotate();
    expect(code).toBe(1);
    expect(messages).toContain("Nothing was rotated");
    expect(messages).toContain("provider m0");
    expect(readKey()).toBe(before);
    expect(existsSync(inFolder("secret.key.next"))).toBe(false);
    expect((await chat(app, "none")).status).toBe(404);
    database.run("UPDATE providers SET verify_tls = 1");
    database.close();
    expect((await rotate()).code).toBe(0);
    expect(readKey()).not.toBe(before);
    expect((await chat(app, "m0")).status).toBe(200);
    await app.stop();
  });

  test("takes no key that an earlier rotation has left behind: it may have been copied with the folder", async () => {
    const app = await startApp({ dataDir });
    await addModel(app, "m0");
    const left = `${Buffer.alloc(32, 9).toString("base64")}\n`;
    writeFileSync(inFolder("secret.key.next"), left, { mode: 0o600 });
    const before = readKey();
    expect((await rotate()).code).toBe(0);
    expect([before, left]).not.toContain(readKey());
    expect(existsSync(inFolder("secret.key.next"))).toBe(false);
    expect(statSync(inFolder("secret.key")).mode & 0o777).toBe(0o600);
    expect((await chat(app, "m0")).status).toBe(200);
    await app.stop();
  });

  test("at once with others leaves the catalog's key in its place, and the others changed nothing", async () => {
    const app = await startApp({ dataDir });
    await addModel(app, "m0");
    const done = await Promise.all(Array.from({ length: CALLERS }, async () => rotate()));
    for (const { code, messages } of done) expect(`${code} ${messages}`).toMatch(/^0 |nothing was changed/i);
    expect(done.some(({ code }) => code === 0)).toBe(true);
    expect(existsSync(inFolder("secret.key.next"))).toBe(false);
    expect((await chat(app, "m0")).status).toBe(200);
    await app.stop();
    const again = await startApp({ dataDir });
    expect((await chat(again, "m0", app.adminKey)).status).toBe(200);
    await again.stop();
  });

  test("with PROXY_SECRET_KEY says what to do, changes nothing, and what it says works", async () => {
    const secret = Buffer.alloc(32, 7).toString("base64");
    const env = { PROXY_SECRET_KEY: secret };
    const { data: key } = await runLocal(dataDir, ["admin", "bootstrap"], { env });
    const refused = await runLocal(dataDir, ["secrets", "rotate"], { env });
    expect(refused.code).toBe(78);
    expect(refused.messages).toContain("PROXY_SECRET_KEY");
    expect(refused.messages).not.toContain(secret);
    expect(existsSync(inFolder("secret.key"))).toBe(false);

    writeFileSync(inFolder("secret.key"), `${secret}\n`, { mode: 0o600 });
    expect((await rotate()).code).toBe(0);
    const next = readKey().trim();
    rmSync(inFolder("secret.key"));
    const app = await startApp({ dataDir, secretKey: Buffer.from(next, "base64") });
    expect((await chat(app, "none", key.trim())).status).toBe(404);
    await app.stop();
  });
});

describe("a rotation that is cut off", () => {
  async function prepare(): Promise<void> {
    const app = await startApp({ dataDir });
    await addModel(app, "m0");
    writeFileSync(join(folder.path, "key"), app.adminKey);
    await app.stop();
  }

  async function expectWhole(): Promise<void> {
    const key = readFileSync(join(folder.path, "key"), "utf8");
    const app = await startApp({ dataDir });
    expect((await chat(app, "m0", key)).status).toBe(200);
    expect(upstream.lastRequest().headers.get("authorization")).toBe(`Bearer ${CREDENTIAL}`);
    await app.stop();
  }

  test("before the catalog has the new key leaves the former one in use, and the next rotation goes through", async () => {
    await prepare();
    const before = readKey();
    writeFileSync(inFolder("secret.key.next"), `${Buffer.alloc(32, 9).toString("base64")}\n`, {
      mode: 0o600,
    });
    await expectWhole();
    expect(readKey()).toBe(before);
    expect((await rotate()).code).toBe(0);
    expect(readKey()).not.toBe(before);
    await expectWhole();
  });

  test("before the new key is in its place is finished by the next start; until then commands find it as well", async () => {
    await prepare();
    const before = readKey();
    expect((await rotate()).code).toBe(0);
    const after = readKey();
    renameSync(inFolder("secret.key"), inFolder("secret.key.next"));
    renameSync(inFolder(former()[0] ?? ""), inFolder("secret.key"));
    expect(readKey()).toBe(before);
    expect((await runLocal(dataDir, ["key", "list"])).code).toBe(0);
    const file = join(folder.path, "backup.tar.zst");
    expect((await runLocal(dataDir, ["backup", file, "--with-secret-key"])).code).toBe(0);
    await expectWhole();
    expect(readKey()).toBe(after);
    expect(existsSync(inFolder("secret.key.next"))).toBe(false);
    expect(former().map((name) => readKey(name))).toEqual([before]);
  });

  test("before the new key is in its place, with the former one gone, is no obstacle to commands either, and they change nothing", async () => {
    await prepare();
    expect((await rotate()).code).toBe(0);
    const after = readKey();
    renameSync(inFolder("secret.key"), inFolder("secret.key.next"));
    const file = join(folder.path, "backup.tar.zst");
    for (const line of [
      ["key", "list"],
      ["key", "create", "--principal", "admin"],
      ["backup", file],
    ]) {
      const { code, messages } = await runLocal(dataDir, line);
      expect([code, messages]).toEqual([0, messages]);
    }
    expect(readKey("secret.key.next")).toBe(after);
    expect(existsSync(inFolder("secret.key"))).toBe(false);
    await expectWhole();
    expect(readKey()).toBe(after);
  });

  test("by nothing, and ends between the reading of the key and that of the catalog, is no obstacle; a variable that is wrong stays one", async () => {
    await prepare();
    const config = parseConfig({ PROXY_DATA_DIR: dataDir });
    const before = Buffer.from(readKey(), "base64");
    const open = (secretKey: Uint8Array | null) => {
      const secrets = loadKeyring({ ...config, secretKey }, createSystemIds());
      const log = createLog({ level: "error", json: true, write: () => {}, timestamp: () => "" });
      return () =>
        openCatalogDatabase({
          path: requireOnFiles(config, "restore").database.path,
          secrets,
          clock: createSystemClock(),
          log,
        });
    };
    const [byFile, byVariable] = [open(null), open(before)];
    expect((await rotate()).code).toBe(0);
    await (await byFile()).close();
    expect(byVariable).toThrow("The secret key is not the one");
  });

  test("by nothing, and ends while a process looks for its key, is followed by that process", async () => {
    await prepare();
    const config = parseConfig({ PROXY_DATA_DIR: dataDir });
    const keyring = loadKeyring(config, createSystemIds());
    const next = new Uint8Array(32).fill(7);
    writeFileSync(inFolder("secret.key.next"), Buffer.from(next).toString("base64"), { mode: 0o600 });
    const held = readKey();
    // A reader of the former key's file gets it, and by then the next one has taken its place.
    rmSync(inFolder("secret.key"));
    await Bun.spawn(["mkfifo", inFolder("secret.key")]).exited;
    const script = 'exec 3>"$1/secret.key"; printf %s "$2" >&3; mv "$1/secret.key.next" "$1/secret.key"';
    const ending = Bun.spawn(["sh", "-c", script, "sh", dataDir, held]);
    const { checkValue } = createSecretBox(next);
    expect(keyring.follow({ checkValue, sealedTokenKeys: [] })).toBe(true);
    expect(keyring.checkValue).toBe(checkValue);
    ending.kill("SIGKILL");
    await ending.exited;
  });

  test("is finished by the next start also when the former key's file is gone", async () => {
    await prepare();
    expect((await rotate()).code).toBe(0);
    const after = readKey();
    for (const name of former()) rmSync(inFolder(name));
    renameSync(inFolder("secret.key"), inFolder("secret.key.next"));
    await expectWhole();
    expect(readKey()).toBe(after);
    expect(existsSync(inFolder("secret.key.next"))).toBe(false);
    expect(former()).toEqual([]);
  });

  test(
    "by SIGKILL at any moment loses no credential and no key",
    async () => {
      await prepare();
      const lockport = await executable();
      const chance = createChance(20261123);
      for (let kill = 0; kill < KILLS; kill += 1) {
        const child = Bun.spawn({
          cmd: [lockport, "secrets", "rotate", "--data-dir", dataDir],
          env: cleanEnvironment({}),
          stdio: ["ignore", "ignore", "ignore"],
        });
        // Watched, so that kills fall on all sides of what it does to files: it makes the next key, then it is gone.
        const at = chance.below(6);
        const deadline = performance.now() + 5_000;
        while (child.exitCode === null && !existsSync(inFolder("secret.key.next"))) {
          if (performance.now() > deadline) throw new Error("it makes no key");
          await Bun.sleep(0);
        }
        const until = performance.now() + at;
        while (child.exitCode === null && performance.now() < until) await Bun.sleep(0);
        child.kill("SIGKILL");
        await child.exited;
        expect((await runLocal(dataDir, ["key", "list"])).code).toBe(0);
      }
      await expectWhole();
    },
    60_000 * scale,
  );
});
