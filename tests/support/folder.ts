import { afterEach, beforeEach } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of a test's own; `remove` when it is over. */
export function makeFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "lockport-test-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Makes a folder for each test of the file that calls this, and removes it after the test; `data` is a data folder's path in it. */
export function useFolder(): { readonly path: string; readonly data: string } {
  let folder: ReturnType<typeof makeFolder> | null = null;
  beforeEach(() => {
    folder = makeFolder();
  });
  afterEach(() => folder?.remove());
  return {
    get path() {
      return folder?.path ?? "";
    },
    get data() {
      return join(this.path, "data");
    },
  };
}
