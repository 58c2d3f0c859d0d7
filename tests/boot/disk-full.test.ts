import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { runProcess } from "../support/process.ts";

const LOCKPORT = await executable();
const DISK_BYTES = 4 * 1024 * 1024;
/** Free bytes, so that each of the files of a first start is the one that finds no room. */
const FREE_KIB = [0, 4, 8, 12, 24, 64, 128] as const;
const TEST_MS_MAX = 60_000;

const folder = makeFolder();
const disk = join(folder.path, "disk");
mkdirSync(disk);
const isMounted =
  process.platform === "linux" &&
  process.getuid?.() === 0 &&
  Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", disk]).exitCode === 0;

const run = (...line: string[]) => runProcess([LOCKPORT, ...line], { env: { PROXY_PORT: "0" } });

/** Nothing on it but what takes all of its room up to `freeBytes`. */
function fill(freeBytes: number): void {
  for (const name of readdirSync(disk)) rmSync(join(disk, name), { recursive: true });
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, "filler"), Buffer.alloc(bavail * bsize - freeBytes));
}

describe.skipIf(!isMounted)("a full disk", () => {
  const elsewhere = join(folder.path, "data");
  beforeAll(async () => {
    expect((await run("admin", "bootstrap", "--data-dir", elsewhere)).code).toBe(0);
  });
  afterAll(() => {
    Bun.spawnSync(["umount", disk]);
    folder.remove();
  });

  test.each([...FREE_KIB])(
    "with %d KiB left is said to be full at the start of a server, and is no question of rights",
    async (freeKib) => {
      fill(freeKib * 1024);
      const dataDir = join(disk, "data");
      const { code, messages } = await run("serve", "--data-dir", dataDir);
      expect(code).toBe(78);
      expect(messages).toMatch(/disk (of .+ )?is full/);
      expect(messages).not.toMatch(/access|owner|unexpected/);
      // Neither a key nor a password under another name.
      expect(readdirSync(dataDir).filter((name) => /^(secret\.key|admin-password)\./.test(name))).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "ends a backup and a restore with 1 and a sentence, and nothing of them stays",
    async () => {
      const backup = join(folder.path, "backup");
      expect((await run("backup", backup, "--with-secret-key", "--data-dir", elsewhere)).code).toBe(0);
      for (const freeKib of FREE_KIB) {
        fill(freeKib * 1024);
        const written = await run("backup", join(disk, "b"), "--data-dir", elsewhere);
        const restored = await run("restore", backup, "--data-dir", join(disk, "data"));
        for (const { code, data, messages } of [written, restored]) {
          expect({ code, data, messages }).toMatchObject({ code: 1, data: "" });
          expect(messages).toMatch(/disk of .+ (is full|has \d+)/);
        }
        expect(readdirSync(disk)).toEqual(["filler"]);
      }
    },
    TEST_MS_MAX,
  );
});
