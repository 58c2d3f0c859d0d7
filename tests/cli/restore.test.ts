import { beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { executable } from "../support/executable.ts";
import { startApp } from "../support/app.ts";
import { useFolder } from "../support/folder.ts";
import { cleanEnvironment } from "../support/process.ts";
import { runLocal, type CliInput } from "./terminal.ts";

const folder = useFolder();
let target: string;
let file: string;

beforeEach(async () => {
  target = join(folder.path, "target");
  file = join(folder.path, "backup.tar.zst");
  await run("admin bootstrap");
});

const LOCKPORT = await executable();

const run = (line: string, input?: CliInput) => runLocal(folder.data, line.split(" "), input);
const restore = (path = file, input?: CliInput & { readonly flags?: readonly string[] }) =>
  runLocal(target, ["restore", path, ...(input?.flags ?? [])], input);
const listKeys = async (directory: string) =>
  JSON.parse((await runLocal(directory, ["key", "list", "--json"])).data);

describe("lockport restore", () => {
  test("gives a new folder the installation of the backup, private and without leftovers", async () => {
    await run(`backup ${file} --with-secret-key`);
    const keys = await listKeys(folder.data);
    rmSync(folder.data, { recursive: true });
    const { code, data, messages } = await restore(file, { flags: ["--json"] });
    expect(`${code} ${messages}`).toBe("0 ");
    expect(JSON.parse(data)).toMatchObject({ data_dir: target, secret_key_from: "backup", aside: [] });
    expect(readdirSync(target).sort()).toEqual(["catalog.db", "journal", "secret.key", "serving.lock"]);
    expect(await listKeys(target)).toEqual(keys);
  });

  test("is refused while a server runs from the folder, also with --force, and changes nothing there", async () => {
    await run(`backup ${file} --with-secret-key`);
    const app = await startApp({ dataDir: target });
    try {
      const { code, messages } = await restore(file, { flags: ["--force"] });
      expect(code).toBe(78);
      expect(messages).toContain("Another lockport serves from this folder");
      expect((await app.api("GET", "/my/keys")).status).toBe(200);
      expect(readdirSync(target).filter((name) => name.includes("restore"))).toEqual([]);
    } finally {
      await app.stop();
    }
  });

  test("into a folder with data is refused, and with --force puts that data aside", async () => {
    await run(`backup ${file} --with-secret-key`);
    await runLocal(target, ["admin", "bootstrap"]);
    const before = await listKeys(target);
    const refused = await restore();
    expect(refused.code).toBe(1);
    expect(refused.messages).toContain("--force");
    expect(await listKeys(target)).toEqual(before);

    const { data } = await restore(file, { flags: ["--force", "--allow-unverified", "--json"] });
    const [aside = ""] = JSON.parse(data).aside;
    expect(await listKeys(target)).toEqual(await listKeys(folder.data));
    expect(await listKeys(aside)).toEqual(before);
  });

  test("takes the key from the folder or PROXY_SECRET_KEY when the backup has none", async () => {
    await run(`backup ${file}`);
    const missing = await restore();
    expect(missing.code).toBe(78);
    expect(missing.messages).toContain("The secret key is not in this backup");
    expect(existsSync(target)).toBe(false);

    const key = readFileSync(join(folder.data, "secret.key"), "utf8");
    mkdirSync(target);
    writeFileSync(join(target, "secret.key"), key);
    expect(JSON.parse((await restore(file, { flags: ["--json"] })).data)).toMatchObject({
      secret_key_from: "folder",
    });
    expect(await listKeys(target)).toEqual(await listKeys(folder.data));

    rmSync(target, { recursive: true });
    const env = { PROXY_SECRET_KEY: key.trim() };
    expect(JSON.parse((await restore(file, { env, flags: ["--json"] })).data)).toMatchObject({
      secret_key_from: "environment",
    });
    expect(existsSync(join(target, "secret.key"))).toBe(false);
  });

  test("refuses a key that is not the installation's, wherever it comes from, and changes nothing", async () => {
    await run(`backup ${file}`);
    const wrong = Buffer.alloc(32, 9).toString("base64");
    const fromEnvironment = await restore(file, { env: { PROXY_SECRET_KEY: wrong } });
    expect(fromEnvironment.code).toBe(78);
    expect(fromEnvironment.messages).toContain("PROXY_SECRET_KEY is not the secret key of this backup");
    expect(fromEnvironment.messages).not.toContain(wrong);
    expect(existsSync(target)).toBe(false);
    mkdirSync(target);
    writeFileSync(join(target, "secret.key"), wrong);
    const fromFolder = await restore();
    expect(fromFolder.messages).toContain("is not the one of this backup");
    expect(readdirSync(target).filter((name) => name !== "serving.lock")).toEqual(["secret.key"]);
  });

  test("refuses a key file that the server's start would not read, and changes nothing", async () => {
    await run(`backup ${file}`);
    mkdirSync(target);
    const blank = `${readFileSync(join(folder.data, "secret.key"), "utf8")}\n`;
    writeFileSync(join(target, "secret.key"), blank);
    const { code, messages } = await restore();
    expect(code).toBe(78);
    expect(messages).toContain(
      `The secret key in ${join(target, "secret.key")} is not the one of this backup`,
    );
    expect(readdirSync(target).filter((name) => name !== "serving.lock")).toEqual(["secret.key"]);
    expect((await runLocal(target, ["admin", "bootstrap"])).code).toBe(78);
  });

  test("puts the catalog where PROXY_DATABASE_URL says, also on another disk, and takes every move back when that fails", async () => {
    await run(`backup ${file} --with-secret-key`);
    const isElsewhere = (path: string) =>
      existsSync(path) && statSync(path).dev !== statSync(folder.path).dev;
    const elsewhere = mkdtempSync(
      join(["/dev/shm", "/var/tmp"].find(isElsewhere) ?? folder.path, "lockport-test-"),
    );
    const path = join(elsewhere, "catalog.db");
    const env = { PROXY_DATABASE_URL: `sqlite:${path}` };
    const listed = async () => JSON.parse((await runLocal(target, ["key", "list", "--json"], { env })).data);
    try {
      await runLocal(target, ["admin", "bootstrap"], { env });
      const before = await listed();
      if (statSync(elsewhere).dev !== statSync(folder.path).dev) {
        // A folder under the name that the copy to another disk needs: it comes last, after the rest was moved.
        mkdirSync(`${path}.unfinished`);
        const failed = await restore(file, { env, flags: ["--force", "--allow-unverified"] });
        expect(failed).toMatchObject({ code: 1, data: "" });
        expect(failed.messages).toContain("could not be put in place");
        rmdirSync(`${path}.unfinished`);
        expect(await listed()).toEqual(before);
        expect(readdirSync(elsewhere)).toEqual(["catalog.db"]);
        expect(readdirSync(target).sort()).toEqual(["secret.key", "serving.lock"]);
      }
      const done = await restore(file, { env, flags: ["--force", "--allow-unverified"] });
      expect(done.code).toBe(0);
      expect(await listed()).toEqual(await listKeys(folder.data));
      expect(
        readdirSync(elsewhere)
          .map((name) => name.slice(0, 15))
          .sort(),
      ).toEqual(["before-restore-", "catalog.db"]);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  test("never puts two installations aside into one folder", async () => {
    await run(`backup ${file} --with-secret-key`);
    const paths = new Set<string>();
    expect((await restore()).code).toBe(0);
    for (let turn = 0; turn < 4; turn += 1) {
      const { data } = await restore(file, { flags: ["--force", "--json"] });
      for (const path of JSON.parse(data).aside) paths.add(path);
    }
    expect(paths.size).toBe(4);
    for (const path of paths) expect(existsSync(join(path, "catalog.db"))).toBe(true);
  });

  test("into a file, or below one, says that it is a file, and changes nothing", async () => {
    await run(`backup ${file} --with-secret-key`);
    const taken = join(folder.path, "taken");
    for (const mode of [0o600, 0o700]) {
      writeFileSync(taken, "somebody's", { mode });
      for (const path of [taken, join(taken, "below")]) {
        const { code, messages } = await runLocal(path, ["restore", file]);
        expect(code).toBe(78);
        expect(messages).toContain(`${taken} is a file, and no folder`);
      }
      expect(readFileSync(taken, "utf8")).toBe("somebody's");
      rmSync(taken);
    }
  });

  test("ends with the command that starts the server on the same folder", async () => {
    await run(`backup ${file} --with-secret-key`);
    const { messages } = await restore(file, { flags: ["--data-dir", target] });
    expect(messages).toEndWith(`serve --data-dir ${target}\n`);
    rmSync(target, { recursive: true });
    expect((await restore()).messages).toEndWith(" serve\n");
  });

  test("that is interrupted leaves nothing", async () => {
    await run(`backup ${file} --with-secret-key`);
    const stopped = await restore(file, { end: AbortSignal.abort() });
    expect(stopped).toMatchObject({ code: 1, data: "" });
    expect(existsSync(target)).toBe(false);
  });
});

describe("lockport restore -", () => {
  const receive = async (bytes: Uint8Array, flags: readonly string[] = []) => {
    const child = Bun.spawn({
      cmd: [LOCKPORT, "restore", "-", "--data-dir", target, ...flags],
      env: cleanEnvironment({}),
      stdin: bytes,
      stdout: "pipe",
      stderr: "pipe",
    });
    const [data, messages, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { code, data, messages };
  };

  test("takes the backup from stdin, and leaves no copy of it", async () => {
    await run(`backup ${file} --with-secret-key`);
    const { code, data, messages } = await receive(readFileSync(file), ["--json"]);
    expect(`${code} ${messages}`).toBe("0 ");
    expect(JSON.parse(data)).toMatchObject({ file: "-", data_dir: target, aside: [] });
    expect(await listKeys(target)).toEqual(await listKeys(folder.data));
    expect(readdirSync(target).sort()).toEqual(["catalog.db", "journal", "secret.key", "serving.lock"]);
  });

  test("of nothing, of something else, and of a part is exit code 1 and no change", async () => {
    await run(`backup ${file} --with-secret-key`);
    const whole = readFileSync(file);
    const pieces = [Buffer.alloc(0), Buffer.from("a page"), whole.subarray(0, -1), whole.subarray(0, 2000)];
    for (const bytes of pieces) {
      const { code, data, messages } = await receive(bytes);
      expect({ code, data, messages }).toMatchObject({ code: 1, data: "" });
      expect(messages).toMatch(/^lockport: .*stdin.*(no backup of lockport|damaged).*\.\n$/);
      expect(existsSync(target)).toBe(false);
    }
  });

  test("is refused where a person would have to type it", async () => {
    expect(await restore("-", { typed: "" })).toMatchObject({ code: 2, data: "" });
    expect(existsSync(target)).toBe(false);
  });
});
