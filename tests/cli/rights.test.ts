import { beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { useFolder } from "../support/folder.ts";
import { canBeOther, giveToOther, handOver, OTHER_UID, runAsOther } from "../support/other-user.ts";
import { runLocal } from "./terminal.ts";

const TEST_MS_MAX = 60_000;

const folder = useFolder();
let dataDir: string;

beforeEach(async () => {
  chmodSync(folder.path, 0o755);
  dataDir = join(folder.path, "data");
  await runLocal(dataDir, ["admin", "bootstrap"]);
});

interface Check {
  readonly name: string;
  readonly status: string;
  readonly finding: string;
  readonly advice: string | null;
}

async function diagnose(path = dataDir) {
  const { code, data, messages } = await runAsOther(["doctor", "--json", "--data-dir", path], {
    PROXY_PORT: "0",
  });
  expect(messages).not.toContain("unexpected");
  const { checks }: { checks: readonly Check[] } = JSON.parse(data);
  // Rights are mended by rights, and a backup is not.
  for (const { advice } of checks) expect(advice ?? "").not.toContain("restore");
  return { code, checks, find: (name: string) => checks.find((check) => check.name === name) };
}

describe.skipIf(!canBeOther)("lockport doctor as a user without a right", () => {
  test(
    "names the first folder on the way that it may not enter, with its owner and mode, and goes on",
    async () => {
      chmodSync(folder.path, 0o700);
      const { code, find } = await diagnose();
      expect(code).toBe(1);
      expect(find("data folder")?.finding).toBe(
        `this user (uid ${OTHER_UID}) may not enter ${folder.path}: owner uid 0, mode 700`,
      );
      expect(find("port")).toMatchObject({ status: "ok" });
      expect(find("disk space")).toBeDefined();
    },
    TEST_MS_MAX,
  );

  test(
    "names a data folder of somebody else's, and one that it may not make",
    async () => {
      const { find } = await diagnose();
      expect(find("data folder")?.finding).toContain(`${dataDir}: owner uid 0, mode 700`);
      const absent = join(folder.path, "absent", "deep");
      const unmade = await diagnose(absent);
      expect(unmade.code).toBe(1);
      expect(unmade.find("data folder")?.finding).toStartWith(
        `${absent} does not exist and cannot be made: this user (uid ${OTHER_UID}) may not write into ${folder.path}`,
      );
      expect(existsSync(join(folder.path, "absent"))).toBe(false);
    },
    TEST_MS_MAX,
  );

  test(
    "finds each file and folder of its own that is another's, and looks at all others",
    async () => {
      await (await startApp({ dataDir })).stop();
      const cases = [
        ["journal", "usage journal"],
        ["catalog.db", "catalog.db"],
        ["usage.db", "usage.db"],
        ["secret.key", "secret key"],
      ] as const;
      for (const [file, name] of cases) {
        giveToOther(dataDir);
        chownSync(join(dataDir, file), 0, 0);
        const { code, checks, find } = await diagnose();
        expect(code).toBe(1);
        expect(find(name)).toMatchObject({ status: "fail" });
        expect(find(name)?.finding).toMatch(/\S+: owner uid 0, mode \d{3}$/);
        expect(find(name)?.finding).toContain(join(dataDir, file));
        expect(checks.map((check) => check.name)).toEqual(
          expect.arrayContaining([
            "secret key",
            "catalog.db",
            "usage.db",
            "usage journal",
            "disk space",
            "port",
          ]),
        );
      }
    },
    TEST_MS_MAX,
  );
});

describe.skipIf(!canBeOther)("a server that lacks a right to its data", () => {
  test(
    "ends with 77 and one line that names what it is, with its owner, and makes nothing",
    async () => {
      const absent = join(folder.path, "absent");
      const own = join(folder.path, "own");
      await runLocal(own, ["admin", "bootstrap"]);
      for (const [path, refused] of [
        [dataDir, dataDir],
        [absent, folder.path],
        [own, join(own, "secret.key")],
        [own, join(own, "catalog.db")],
      ] as const) {
        giveToOther(own);
        if (path === own) chownSync(refused, 0, 0);
        const { code, data, messages } = await runAsOther(["serve", "--port", "0", "--data-dir", path]);
        expect({ path, code, data }).toEqual({ path, code: 77, data: "" });
        expect(messages).toContain(`${refused}: owner uid 0`);
        expect(messages.trim().split("\n")).toHaveLength(1);
      }
      expect(existsSync(absent)).toBe(false);
    },
    TEST_MS_MAX,
  );
});

describe.skipIf(!canBeOther)("a server whose program its user may not start", () => {
  test(
    "ends with 77 and one line that names the folder on the way, and does not serve with the runtime's limit",
    async () => {
      const locked = join(folder.path, "locked");
      mkdirSync(locked, { mode: 0o700 });
      const runtime = join(locked, "bun");
      copyFileSync(process.execPath, runtime);
      const own = join(folder.path, "own");
      const { code, data, messages } = await handOver(runtime, ["serve", "--port", "0", "--data-dir", own]);
      expect({ code, data }).toEqual({ code: 77, data: "" });
      expect(messages).toContain(
        `"message":"The server cannot be started: this user (uid ${OTHER_UID}) may not enter ${locked}: owner uid 0, mode 700.`,
      );
      expect(messages.trim().split("\n")).toHaveLength(1);
      expect(existsSync(own)).toBe(false);
    },
    TEST_MS_MAX,
  );
});

describe.skipIf(!canBeOther)("a backup or a restore by a user without a right", () => {
  test(
    "ends with 77, names the path with its owner, and makes nothing",
    async () => {
      const backup = join(folder.path, "backup.tar.zst");
      expect((await runLocal(dataDir, ["backup", backup, "--with-secret-key"])).code).toBe(0);
      const target = join(folder.path, "target");
      const own = join(folder.path, "own");
      mkdirSync(own);
      giveToOther(own);
      const ownData = join(own, "data");
      const cases = [
        { line: ["restore", backup, "--data-dir", join(own, "restored")], path: backup },
        { line: ["restore", backup, "--data-dir", target], path: backup },
        { line: ["backup", join(own, "b"), "--data-dir", dataDir], path: dataDir },
        { line: ["backup", join(folder.path, "b"), "--data-dir", ownData], path: folder.path },
        { line: ["backup", backup, "--data-dir", ownData], path: folder.path },
      ];
      await runLocal(ownData, ["admin", "bootstrap"]);
      giveToOther(own);
      for (const { line, path } of cases) {
        const { code, data, messages } = await runAsOther(line);
        expect({ line, code, data }).toEqual({ line, code: 77, data: "" });
        expect(messages).toContain(`${path}: owner uid 0`);
        expect(messages.trim().split("\n")).toHaveLength(1);
      }
      expect(readdirSync(folder.path).sort()).toEqual(["backup.tar.zst", "data", "own"]);
      expect(readdirSync(own)).toEqual(["data"]);
    },
    TEST_MS_MAX,
  );
});
