import manifest from "../../package.json" with { type: "json" };
import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseConfig } from "#boot/settings/config.ts";
import { makeLocal } from "#boot/local.ts";
import { createSystem } from "#boot/process/system.ts";
import { makeEmptyInstallation } from "../support/empty-installation.ts";
import { engineEnvironment, isOnPostgres } from "../support/engine.ts";
import { useFolder } from "../support/folder.ts";
import { runProcess } from "../support/process.ts";
import { readWhole } from "../support/stored.ts";
import { runLocal, type CliInput } from "./terminal.ts";

const folder = useFolder();

beforeEach(async () => {
  await makeEmptyInstallation(folder.data);
});

const run = (line: string, input?: CliInput) => runLocal(folder.data, line.split(" "), input);
const json = async (line: string, input?: CliInput) => {
  const { code, data, messages } = await run(`${line} --json`, input);
  expect(`${code} ${messages}`).toBe("0 ");
  return JSON.parse(data);
};

describe("admin bootstrap", () => {
  beforeEach(() => rmSync(folder.data, { recursive: true }));

  test("makes an admin and prints its first key alone on stdout, on an installation that never ran", async () => {
    const { code, data, messages } = await run("admin bootstrap");
    expect(code).toBe(0);
    expect(data).toMatch(/^lp_[0-9A-Za-z]{40,}\n$/);
    expect(messages).toContain("shown once");
    expect(messages).not.toContain(data.trim());
    expect(await json("principal list")).toMatchObject([
      { name: "admin", role: "admin", kind: "user", enabled: true },
    ]);
    expect(readdirSync(folder.data).filter((name) => name.startsWith("usage"))).toEqual([]);
  });

  test("a second time makes no second key: it fails, or with --if-missing succeeds without a word on stdout", async () => {
    await run("admin bootstrap");
    const again = await run("admin bootstrap");
    expect(again).toMatchObject({ code: 1, data: "" });
    expect(again.messages).toContain("key create --principal admin");
    expect(await run("admin bootstrap --if-missing")).toMatchObject({ code: 0, data: "" });
    expect(await json("key list")).toHaveLength(1);
  });

  test("under another name makes that admin, but never takes over a member", async () => {
    expect((await run("admin bootstrap --name alice")).code).toBe(0);
    await run("principal create bob");
    expect(await run("admin bootstrap --name bob")).toMatchObject({ code: 1, data: "" });
    expect(await json("key list --principal alice")).toHaveLength(1);
    expect(await json("key list --principal bob")).toEqual([]);
  });
});

describe("principals and keys", () => {
  test("a principal is made, listed with its role, and refused under a name that is used or malformed", async () => {
    expect(await json("principal create ci --kind service --role admin")).toMatchObject({
      name: "ci",
      kind: "service",
    });
    expect((await run("principal create ci")).messages).toContain("(principal_exists");
    expect(await run("principal create Not-A-Name")).toMatchObject({ code: 2, data: "" });
    expect((await run("principal list")).data).toMatch(/^NAME +KIND +ROLE .*\nci +service +admin +yes +/);
  });

  test("disable and enable, hide and show say which of the two it is then", async () => {
    await run("principal create ann");
    expect(await json("principal disable ann")).toMatchObject({ enabled: false });
    expect(await json("principal enable ann")).not.toMatchObject({ enabled: false });
    await run("provider add up --base-url http://127.0.0.1:9/v1 --no-api-key");
    expect(await json("provider disable up")).toMatchObject({ enabled: false });
    expect(await json("provider enable up")).toMatchObject({ enabled: true });
    await run("model add gpt --provider up --upstream-name gpt-x");
    expect(await json("model hide gpt")).toMatchObject({ hidden: true });
    expect(await json("model show gpt")).toMatchObject({ hidden: false });
    await run("model set gpt --price input_tokens=3 --effective-from 2999-01-01");
    expect((await run("model info gpt")).data).toMatch(/price to come +from 2999-01-01T00:00:00Z +.*3/);
  });

  test("a key is printed once, listed by its suffix only, and gone when it is deleted", async () => {
    await run("principal create ann");
    const { key, id } = await json("key create --principal ann --label laptop");
    const listed = await run("key list");
    expect(listed.data).toContain(key.slice(-4));
    expect(listed.data).toContain("laptop");
    expect(listed.data).not.toContain(key);
    expect(await json(`key delete ${id} --yes`)).toEqual({ deleted: id });
    expect((await run(`key delete ${id} --yes`)).messages).toContain("(key_not_found)");
    expect(await json("key list")).toEqual([]);
  });

  test("lists are complete beyond one page", async () => {
    // Made beneath the command line: 501 commands would take their time.
    const config = parseConfig({ PROXY_DATA_DIR: folder.data, ...(await engineEnvironment(folder.data)) });
    const local = await makeLocal(config, createSystem({ logLevel: "error" }));
    const { keys, principals } = await local.forWriting();
    for (const { name, count } of [
      { name: "ann", count: 500 },
      { name: "bob", count: 1 },
    ]) {
      const { id } = await principals.create({ name }, null);
      for (let made = 0; made < count; made += 1) await keys.create({ principalId: id }, null);
    }
    await local.close();
    expect(await json("key list")).toHaveLength(501);

    // 100 kB are more than a pipe holds: a command that ended before its slow reader began would lose the rest.
    const main = join(import.meta.dir, "../../src/main.ts");
    const line = `"${process.execPath}" "${main}" key list --json --data-dir "${folder.data}"`;
    const env = await engineEnvironment(folder.data);
    const slow = await runProcess(["sh", "-c", `${line} | { sleep 0.2; cat; }`], { env });
    expect(JSON.parse(slow.data)).toHaveLength(501);
    const gone = await runProcess(["bash", "-c", `${line} | head -n 1; exit "\${PIPESTATUS[0]}"`], { env });
    expect(gone).toEqual({ code: 0, data: "[\n", messages: "" });
  }, 30_000);
});

