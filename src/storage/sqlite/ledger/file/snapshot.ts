import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { SILENT_LOG } from "#kernel/log.ts";
import { systemCode } from "#kernel/system-code.ts";
import { JOURNAL_NAME, USAGE_NAME } from "#storage/files/data-files.ts";
import { makePrivateFile, openPrivateFile } from "#storage/files/private-file.ts";
import { toSetupError } from "#storage/files/setup-errors.ts";
import { listSegments, segmentPath } from "#storage/journal/segments.ts";
import { WorkerClient } from "#storage/threads/worker-client.ts";
import type { CopyTasks } from "./copy-worker.ts";

const PROGRESS_INTERVAL_MS = 100;
/** The writer would have to begin a segment between each opening of them and the copy that follows at once. */
const COPIES_MAX = 3;
const LINE_FEED = 0x0a;

export interface SnapshotOptions {
  readonly dataDir: string;
  /** An empty folder, with an empty folder `journal` in it. */
  readonly target: string;
  /** The share of the database that is copied, from 0 to 1. */
  readonly onShare: (share: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Copies the ledger as it is at one moment, also while a server writes to it: `usage.db`, and of the journal what that
 * state of it has not taken in yet, so that a start from the copy counts every event that had been recorded once. Returns
 * the names of the segments. Requests that were under way are begins without an end. Synced by the caller. Throws SetupError.
 */
export async function snapshotLedger(options: SnapshotOptions): Promise<readonly string[]> {
  const { dataDir, target } = options;
  const databasePath = join(dataDir, USAGE_NAME);
  for (let copies = 1; ; copies += 1) {
    // Opened before the copy begins: what was recorded by then is in one of them, or in the database, whose writer removes no
    // segment that is not committed to its end.
    const segments = openSegments(join(dataDir, JOURNAL_NAME));
    try {
      const committed = await copyDatabase(databasePath, options);
      const isWhole =
        committed === 0 || segments.length === 0 || segments.some(({ number }) => number === committed);
      // The requests that were under way at the position are in a segment that was begun meanwhile.
      if (!isWhole && copies < COPIES_MAX) continue;
      const needed = segments.filter(({ number }) => number >= committed);
      return needed.map((segment) => copySegment(segment, segment === needed.at(-1), target));
    } catch (cause) {
      throw toSetupError(databasePath, cause);
    } finally {
      for (const { fd } of segments) closeSync(fd);
    }
  }
}

interface Segment {
  readonly number: number;
  readonly path: string;
  readonly fd: number;
}

function openSegments(directory: string): readonly Segment[] {
  if (!existsSync(directory)) return [];
  return listSegments(directory).flatMap((number) => {
    const path = segmentPath(directory, number);
    try {
      return [{ number, path, fd: openSync(path, "r") }];
    } catch (cause) {
      // Its end was committed meanwhile.
      if (systemCode(cause) === "ENOENT") return [];
      throw cause;
    }
  });
}

/**
 * Copies `usage.db` in a thread of its own, since SQLite returns only at the end, and a person may interrupt it. Returns the
 * segment of the copy's position.
 */
async function copyDatabase(path: string, { target, onShare, signal }: SnapshotOptions): Promise<number> {
  signal.throwIfAborted();
  const copyPath = join(target, USAGE_NAME);
  // VACUUM INTO accepts an empty file: made first, so that the copy is private from its first byte on.
  rmSync(copyPath, { force: true });
  makePrivateFile(copyPath);
  const sizeBytes = statSync(path).size;
  const url = new URL("./copy-worker.ts", import.meta.url);
  const worker = new WorkerClient<CopyTasks, object>({ name: "copy", url, log: SILENT_LOG, start: {} });
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort);
  const progress = setInterval(
    () => onShare(Math.min(1, statSync(copyPath).size / sizeBytes)),
    PROGRESS_INTERVAL_MS,
  );
  try {
    const copied = await Promise.race([worker.ask("copy", { path, copyPath }), aborted.promise]);
    if (copied.kind === "refused") throw new SetupError(copied.reason, copied.message);
    return copied.segment;
  } finally {
    clearInterval(progress);
    signal.removeEventListener("abort", abort);
    await worker.stop(0);
  }
}

/** A segment has some 8 MiB. `isLast`: it may be written to, so that it ends within a line, or with room that is reserved. */
function copySegment({ path, fd }: Segment, isLast: boolean, target: string): string {
  const name = `journal/${basename(path)}`;
  const bytes = readFileSync(fd);
  const copy = openPrivateFile(join(target, name), "wx");
  try {
    writeFileSync(copy, isLast ? bytes.subarray(0, bytes.lastIndexOf(LINE_FEED) + 1) : bytes);
  } finally {
    closeSync(copy);
  }
  return name;
}
