import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of a test's own; `remove` when it is over. */
export function makeFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "lockport-test-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
