import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatCommand } from "#cli/screen/typed-command.ts";
import { sha256Hex } from "#kernel/crypto.ts";
import { MIGRATIONS as CATALOG_MIGRATIONS } from "#storage/sqlite/catalog/migrations.ts";
import { type FolderLock, lockDataFolder } from "#storage/files/folder-lock.ts";
import { startApp } from "../support/app.ts";
import { useFolder } from "../support/folder.ts";
import { countMigrations, makeSchemaLater } from "../support/later-schema.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { chat } from "./both-ways.ts";
import { runLocal, type CliInput } from "./terminal.ts";

const folder = useFolder();
let catalogPath: string;
let catalogFile: string;
beforeEach(() => {
  catalogPath = join(folder.data, "catalog.db");
  catalogFile = join(folder.path, "catalog.yaml");
});

const run = (line: string, input?: CliInput) => runLocal(folder.data, line.split(" "), input);

/** Names and content of everything in the data folder. */
const look = () =>
  readdirSync(folder.data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return `${path} ${sha256Hex(readFileSync(path, "latin1"))}`;
    })
    .sort();

const READING = [
  "provider list",
  "provider discover up",
  "model list",
  "model resolve fast",
  "pricing show",
  "pricing missing",
  "principal list",
  "key list",
  "relay-token list",
  "requests tail",
  "usage",
  "usage --by principal",
  "export",
  "snippet curl --model fast",
] as const;

