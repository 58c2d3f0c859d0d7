import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const MEMORY = "/dev/shm";
/** By statfs(2), see linux/magic.h. */
const TMPFS = 0x01021994;
/** A run has less than a quarter of it in use at any time. */
const FREE_BYTES_MIN = 4 * 1024 ** 3;

/**
 * A folder in memory with room for what tests write, else null. There no commit waits for a disk; what a sync is for is
 * tested by what is called, not by a disk that loses something.
 */
export function findMemory(): string | null {
  if (process.platform !== "linux" || !existsSync(MEMORY)) return null;
  const { type, bavail, bsize } = statfsSync(MEMORY);
  return type === TMPFS && bavail * bsize >= FREE_BYTES_MIN && isExecutable(MEMORY) ? MEMORY : null;
}

/** A container may mount it without the right to run what lies in it, which some tests write themselves. */
function isExecutable(folder: string): boolean {
  const own = mkdtempSync(join(folder, "lockport-probe-"));
  try {
    const script = join(own, "probe");
    writeFileSync(script, "#!/bin/sh\n");
    chmodSync(script, 0o700);
    return Bun.spawnSync([script]).success;
  } catch {
    return false;
  } finally {
    rmSync(own, { recursive: true });
  }
}