describe("providers", () => {
  const add = "provider add up --base-url http://127.0.0.1:9/v1";

  test("a credential comes from a file, from stdin or from a hidden prompt, and is shown nowhere", async () => {
    const keyFile = join(folder.path, "key");
    writeFileSync(keyFile, "sk-from-file\n");
    const ways: readonly [string, CliInput][] = [
      [`${add}-file --api-key-file ${keyFile}`, {}],
      [`${add}-stdin --api-key-file -`, { stdin: "sk-from-stdin\n" }],
      [`${add}-typed`, { typed: "sk-typed" }],
    ];
    for (const [line, input] of ways) {
      const { code, data, messages } = await run(
        line.replace("add up", `add up-${ways.findIndex(([l]) => l === line)}`),
        input,
      );
      expect(`${code} ${data}`).toBe("0 ");
      expect(messages).not.toContain("sk-");
    }
    const providers: { has_credential: boolean }[] = await json("provider list");
    expect(providers.map((provider) => provider.has_credential)).toEqual([true, true, true]);
    const stored = await readWhole(join(folder.data, "catalog.db"));
    for (const secret of ["sk-from-file", "sk-from-stdin", "sk-typed"]) expect(stored).not.toContain(secret);
  });

  test("a credential that was promised and is not typed at the prompt is none, and nothing changes", async () => {
    expect(await json(add)).toMatchObject({ has_credential: false });
    const { code, messages } = await run("provider set up --api-key-file -", { typed: "" });
    expect({ code, messages }).toEqual({
      code: 1,
      messages: "API key of the provider: lockport: Nothing was typed, and nothing is done.\n",
    });
    expect(await json("provider list")).toMatchObject([{ has_credential: false }]);
    expect((await run(add.replace("up", "up-2"), { typed: "" })).messages).toStartWith(
      "API key of the provider (empty for none): added provider up-2\n",
    );
  });

  test("without a terminal nobody is asked, and --no-api-key does not ask on one", async () => {
    expect(await json(add)).toMatchObject({ has_credential: false });
    expect(
      (await run("provider add up-2 --base-url http://127.0.0.1:9/v1 --no-api-key", { typed: "x" })).messages,
    ).toBe("added provider up-2\n");
  });

  test("every option of a provider reaches it", async () => {
    const line = `${add} --auth-style x-api-key --no-verify-tls --timeout-connect 2 --timeout-read 7.5 --max-concurrency 3 --endpoint chat=http://127.0.0.1:8/chat`;
    expect(await json(line)).toMatchObject({
      name: "up",
      base_url: "http://127.0.0.1:9/v1",
      auth_style: "x-api-key",
      verify_tls: false,
      timeout_connect: 2,
      timeout_read: 7.5,
      max_concurrency: 3,
      endpoints: { chat: "http://127.0.0.1:8/chat" },
      enabled: true,
    });
  });
});