/** An installation that a server has left, with something of everything in it. */
async function makeUsed(upstream: ScriptedUpstream): Promise<void> {
  const app = await startApp({ dataDir: folder.data });
  await app.api("POST", "/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
  await app.api("POST", "/admin/v1/models", { alias: "fast", provider: "up", upstream_name: "u" });
  expect(await chat(app, "fast")).toBe(200);
  await app.stop();
  writeFileSync(catalogFile, (await run("export")).data);
  // The check of the ledger has left files of SQLite's own, which the next command takes away.
  await run("usage");
}

const startModels = () =>
  startUpstream({
    script: (call) =>
      call.reply({
        body: JSON.stringify({ object: "list", data: [{ id: "other", object: "model" }], choices: [] }),
      }),
  });

async function runReading(): Promise<void> {
  for (const line of [...READING, `apply ${catalogFile} --dry-run`]) {
    const { code, messages } = await run(line);
    expect({ line, code, messages: code === 0 ? "" : messages }).toEqual({ line, code: 0, messages: "" });
  }
  expect((await run("provider list")).data).toMatch(/^up /m);
  expect((await run("key list")).data).toMatch(/admin/);
}

describe("a command that reads", () => {
  test("makes no file and changes none, whatever the schema of the catalog", async () => {
    const upstream = await startModels();
    try {
      await makeUsed(upstream);
      const current = look();
      await runReading();
      expect(look()).toEqual(current);

      using _ = makeSchemaLater();
      const older = look();
      await runReading();
      expect(look()).toEqual(older);
    } finally {
      await upstream.stop();
    }
  });

  test("reads an older catalog while a server runs on it, and sees what that server commits", async () => {
    const upstream = await startModels();
    let lock: FolderLock | null = null;
    try {
      await makeUsed(upstream);
      using _ = makeSchemaLater();
      lock = lockDataFolder(folder.data);
      const server = new Database(catalogPath);
      await runReading();
      server.run("UPDATE models SET alias = 'faster'");
      expect((await run("model list")).data).toMatch(/^faster /m);
      server.close();
      expect(countMigrations(catalogPath)).toBe(CATALOG_MIGRATIONS.length - 1);
    } finally {
      lock?.release();
      await upstream.stop();
    }
  });

  test("of the usage of another program is refused with what to do, and leaves it as it is", async () => {
    const upstream = await startModels();
    try {
      await makeUsed(upstream);
      const usage = new Database(join(folder.data, "usage.db"));
      usage.run(`PRAGMA application_id = 7`);
      usage.run("PRAGMA user_version = 2");
      usage.close(true);
      const before = look();
      for (const line of ["usage", "requests tail"]) {
        const { code, data, messages } = await run(line);
        expect({ line, code, data }).toEqual({ line, code: 78, data: "" });
        expect(messages).toContain("is not a usage database: move it away");
      }
      expect((await run("provider list")).code).toBe(0);
      expect(look()).toEqual(before);
    } finally {
      await upstream.stop();
    }
  });
});

describe("a command that changes something", () => {
  const changes = ["principal create ada", "admin login-link", "admin bootstrap --name ada"];

  test("is refused while a server of an older version has the folder, and the schema stays that server's", async () => {
    const upstream = await startModels();
    let lock: FolderLock | null = null;
    try {
      await makeUsed(upstream);
      using _ = makeSchemaLater();
      lock = lockDataFolder(folder.data);
      const before = look();
      const changed = join(folder.path, "changed.yaml");
      writeFileSync(changed, readFileSync(catalogFile, "utf8").replace("  fast:", "  faster:"));
      for (const line of [
        ...changes,
        "provider discover up --bind",
        "provider disable up",
        `apply ${changed} --yes`,
      ]) {
        const { code, data, messages } = await run(line);
        expect({ line, code, data: data.includes("bound") }).toEqual({ line, code: 78, data: false });
        expect(messages).toContain(`A server of an older version runs from ${folder.data}: start it again`);
      }
      expect(look()).toEqual(before);
    } finally {
      lock?.release();
      await upstream.stop();
    }
  });

  test("brings an older catalog up to date where no server runs, with a copy beside it, and goes on in what it has read", async () => {
    const upstream = await startModels();
    try {
      await makeUsed(upstream);
      using _ = makeSchemaLater();
      // It lists what there is, then binds, then reads again.
      expect(await run("provider discover up --bind")).toMatchObject({ code: 0 });
      expect(countMigrations(catalogPath)).toBe(CATALOG_MIGRATIONS.length);
      expect((await run("model list")).data).toMatch(/^other /m);
      expect(readdirSync(folder.data).filter((name) => name.includes(".before-"))).toHaveLength(1);
      const lock = lockDataFolder(folder.data);
      lock.release();
    } finally {
      await upstream.stop();
    }
  });

  test("works beside a server of the same schema", async () => {
    const app = await startApp({ dataDir: folder.data });
    expect(await run("principal create ada")).toMatchObject({ code: 0 });
    expect(await (await app.api("GET", "/admin/v1/principals")).text()).toContain('"ada"');
    await app.stop();
  });

  test("is refused on a catalog of a newer version, as reading is", async () => {
    await run("admin bootstrap");
    const database = new Database(catalogPath);
    database.run("INSERT INTO migration VALUES ('9999_later', 'x')");
    database.close(true);
    const before = look();
    for (const line of [...changes, "key list", "export"]) {
      const { code, data, messages } = await run(line);
      expect({ line, code, data }).toEqual({ line, code: 78, data: "" });
      expect(messages).toContain("newer version");
    }
    expect(look()).toEqual(before);
  });
});

/** Content of a command's file. */
const FILES: { readonly [command: string]: string } = {
  apply: "lockport_catalog: 1\nproviders: {}\nmodels: {}\n",
  import: "model_list: []\n",
  pricing: '{"version":"v1","entries":[]}',
};

describe("a folder without an installation", () => {
  const NEEDING = [
    "admin login-link",
    "admin password rotate",
    "admin password show --yes",
    "apply FILE --yes",
    "export",
    "import litellm-config FILE",
    "key create --principal ada",
    "key delete 0190 --yes",
    "key list",
    "model add fast --provider up --upstream-name u",
    "model alias one two",
    "model list",
    "model remove one --yes",
    "model rename one two",
    "model resolve one",
    "model set one --hidden",
    "model info one",
    "pricing load FILE",
    "pricing missing",
    "pricing show",
    "principal create ada",
    "principal list",
    "principal delete ada --yes",
    "principal disable ada",
    "principal revoke-sessions ada --yes",
    "principal set ada --role admin",
    "provider add up --base-url http://127.0.0.1:9/v1 --no-api-key",
    "provider disable up",
    "provider discover up --bind",
    "provider enable up",
    "provider list",
    "provider remove up --yes",
    "provider set up --max-concurrency 2",
    "relay-token create --principal ada",
    "relay-token delete 0190 --yes",
    "relay-token list",
    "requests tail",
    "secrets rotate",
    "usage",
  ];

  test("is told by every command that needs one, which makes nothing there", async () => {
    const file = join(folder.path, "file");
    for (const line of NEEDING) {
      writeFileSync(file, FILES[line.split(" ", 1)[0] ?? ""] ?? "");
      const { code, data, messages } = await run(line.replace("FILE", file));
      expect({ line, code, data, messages }).toEqual({
        line,
        code: 78,
        data: "",
        messages: expect.stringContaining(`There is no Lockport installation in ${folder.data}: `),
      });
      expect(existsSync(folder.data)).toBe(false);
    }
  });

  test("is told by its own name when PROXY_DATABASE_URL is what is wrong", async () => {
    mkdirSync(folder.data);
    const path = join(folder.path, "elsewhere.db");
    const { code, messages } = await run("key list", { env: { PROXY_DATABASE_URL: `sqlite:${path}` } });
    expect(code).toBe(78);
    expect(messages).toContain(`There is no Lockport installation at ${path}: correct PROXY_DATABASE_URL`);
    expect(readdirSync(folder.data)).toEqual([]);
    expect(existsSync(path)).toBe(false);
  });

  test("is one as well when a start was cut off before anything was in its catalog; the next makes it", async () => {
    mkdirSync(folder.data);
    writeFileSync(catalogPath, "");
    expect((await run("key list")).messages).toContain("There is no Lockport installation");
    expect(readdirSync(folder.data)).toEqual(["catalog.db"]);
  });

  test("becomes one by admin bootstrap, and its further advice keeps to the folder that was named", async () => {
    const other = join(folder.path, "it's here");
    const words = ["admin", "bootstrap", "--data-dir", other];
    expect(await runLocal(folder.data, words)).toMatchObject({ code: 0 });
    expect(existsSync(folder.data)).toBe(false);
    const { messages } = await runLocal(folder.data, words);
    expect(messages).toContain(`key create --principal admin --data-dir '${folder.path}/it'\\''s here'`);
  });
});

test("a command to be typed next names the folder that was given, whole and quoted where a shell needs it", () => {
  const format = (given: string) => formatCommand(["serve"], { dataDir: given });
  expect(formatCommand(["serve"])).toEndWith(" serve");
  expect(format("/srv/lockport")).toEndWith(" serve --data-dir /srv/lockport");
  expect(format("/srv/a b;c")).toEndWith(" serve --data-dir '/srv/a b;c'");
  expect(format("relative")).toEndWith(` serve --data-dir ${join(process.cwd(), "relative")}`);
});
