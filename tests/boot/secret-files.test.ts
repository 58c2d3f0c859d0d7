import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseConfig } from "#boot/settings/config.ts";
import { prepareDataDir } from "#boot/folder/data-dir.ts";
import { loadAdminPassword } from "#boot/secrets/admin-password.ts";
import { loadSecretKey } from "#boot/secrets/secret-key.ts";
import { SetupError } from "#kernel/errors.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { makeFolder } from "../support/folder.ts";

const ids = createSystemIds();
let folder: ReturnType<typeof makeFolder>;
let dataDir: string;

beforeEach(() => {
  folder = makeFolder();
  dataDir = join(folder.path, "a", "data");
});
afterEach(() => folder.remove());

function configOf(env: Record<string, string> = {}) {
  const config = parseConfig({ PROXY_DATA_DIR: dataDir, ...env });
  prepareDataDir(config);
  return config;
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

describe("the data folder", () => {
  test("is made with its parents and is its owner's alone", () => {
    configOf();
    expect(modeOf(dataDir)).toBe("700");
  });

  test("that cannot be made is refused with the variable to set", () => {
    writeFileSync(join(folder.path, "a"), "a file where a folder is needed");
    expect(() => configOf()).toThrow(SetupError);
    expect(() => configOf()).toThrow(/PROXY_DATA_DIR/);
  });
});

describe("the secret key", () => {
  test("is generated once, to a file that only its owner reads, and is the same at every later start", () => {
    const config = configOf();
    const first = loadSecretKey(config, ids);
    expect(first.byteLength).toBe(32);
    expect(modeOf(join(dataDir, "secret.key"))).toBe("600");
    expect(Buffer.from(loadSecretKey(config, ids)).equals(first)).toBe(true);
    expect(readdirSync(dataDir)).toEqual(["secret.key"]);
  });

  test("missing beside existing data refuses to start and makes no new one", () => {
    for (const database of ["catalog.db", "usage.db"]) {
      const config = configOf();
      writeFileSync(join(dataDir, database), "data");
      expect(() => loadSecretKey(config, ids)).toThrow(/secret\.key is missing beside existing data/);
      expect(existsSync(join(dataDir, "secret.key"))).toBe(false);
      rmSync(join(dataDir, database));
    }
  });

  test("from the environment leaves no file behind", () => {
    const secret = Buffer.alloc(32, 9);
    const config = configOf({ PROXY_SECRET_KEY: secret.toString("base64") });
    expect(Buffer.from(loadSecretKey(config, ids)).equals(secret)).toBe(true);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  test("in a damaged file is refused without repeating what the file holds", () => {
    const config = configOf();
    writeFileSync(join(dataDir, "secret.key"), "damaged-but-secret");
    expect(() => loadSecretKey(config, ids)).toThrow(/does not hold 32 bytes/);
    expect(() => loadSecretKey(config, ids)).not.toThrow(/damaged-but-secret/);
  });
});

test("a secret's file without an end is read up to a limit and refused by its name", () => {
  const config = configOf();
  for (const name of ["secret.key", "admin-password"]) symlinkSync("/dev/zero", join(dataDir, name));
  const sentence = /\/(secret\.key|admin-password) holds more than 64000 bytes, which is no secret/;
  expect(() => loadSecretKey(config, ids)).toThrow(sentence);
  expect(() => loadAdminPassword(config, ids)).toThrow(sentence);
});

describe("the admin password", () => {
  test("is generated to a file that only its owner reads, and stays", () => {
    const { password, path } = loadAdminPassword(configOf(), ids);
    expect(password).toMatch(/^[A-Za-z0-9_-]{24}$/);
    expect(path).toBe(join(dataDir, "admin-password"));
    expect(modeOf(join(dataDir, "admin-password"))).toBe("600");
    expect(loadAdminPassword(configOf(), ids).password).toBe(password);
  });

  test("written by hand is taken without its line end, and a short one is refused", () => {
    const config = configOf();
    writeFileSync(join(dataDir, "admin-password"), "chosen by a person\n");
    expect(loadAdminPassword(config, ids).password).toBe("chosen by a person");
    writeFileSync(join(dataDir, "admin-password"), "short\n");
    expect(() => loadAdminPassword(config, ids)).toThrow(/fewer than 12 characters/);
  });

  test("from the environment, or turned off, leaves no file behind", () => {
    const given = configOf({ PROXY_ADMIN_PASSWORD: "from the environment" });
    expect(loadAdminPassword(given, ids)).toEqual({ password: "from the environment", path: null });
    const off = configOf({ PROXY_ADMIN_PASSWORD_DISABLED: "true" });
    expect(loadAdminPassword(off, ids)).toEqual({ password: null, path: null });
    expect(readdirSync(dataDir)).toEqual([]);
  });
});
