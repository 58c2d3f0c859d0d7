import { beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Database } from "bun:sqlite";
import { startApp } from "../support/app.ts";
import { useFolder } from "../support/folder.ts";
import { runLocal } from "./terminal.ts";

const folder = useFolder();
let file: string;

beforeEach(async () => {
  file = join(folder.path, "backup.tar.zst");
  await run("admin", "bootstrap");
});

const run = (...line: string[]) => runLocal(folder.data, line);
const backUp = (...line: string[]) => run("backup", ...line);
const hasKey = (path: string) =>
  Bun.zstdDecompressSync(readFileSync(path)).includes(
    readFileSync(join(folder.data, "secret.key"), "utf8").trim(),
  );

describe("a backup in the place of another", () => {
  test("never takes the place of one that has the secret key when it has none itself", async () => {
    expect((await backUp(file, "--with-secret-key")).code).toBe(0);
    const before = readFileSync(file);
    const { code, data, messages } = await backUp(file);
    expect({ code, data }).toEqual({ code: 1, data: "" });
    expect(messages).toContain("add --with-secret-key, or name another file");
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readdirSync(folder.path).sort()).toEqual(["backup.tar.zst", "data"]);

    expect((await backUp(file, "--with-secret-key")).code).toBe(0);
    expect(readFileSync(file).equals(before)).toBe(false);
  });

  test("may hold more than that one, and is then the one that is kept", async () => {
    expect((await backUp(file)).code).toBe(0);
    expect((await backUp(file, "--with-secret-key")).code).toBe(0);
    expect(hasKey(file)).toBe(true);
  });

  test("never takes the place of one with recorded requests when the folder has none", async () => {
    await (await startApp({ dataDir: folder.data })).stop();
    expect((await backUp(file)).code).toBe(0);
    const before = readFileSync(file);
    for (const name of ["usage.db", "usage.db-wal", "usage.db-shm", "journal"])
      rmSync(join(folder.data, name), { recursive: true, force: true });
    const { code, messages } = await backUp(file);
    expect(code).toBe(1);
    expect(messages).toContain("recorded requests");
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("is announced by the help", async () => {
    const { data } = await backUp("--help");
    expect(data).toContain("An earlier backup of that name is replaced");
  });
});

describe("a backup whose name is a symbolic link", () => {
  test("goes where the link leads, and the link stays, whether or not a backup is there yet", async () => {
    const real = join(folder.path, "disk");
    mkdirSync(real);
    const end = join(real, "dated.tar.zst");
    symlinkSync(join("disk", "dated.tar.zst"), file);
    for (const flags of [[], ["--with-secret-key"]]) {
      expect((await backUp(file, ...flags)).code).toBe(0);
      expect(readlinkSync(file)).toBe(join("disk", "dated.tar.zst"));
      expect(lstatSync(end).isFile()).toBe(true);
      expect(readdirSync(real)).toEqual(["dated.tar.zst"]);
    }
    expect(hasKey(end)).toBe(true);
    expect((await backUp(file)).code).toBe(1);
    expect(hasKey(end)).toBe(true);
  });

  test("to nowhere or to itself is a sentence, and makes nothing", async () => {
    symlinkSync(join(folder.path, "absent", "b"), file);
    const nowhere = await backUp(file);
    expect(nowhere.code).toBe(1);
    expect(nowhere.messages).toContain(`There is no folder ${join(folder.path, "absent")}`);
    const round = join(folder.path, "round");
    symlinkSync(round, round);
    const looped = await backUp(round);
    expect(looped.code).toBe(1);
    expect(looped.messages).not.toContain("unexpected");
    expect(readdirSync(folder.path).sort()).toEqual(["backup.tar.zst", "data", "round"]);
  });
});

describe("a backup into the installation itself", () => {
  const NAMES = [
    "serving.lock",
    "catalog.db",
    "catalog.db-wal",
    "journal/000000000009.journal",
    "sub/b",
    "b",
  ];

  test.each(NAMES)(
    "as %s is refused, also by a link, while a server runs, and makes nothing",
    async (name) => {
      const app = await startApp({ dataDir: folder.data });
      try {
        // Script the ledger makes its last files.
        expect((await app.api("GET", "/admin/v1/requests")).status).toBe(200);
        mkdirSync(join(folder.data, "sub"));
        const path = join(folder.data, name);
        const look = () =>
          [folder.data, join(folder.data, "journal"), join(folder.data, "sub")].map((at) =>
            readdirSync(at).sort(),
          );
        const before = look();
        const link = join(folder.path, "link");
        symlinkSync(path, link);
        for (const target of [path, link]) {
          const { code, data, messages } = await backUp(target);
          expect({ target, code, data }).toEqual({ target, code: 1, data: "" });
          expect(messages).toContain(`${path} lies in the installation itself and was left alone`);
          expect(messages).not.toContain("remove it");
        }
        expect(look()).toEqual(before);
      } finally {
        await app.stop();
      }
      await (await startApp({ dataDir: folder.data })).stop();
    },
  );

  test("is refused beside a catalog that lies elsewhere, and another name in that folder is not", async () => {
    const elsewhere = join(folder.path, "elsewhere");
    const env = { PROXY_DATABASE_URL: `sqlite:${join(elsewhere, "my.db")}` };
    const own = join(folder.path, "own");
    expect((await runLocal(own, ["admin", "bootstrap"], { env })).code).toBe(0);
    for (const suffix of ["", "-wal", "-shm", "-journal"]) {
      const { code } = await runLocal(own, ["backup", join(elsewhere, `my.db${suffix}`)], { env });
      expect({ suffix, code }).toEqual({ suffix, code: 1 });
    }
    expect(readdirSync(elsewhere).filter((name) => name.endsWith("-journal"))).toEqual([]);
    expect((await runLocal(own, ["backup", join(elsewhere, "b")], { env })).code).toBe(0);
  });
});

test("a backup of a ledger of a newer version names the installation's own file", async () => {
  await (await startApp({ dataDir: folder.data })).stop();
  const usage = new Database(join(folder.data, "usage.db"));
  usage.run("PRAGMA user_version = 99");
  usage.close();
  const { code, messages } = await backUp(file);
  expect(code).toBe(78);
  expect(messages).toContain(join(folder.data, "usage.db"));
  expect(messages).not.toContain("staging");
  expect(existsSync(file)).toBe(false);
});

test("a backup of a first start that was cut off has no ledger in it", async () => {
  writeFileSync(join(folder.data, "usage.db"), "", { mode: 0o600 });
  const { code, data } = await backUp(file, "--json");
  expect(code).toBe(0);
  expect(JSON.parse(data)).toMatchObject({ usage_schema: null, parts: [{ name: "catalog.db" }] });
});
