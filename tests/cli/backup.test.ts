import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MIGRATIONS as CATALOG_MIGRATIONS } from "#storage/sqlite/catalog/migrations.ts";
import { lockDataFolder } from "#storage/files/folder-lock.ts";
import { createSystemClock } from "#kernel/clock.ts";
import { useFolder } from "../support/folder.ts";
import { startApp } from "../support/app.ts";
import { readStored } from "../support/stored.ts";
import { startUpstream } from "../support/upstream.ts";
import { runLocal, type CliInput } from "./terminal.ts";

const folder = useFolder();
let file: string;

beforeEach(() => {
  file = join(folder.path, "backup.tar.zst");
});

const run = (line: string, input?: CliInput) => runLocal(folder.data, line.split(" "), input);

describe("lockport backup", () => {
  test("writes one private file, names what is in it, and leaves nothing else behind", async () => {
    await run("admin bootstrap");
    const before = readdirSync(folder.data);
    const { code, data, messages } = await run(`backup ${file} --json`);
    expect(`${code} ${messages}`).toBe("0 ");
    const view = JSON.parse(data);
    expect(view).toMatchObject({
      file,
      has_secret_key: false,
      catalog_schema: CATALOG_MIGRATIONS.at(-1)?.name,
      usage_schema: null,
    });
    expect(view.parts.map(({ name }: { name: string }) => name)).toEqual(["catalog.db"]);
    expect(view.size_bytes).toBe(statSync(file).size);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder.path).sort()).toEqual(["backup.tar.zst", "data"]);
    expect(readdirSync(folder.data)).toEqual(before);
  });

  test("holds the secret key only when asked, and says which it is", async () => {
    await run("admin bootstrap");
    const without = await run(`backup ${file}`);
    expect(without).toMatchObject({ code: 0, data: "" });
    expect(without.messages).toContain("The secret key is not in it");
    const key = readFileSync(join(folder.data, "secret.key"), "utf8").trim();
    expect(Bun.zstdDecompressSync(readFileSync(file)).includes(key)).toBe(false);

    const withKey = await run(`backup ${file} --with-secret-key`);
    expect(withKey.messages).toContain("The secret key is in it");
    expect(withKey.messages).not.toContain(key);
    expect(Bun.zstdDecompressSync(readFileSync(file)).includes(key)).toBe(true);
  });

  test("puts in the key that PROXY_SECRET_KEY holds, and refuses one that is not the catalog's", async () => {
    const env = { PROXY_SECRET_KEY: Buffer.alloc(32, 7).toString("base64") };
    await run("admin bootstrap", { env });
    expect((await run(`backup ${file} --with-secret-key`, { env })).code).toBe(0);
    expect(Bun.zstdDecompressSync(readFileSync(file)).includes(env.PROXY_SECRET_KEY)).toBe(true);
    const other = { PROXY_SECRET_KEY: Buffer.alloc(32, 8).toString("base64") };
    const refused = await run(`backup ${join(folder.path, "other")} --with-secret-key`, { env: other });
    expect(refused.code).toBe(78);
    expect(refused.messages).toContain("not the one that the catalog was made with");
    const missing = await run(`backup ${join(folder.path, "other")} --with-secret-key`);
    expect(missing.messages).toContain("leave --with-secret-key out");
    expect(readdirSync(folder.path).sort()).toEqual(["backup.tar.zst", "data"]);
  });

  test("is a tar archive under Zstandard that common tools unpack", async () => {
    await run("admin bootstrap");
    await run(`backup ${file} --with-secret-key`);
    if (Bun.which("tar") === null || Bun.which("zstd") === null) return;
    const unpacked = join(folder.path, "unpacked");
    mkdirSync(unpacked);
    const tar = Bun.spawnSync(["tar", "--zstd", "-xf", file, "-C", unpacked]);
    expect(`${tar.exitCode} ${tar.stderr.toString()}`).toBe("0 ");
    expect(readdirSync(unpacked).sort()).toEqual(["catalog.db", "manifest.json", "secret.key"]);
    expect(JSON.parse(readFileSync(join(unpacked, "manifest.json"), "utf8"))).toMatchObject({
      format: "lockport-backup",
      format_version: 1,
      has_secret_key: true,
    });
    expect(readFileSync(join(unpacked, "secret.key"), "utf8")).toBe(
      readFileSync(join(folder.data, "secret.key"), "utf8"),
    );
  });

  test("goes to stdout with -, and is refused where stdout is a screen or JSON is wanted", async () => {
    await run("admin bootstrap");
    const chunks: Uint8Array[] = [];
    const piped = await run("backup - --with-secret-key", { onBytes: (bytes) => chunks.push(bytes.slice()) });
    expect(piped).toMatchObject({ code: 0, data: "" });
    writeFileSync(file, Buffer.concat(chunks));
    expect(await run(`restore ${file} --data-dir ${join(folder.path, "new")}`)).toMatchObject({ code: 0 });
    expect(await run("backup -", { screens: true })).toMatchObject({ code: 2, data: "" });
    expect(await run("backup - --json")).toMatchObject({ code: 2, data: "" });
  });

  test("replaces an older backup, and never another file, a folder or the catalog itself", async () => {
    await run("admin bootstrap");
    expect((await run(`backup ${file}`)).code).toBe(0);
    const first = readFileSync(file);
    expect((await run(`backup ${file}`)).code).toBe(0);
    expect(readFileSync(file).equals(first)).toBe(false);

    const catalog = join(folder.data, "catalog.db");
    const bytes = readFileSync(catalog);
    for (const target of [catalog, join(folder.data, "secret.key"), folder.data]) {
      const refused = await run(`backup ${target}`);
      expect(refused.code).toBe(1);
      expect(refused.messages).toContain(target);
      expect(refused.messages).toMatch(/was left alone|is a folder/);
    }
    expect(readFileSync(catalog).equals(bytes)).toBe(true);
  });

  test("of a folder without an installation, or into one that is not there, is a sentence and makes nothing", async () => {
    const none = await run(`backup ${file}`);
    expect(none.code).toBe(78);
    expect(none.messages).toContain(`There is no Lockport installation in ${folder.data}`);
    expect(existsSync(folder.data)).toBe(false);
    await run("admin bootstrap");
    const nowhere = await run(`backup ${join(folder.path, "nowhere", "b")}`);
    expect(nowhere.code).toBe(1);
    expect(nowhere.messages).toContain(`There is no folder ${join(folder.path, "nowhere")}`);
    expect(readdirSync(folder.path)).toEqual(["data"]);
  });

  test("of a damaged catalog is refused, and an older backup stays as it is", async () => {
    await run("admin bootstrap");
    await run(`backup ${file}`);
    const good = readFileSync(file);
    const catalog = join(folder.data, "catalog.db");
    const bytes = readFileSync(catalog);
    bytes.fill(0xff, 8192, 40_000);
    writeFileSync(catalog, bytes);
    const refused = await run(`backup ${file}`);
    expect(refused.code).toBe(78);
    expect(refused.messages).toMatch(/No backup of|damaged/);
    expect(readFileSync(file).equals(good)).toBe(true);
    expect(readdirSync(folder.path).sort()).toEqual(["backup.tar.zst", "data"]);
  });

  test("that is interrupted takes away what is half done", async () => {
    await run("admin bootstrap");
    const stopped = await run(`backup ${file}`, { end: AbortSignal.abort() });
    expect(stopped).toMatchObject({ code: 1, data: "" });
    expect(stopped.messages).toContain("interrupted");
    expect(readdirSync(folder.path)).toEqual(["data"]);
  });

  test("takes away what a killed one has left beside it, and nothing that is in use or is not its own", async () => {
    await run("admin bootstrap");
    const paths = ["killed", "running"].map((name) => join(folder.path, `.lockport-staging-${name}`));
    const [killed = "", running = ""] = paths;
    const foreign = join(folder.path, ".other-staging-1");
    for (const path of [...paths, foreign]) mkdirSync(path);
    lockDataFolder(killed).release();
    writeFileSync(join(killed, "usage.db"), "half");
    const lock = lockDataFolder(running);
    try {
      expect((await run(`backup ${file}`)).code).toBe(0);
      expect(existsSync(killed)).toBe(false);
      expect(existsSync(running)).toBe(true);
      expect(existsSync(foreign)).toBe(true);
    } finally {
      lock.release();
    }
  });

  test("of an installation into which a restore was cut off is refused", async () => {
    await run("admin bootstrap");
    writeFileSync(join(folder.data, "restore.unfinished"), "");
    const { code, messages } = await run(`backup ${file}`);
    expect(code).toBe(78);
    expect(messages).toContain("cut off half-way");
    expect(existsSync(file)).toBe(false);
  });

  test("holds the credential that was replaced sealed, which serves after a restore only until its day is over", async () => {
    const [first, second] = ["sk-first-secret-word", "sk-second-secret-word"];
    const upstream = await startUpstream({ script: (call) => call.reply({ body: "{}" }) });
    const system = createSystemClock();
    let aheadUs = 0;
    const clock = { ...system, nowUs: () => system.nowUs() + aheadUs };
    const sealed = async (dataDir: string) => {
      const [provider]: readonly any[] = await readStored(join(dataDir, "catalog.db"), "providers");
      return provider.former_credential;
    };
    const readFile = () => Bun.zstdDecompressSync(readFileSync(file));
    const restore = async (name: string) => {
      const dataDir = join(folder.path, name);
      expect((await runLocal(dataDir, ["restore", file])).code).toBe(0);
      return dataDir;
    };
    const takeBack = async (dataDir: string) => {
      const app = await startApp({ dataDir }, { clock });
      const answer = await app.api("POST", "/admin/v1/providers/p/restore-credential");
      await app.api("POST", "/v1/chat/completions", { model: "m", messages: [] });
      await app.stop();
      expect(await answer.text()).not.toContain("secret-word");
      return [answer.status, upstream.lastRequest().headers.get("authorization")];
    };
    try {
      const app = await startApp({ dataDir: folder.data }, { clock });
      const provider = { name: "p", base_url: upstream.baseUrl, api_key: first };
      await app.api("POST", "/admin/v1/providers", provider);
      await app.api("POST", "/admin/v1/models", { alias: "m", provider: "p", upstream_name: "um" });
      await app.api("PATCH", "/admin/v1/providers/p", { api_key: second });
      expect((await run(`backup ${file} --with-secret-key`)).code).toBe(0);
      await app.stop();
      const former = Buffer.from(await sealed(folder.data));
      expect(former.length).toBeGreaterThan(first.length);
      expect(readFile().includes(former)).toBe(true);
      expect(readFile().includes("secret-word")).toBe(false);
      const [within, late] = [await restore("within"), await restore("late")];
      expect(await takeBack(within)).toEqual([200, `Bearer ${first}`]);

      aheadUs = 25 * 3_600_000_000;
      expect(await takeBack(late)).toEqual([404, `Bearer ${second}`]);
      expect(await sealed(late)).toBeNull();
      // One that is made once its day is over has none of it.
      expect(await takeBack(folder.data)).toEqual([404, `Bearer ${second}`]);
      expect((await run(`backup ${file} --with-secret-key`)).code).toBe(0);
      expect(readFile().includes(former)).toBe(false);
    } finally {
      await upstream.stop();
    }
  });

  test("of a running server holds the requests that its log shows, without stopping it", async () => {
    const upstream = await startUpstream({
      script: (call) => call.reply({ body: '{"usage":{"prompt_tokens":5,"completion_tokens":2}}' }),
    });
    const app = await startApp({ dataDir: folder.data });
    try {
      await app.api("POST", "/admin/v1/providers", { name: "p", base_url: upstream.baseUrl });
      await app.api("POST", "/admin/v1/models", { alias: "m", provider: "p", upstream_name: "um" });
      for (let sent = 0; sent < 5; sent += 1) {
        expect((await app.api("POST", "/v1/chat/completions", { model: "m", messages: [] })).status).toBe(
          200,
        );
      }
      // At once: the writer may not have committed them yet.
      expect((await run(`backup ${file} --with-secret-key`)).code).toBe(0);
      expect((await app.api("POST", "/v1/chat/completions", { model: "m", messages: [] })).status).toBe(200);
    } finally {
      await app.stop();
      await upstream.stop();
    }
    const restored = join(folder.path, "restored");
    expect((await runLocal(restored, ["restore", file])).code).toBe(0);
    const again = await startApp({ dataDir: restored });
    const { total } = JSON.parse(await (await again.api("GET", "/stats/requests")).text());
    await again.stop();
    expect(total).toBe(5);
  });
});
