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
import { createSecretBox, SECRET_KEY_BYTES } from "#kernel/crypto.ts";
import { encodeSeal, SEAL_BYTES } from "#storage/backup/seal.ts";

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

const restoreTo = (target: string, ...options: string[]) =>
  runLocal(target, ["restore", file, "--json", ...options]);
const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest();

/** As anybody can seal whatever archive: the hash needs no key. */
function reseal(toMac: (sha256: Uint8Array) => Uint8Array | null): void {
  const archive = readFileSync(file).subarray(0, -SEAL_BYTES);
  const hash = sha256(archive);
  writeFileSync(file, Buffer.concat([archive, encodeSeal(hash, toMac(hash))]));
}

describe("a backup's MAC", () => {
  test("holds where the installation's key is, and the restore says by which key it was checked", async () => {
    expect(JSON.parse((await run("backup", file, "--json")).data)).toMatchObject({ has_mac: true });
    const { code, data } = await restoreTo(folder.data, "--force");
    expect({ code, view: JSON.parse(data) }).toMatchObject({ code: 0, view: { verified_by: "folder" } });
    const withKey = await run("backup", file, "--with-secret-key");
    expect(withKey.messages).not.toContain("no MAC");
    const there = await runLocal(join(folder.path, "new"), ["restore", file]);
    expect(there.code).toBe(0);
    expect(there.messages).toContain("by the key in the backup itself");
    const env = { PROXY_SECRET_KEY: readFileSync(join(folder.data, "secret.key"), "utf8").trim() };
    const elsewhere = await runLocal(join(folder.path, "env"), ["restore", file, "--json"], { env });
    expect(JSON.parse(elsewhere.data)).toMatchObject({ verified_by: "environment" });
  });

  test("that does not hold is refused whatever is allowed, and nothing is changed", async () => {
    // The lock's file stays behind a restore.
    await run("backup", file);
    await restoreTo(folder.data, "--force");
    for (const options of [[], ["--with-secret-key"]]) {
      await run("backup", file, ...options);
      reseal(() => createSecretBox(new Uint8Array(SECRET_KEY_BYTES)).macBackup(sha256(Buffer.from("x"))));
      const before = readdirSync(folder.data).sort();
      const catalog = readFileSync(join(folder.data, "catalog.db"));
      for (const allowed of [[], ["--allow-unverified"]]) {
        const { code, messages } = await restoreTo(folder.data, "--force", ...allowed);
        expect(code).toBe(1);
        expect(messages).toContain("its MAC does not hold");
        expect(readdirSync(folder.data).sort()).toEqual(before);
        expect(readFileSync(join(folder.data, "catalog.db")).equals(catalog)).toBe(true);
      }
    }
  });

  test("that is missing, as in backups of earlier executables, has to be allowed", async () => {
    await run("backup", file);
    reseal(() => null);
    const refused = await restoreTo(folder.data, "--force");
    expect(refused).toMatchObject({ code: 1, data: "" });
    expect(refused.messages).toContain("nothing shows who made it");
    expect(refused.messages).toContain("--allow-unverified");
    const { code, data } = await restoreTo(folder.data, "--force", "--allow-unverified");
    expect({ code, view: JSON.parse(data) }).toMatchObject({ code: 0, view: { verified_by: null } });
  });

  test("by the key of another installation, which is in the backup, has to be allowed where a key is already", async () => {
    await run("backup", file, "--with-secret-key");
    const other = join(folder.path, "other");
    await runLocal(other, ["admin", "bootstrap"]);
    const key = readFileSync(join(other, "secret.key"), "utf8");
    const refused = await restoreTo(other, "--force");
    expect(refused.code).toBe(1);
    expect(refused.messages).toContain("another installation's");
    expect(readFileSync(join(other, "secret.key"), "utf8")).toBe(key);
    expect((await restoreTo(other, "--force", "--allow-unverified")).code).toBe(0);
    expect(readFileSync(join(other, "secret.key"), "utf8")).not.toBe(key);
  });

  test("by the key from before a rotation holds while that one lies in the folder, with the key in the backup or without", async () => {
    const key = () => readFileSync(join(folder.data, "secret.key"), "utf8");
    const before = key();
    const withKey = join(folder.path, "with-key.tar.zst");
    await run("backup", withKey, "--with-secret-key");
    await run("backup", file);
    expect((await run("secrets", "rotate")).code).toBe(0);
    const rotated = key();
    for (const [path, from] of [
      [withKey, "backup"],
      [file, "former"],
    ] as const) {
      const { code, data, messages } = await run("restore", path, "--force", "--json");
      expect({ code, messages }).toMatchObject({ code: 0 });
      const view = JSON.parse(data);
      expect(view).toMatchObject({ verified_by: "former", secret_key_from: from });
      expect(key()).toBe(before);
      expect((await run("principal", "list")).code).toBe(0);
      // The former installation is put aside, the newer key with it.
      expect(readFileSync(join(view.aside[0], "secret.key"), "utf8")).toBe(rotated);
      writeFileSync(join(folder.data, "secret.key"), rotated);
    }
    const said = await run("restore", file, "--force");
    expect(said.messages).toContain("by a key from before a rotation");
    expect(said.messages).toContain("look whether keys and principals are what you expect");
  });

  test("that holds by none of the former keys is refused, and one that was altered is so whatever they are", async () => {
    await run("backup", file);
    expect((await run("secrets", "rotate")).code).toBe(0);
    reseal(() => createSecretBox(new Uint8Array(SECRET_KEY_BYTES)).macBackup(sha256(Buffer.from("x"))));
    const { code, messages } = await restoreTo(folder.data, "--force", "--allow-unverified");
    expect(code).toBe(1);
    expect(messages).toContain("its MAC does not hold");
  });

  test("by the key from before a rotation that was moved away is not said to be another installation's alone", async () => {
    await run("backup", file, "--with-secret-key");
    expect((await run("secrets", "rotate")).code).toBe(0);
    for (const name of readdirSync(folder.data).filter((one) => one.includes(".until-")))
      rmSync(join(folder.data, name));
    const refused = await restoreTo(folder.data, "--force");
    expect(refused.code).toBe(1);
    expect(refused.messages).toContain("this one's from before `lockport secrets rotate`");
    expect((await restoreTo(folder.data, "--force", "--allow-unverified")).code).toBe(0);
  });

  test("is made with the secret key alone: without it the backup is written, and says that it has none", async () => {
    const env = { PROXY_SECRET_KEY: Buffer.alloc(SECRET_KEY_BYTES, 7).toString("base64") };
    const own = join(folder.path, "own");
    mkdirSync(own);
    await runLocal(own, ["admin", "bootstrap"], { env });
    const written = await runLocal(own, ["backup", file]);
    expect(written.code).toBe(0);
    expect(written.messages).toContain("carries no MAC");
    expect((await runLocal(own, ["restore", file, "--force"], { env })).messages).toContain("no MAC");
    const allowed = await runLocal(own, ["restore", file, "--force", "--allow-unverified"], { env });
    expect(allowed.code).toBe(0);
  });
});