describe("models", () => {
  beforeEach(() => run("provider add up --base-url http://127.0.0.1:9/v1"));

  test("an alias keeps the prices that it is given, and a name for it inherits them and resolves to what it names", async () => {
    const added = await json(
      "model add gpt --provider up --upstream-name gpt-x --price input_tokens=2.5 --price output_tokens=10",
    );
    expect(added).toMatchObject({
      alias: "gpt",
      target: null,
      pricing: { input_tokens: 2.5, output_tokens: 10 },
    });
    expect(await json("model add fast --target gpt --hidden")).toMatchObject({
      target: "gpt",
      hidden: true,
      pricing_inherited: true,
      upstream_name: "gpt-x",
    });
    expect(await json("model resolve fast --stream")).toEqual({
      alias: "fast",
      provider: "up",
      upstream_name: "gpt-x",
      url: "http://127.0.0.1:9/v1/chat/completions",
      capabilities: ["chat", "chat_stream"],
    });
    expect((await run("model list")).data.split("\n")).toHaveLength(4);
    expect(await json("model list --provider other")).toEqual([]);
  });
});

describe("what every command has in common", () => {
  test("--version --json prints it as JSON", async () => {
    const { code, data } = await run("--version --json");
    expect({ code, view: JSON.parse(data) }).toEqual({
      code: 0,
      view: { version: manifest.version, commit: null, interface_version: "1.0.0" },
    });
  });

  test("--version prints the version of the product and that of the interface, and touches no data folder", async () => {
    rmSync(folder.data, { recursive: true });
    expect(await run("--version", { env: { PROXY_PORT: "malformed" } })).toEqual({
      code: 0,
      data: `lockport ${manifest.version} (interface 1.0.0)\n`,
      messages: "",
    });
    expect(existsSync(folder.data)).toBe(false);
  });

  test("--version names the commit that a build was given", async () => {
    const main = join(import.meta.dir, "../../src/main.ts");
    const define = `LOCKPORT_COMMIT="166cc01b8e03"`;
    const { data } = await runProcess([
      process.execPath,
      "--no-env-file",
      "--define",
      define,
      main,
      "--version",
    ]);
    expect(data).toBe(`lockport ${manifest.version} (commit 166cc01b8e03, interface 1.0.0)\n`);
  });

  test("a malformed setting ends every command with one line and exit code 78", async () => {
    expect(await run("key list", { env: { PROXY_LOG: "loud" } })).toEqual({
      code: 78,
      data: "",
      messages: "lockport: PROXY_LOG must be debug, info, warn or error.\n",
    });
  });

  // On PostgreSQL the folder does not say which installation it is.
  test.skipIf(isOnPostgres)("a flag goes before its variable", async () => {
    const other = join(folder.path, "other");
    await makeEmptyInstallation(other);
    await runLocal(folder.data, ["principal", "create", "ann", "--data-dir", other]);
    expect(await json("principal list")).toEqual([]);
    expect(await json(`principal list --data-dir ${other}`)).toMatchObject([{ name: "ann" }]);
  });

  // There is no key file with PostgreSQL: tests/cli/postgres has what is said without PROXY_SECRET_KEY.
  test.skipIf(isOnPostgres)(
    "a lost key file ends a command with one line and exit code 78, and no new key is made",
    async () => {
      await run("principal create ann");
      rmSync(join(folder.data, "secret.key"));
      const { code, messages } = await run("principal list");
      expect(code).toBe(78);
      expect(messages).toMatch(/^lockport: The key file .* is missing beside existing data: .*\n$/);
      expect(existsSync(join(folder.data, "secret.key"))).toBe(false);
    },
  );

  test("a key that is not the database's ends a command with exit code 78", async () => {
    await run("principal create ann");
    const foreign = { PROXY_SECRET_KEY: Buffer.alloc(32, 1).toString("base64") };
    expect(await run("principal list", { env: foreign })).toMatchObject({ code: 78, data: "" });
  });

  // It writes into catalog.db; tests/storage/postgres/migrate has the newer schema.
  test.skipIf(isOnPostgres)("a database of a newer version ends a command with exit code 78", async () => {
    await run("principal create ann");
    const database = new Database(join(folder.data, "catalog.db"));
    database.run("INSERT INTO migration VALUES ('9999_later', 'x')");
    database.close();
    const { code, messages } = await run("principal list");
    expect(code).toBe(78);
    expect(messages).toMatch(/^lockport: .*newer.*\n$/);
  });
});
