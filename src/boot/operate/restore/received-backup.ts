import { statfsSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { isArchiveStart } from "#storage/backup/seal.ts";
import { PRIVATE_FILE_MODE } from "#storage/files/data-files.ts";
import type { Watch } from "#boot/operate/backup/backup.ts";

const START_BYTES = 4;
/** Left free on the disk, for whatever else lives there. */
const RESERVE_BYTES = 64 * 1024 * 1024;
/** How much is taken between two looks at the disk. */
const LOOK_BYTES = 8 * 1024 * 1024;

/**
 * Writes a backup that comes as a stream to `path`, which must not exist: reading one needs its end first. Throws a
 * `SetupError` when it does not begin as a backup, and before it fills the disk.
 */
export async function receiveBackup(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
  { step, signal }: Watch,
): Promise<void> {
  const file = await open(path, "wx", PRIVATE_FILE_MODE);
  try {
    let start = Buffer.alloc(0);
    let receivedBytes = 0;
    let lookedAtBytes = -LOOK_BYTES;
    for await (const bytes of untilAborted(chunks, signal)) {
      if (start.length < START_BYTES) {
        start = Buffer.concat([start, bytes]).subarray(0, START_BYTES);
        requireStart(start);
      }
      if (receivedBytes - lookedAtBytes >= LOOK_BYTES) {
        requireRoom(dirname(path), bytes.length);
        lookedAtBytes = receivedBytes;
      }
      await file.writeFile(bytes);
      receivedBytes += bytes.length;
      step(`receiving the backup, ${Math.floor(receivedBytes / 1e6)} MB`, null);
    }
  } finally {
    await file.close();
  }
}

function requireStart(start: Buffer): void {
  if (start.length < START_BYTES || isArchiveStart(start)) return;
  throw new SetupError(
    "failure",
    "What comes on stdin is no backup of lockport: send what lockport backup wrote.",
  );
}

function requireRoom(folder: string, sizeBytes: number): void {
  const { bavail, bsize, blocks } = statfsSync(folder);
  if (blocks === 0 || bavail * bsize > RESERVE_BYTES + LOOK_BYTES + sizeBytes) return;
  throw new SetupError(
    "failure",
    `The disk of ${folder} has no room for the backup on stdin: make room, or restore to another disk.`,
  );
}

/** Ends a read as well that waits for a sender which sends nothing. */
async function* untilAborted(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await Promise.race([iterator.next(), aborted.promise]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
