import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { syncFolder, syncFolderNow } from "#storage/files/sync-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-sync-folder-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function codeOf(sync: () => Promise<void> | void): Promise<unknown> {
  try {
    await sync();
    return "synced";
  } catch (cause) {
    return cause instanceof Error && "code" in cause ? cause.code : cause;
  }
}

describe("a folder's own sync", () => {
  for (const sync of [syncFolder, syncFolderNow]) {
    test(`${sync.name} is done where the file system has it`, async () => {
      expect(await codeOf(() => sync(folder))).toBe("synced");
    });

    // fsync(2) of a folder of procfs is EINVAL, as on some network file systems.
    test.if(process.platform === "linux")(
      `${sync.name} is left out where the file system refuses it for folders`,
      async () => {
        expect(await codeOf(() => sync("/proc"))).toBe("synced");
      },
    );

    test.if(process.platform !== "win32")(
      `${sync.name} is never left out for a file or for a folder that is not there`,
      async () => {
        const file = join(folder, "file");
        writeFileSync(file, "");
        expect(await codeOf(() => sync(file))).toBe("ENOTDIR");
        expect(await codeOf(() => sync(join(folder, "missing")))).toBe("ENOENT");
      },
    );
  }
});
