import { beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSecretBox, SECRET_KEY_BYTES } from "#kernel/crypto.ts";
import { encodeSeal, SEAL_BYTES } from "#storage/backup/seal.ts";
import { useFolder } from "../support/folder.ts";
import { runLocal } from "./terminal.ts";

const folder = useFolder();
let file: string;

beforeEach(async () => {
  file = join(folder.path, "backup.tar.zst");
  await runLocal(folder.data, ["admin", "bootstrap"]);
});

const run = (...line: string[]) => runLocal(folder.data, line);
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
