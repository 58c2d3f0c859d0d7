import { beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { withStaging } from "#boot/folder/staging.ts";
import { createSystem } from "#boot/process/system.ts";
import { openPrivateFile } from "#storage/files/private-file.ts";
import { startApp } from "../support/app.ts";
import { useFolder } from "../support/folder.ts";
import { canBeOther, giveToOther, OTHER_UID, runAsOther } from "../support/other-user.ts";
import { runLocal } from "./terminal.ts";

const TEST_MS_MAX = 60_000;
const ENV = { PROXY_PORT: "0" };

const folder = useFolder();
let dataDir: string;

beforeEach(() => {
  chmodSync(folder.path, 0o755);
  dataDir = join(folder.path, "data");
});

const run = (...line: string[]) => runLocal(dataDir, line, { env: ENV });

function listOwners(path: string): readonly string[] {
  const { uid, gid } = lstatSync(path);
  const inner = lstatSync(path).isDirectory() ? readdirSync(path).map((name) => join(path, name)) : [];
  return [`${path} ${uid}:${gid}`, ...inner.flatMap(listOwners)];
}

function findRoots(): readonly string[] {
  return listOwners(dataDir).filter((line) => !line.endsWith(` ${OTHER_UID}:${OTHER_UID}`));
}

interface Check {
  readonly name: string;
  readonly status: string;
  readonly finding: string;
  readonly advice: string | null;
}

function findFolderCheck(data: string): Check | undefined {
  const { checks }: { checks: readonly Check[] } = JSON.parse(data);
  return checks.find(({ name }) => name === "data folder");
}

describe.skipIf(!canBeOther)("what root makes in the data folder of another user", () => {
  test(
    "belongs to that user, whatever command or server made it, and that user goes on with it",
    async () => {
      const backup = join(folder.path, "backup");
      const transfer = [
        ["backup", backup, "--with-secret-key"],
        ["restore", backup, "--force"],
      ];
      const lines = [
        ["admin", "password", "rotate"],
        ["key", "create", "--principal", "admin", "--label", "second"],
        ...transfer,
      ];
      await run("admin", "bootstrap");
      giveToOther(dataDir);
      for (const line of lines) {
        const { code } = await run(...line);
        expect({ line, code, roots: findRoots() }).toEqual({ line, code: 0, roots: [] });
      }
      const app = await startApp({ dataDir });
      expect((await app.api("GET", "/my/keys")).status).toBe(200);
      expect(findRoots()).toEqual([]);
      await app.stop();
      // The second time there is a ledger to be put aside.
      for (const line of transfer) expect((await run(...line)).code).toBe(0);
      expect(findRoots()).toEqual([]);
      expect((await run("doctor")).code).toBe(0);

      const asOther = await runAsOther(["doctor", "--json", "--data-dir", dataDir], ENV);
      expect(asOther.code).toBe(0);
      expect(findFolderCheck(asOther.data)?.status).toBe("ok");
      expect((await runAsOther(["admin", "password", "rotate", "--data-dir", dataDir])).code).toBe(0);
      // Outside of the folder nothing is given away.
      expect(statSync(backup).uid).toBe(0);
    },
    TEST_MS_MAX,
  );

  test("is an own file alone: neither an existing one nor what a link leads to is given away", async () => {
    await run("admin", "bootstrap");
    giveToOther(dataDir);
    const outside = join(folder.path, "outside");
    writeFileSync(outside, "root's", { mode: 0o600 });
    symlinkSync(outside, join(dataDir, "link"));
    expect(() => openPrivateFile(join(dataDir, "link"), "wx")).toThrow(/EEXIST/);
    linkSync(outside, join(dataDir, "admin-password"));
    expect((await run("admin", "password", "rotate")).code).toBe(0);
    expect(statSync(outside).uid).toBe(0);
    expect(statSync(join(dataDir, "admin-password")).uid).toBe(OTHER_UID);
  });

  test("is no copy that a backup needs on the way to that user's folder", async () => {
    mkdirSync(dataDir);
    giveToOther(dataDir);
    const system = createSystem({ logLevel: "error" });
    const findOwner = (owner: "process" | "parent") =>
      withStaging(dataDir, { system, owner }, async (staging) => statSync(staging).uid);
    expect(await findOwner("process")).toBe(0);
    expect(await findOwner("parent")).toBe(OTHER_UID);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  test("and in a folder of root's own stays root's", async () => {
    await run("admin", "bootstrap");
    await run("admin", "password", "rotate");
    expect(listOwners(dataDir).filter((line) => !line.endsWith(" 0:0"))).toEqual([]);
  });
});

describe.skipIf(!canBeOther)("lockport doctor", () => {
  test(
    "as root fails for a file that is not the folder's owner's, with what mends it",
    async () => {
      await (await startApp({ dataDir })).stop();
      const [segment = ""] = readdirSync(join(dataDir, "journal"));
      for (const name of ["secret.key", "journal", join("journal", segment)]) {
        giveToOther(dataDir);
        expect(findFolderCheck((await run("doctor", "--json")).data)?.status).toBe("ok");
        chownSync(join(dataDir, name), 0, 0);
        const { code, data } = await run("doctor", "--json");
        expect(code).toBe(1);
        expect(findFolderCheck(data)).toEqual({
          name: "data folder",
          status: "fail",
          finding: `${join(dataDir, name)} belongs to uid 0, and the folder ${dataDir} to uid ${OTHER_UID}`,
          advice: `Give it to the folder's owner: chown -R ${OTHER_UID}:${OTHER_UID} ${dataDir}`,
        });
      }
    },
    TEST_MS_MAX,
  );

  test("as root warns of another's files in a folder of root's", async () => {
    await run("admin", "bootstrap");
    chownSync(join(dataDir, "secret.key"), OTHER_UID, OTHER_UID);
    const { code, data } = await run("doctor", "--json");
    expect(code).toBe(0);
    expect(findFolderCheck(data)).toMatchObject({ status: "warn" });
  });

  test(
    "as another user warns of a folder that is not this user's, though it may be used",
    async () => {
      await run("admin", "bootstrap");
      giveToOther(dataDir);
      chownSync(dataDir, 0, OTHER_UID);
      chmodSync(dataDir, 0o770);
      const { code, data } = await runAsOther(["doctor", "--json", "--data-dir", dataDir], ENV);
      expect(code).toBe(0);
      expect(findFolderCheck(data)).toMatchObject({
        status: "warn",
        finding: `${dataDir} belongs to uid 0, and this user is uid ${OTHER_UID}`,
      });
    },
    TEST_MS_MAX,
  );
});
