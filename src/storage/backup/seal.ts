import { open } from "node:fs/promises";

/**
 * What stands behind the compressed archive: a skippable frame of Zstandard (RFC 8878, section 3.1.2), which every
 * decompressor passes over, with the SHA-256 of all bytes before it. A file that was cut or altered anywhere does not
 * hold to it; the decompressor alone takes a cut file for a whole one.
 */
export const SEAL_BYTES = 40;
const SKIPPABLE_MAGIC = 0x184d2a50;
const SHA256_BYTES = 32;
const READ_BYTES = 1024 * 1024;

/** The first bytes of a Zstandard frame. */
const ZSTD_MAGIC = 0xfd2fb528;

export function encodeSeal(sha256: Uint8Array): Buffer {
  const seal = Buffer.alloc(SEAL_BYTES);
  seal.writeUInt32LE(SKIPPABLE_MAGIC, 0);
  seal.writeUInt32LE(SHA256_BYTES, 4);
  seal.set(sha256, 8);
  return seal;
}

export type SealState =
  | { readonly kind: "holds"; readonly archiveBytes: number }
  /** Begins as a backup does, and is cut or altered. */
  | { readonly kind: "broken" }
  | { readonly kind: "foreign" };

export interface SealWatch {
  readonly onRead: (doneBytes: number, sizeBytes: number) => void;
  readonly signal: AbortSignal;
}

/** Reads the whole file. Throws what the file system does, and the signal's reason when it aborts. */
export async function checkSeal(path: string, { onRead, signal }: SealWatch): Promise<SealState> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const archiveBytes = size - SEAL_BYTES;
    const buffer = Buffer.alloc(READ_BYTES);
    const hasher = new Bun.CryptoHasher("sha256");
    for (let at = 0; at < archiveBytes;) {
      signal.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, Math.min(READ_BYTES, archiveBytes - at), at);
      if (bytesRead === 0) return { kind: "broken" };
      if (at === 0 && !isArchiveStart(buffer.subarray(0, bytesRead))) return { kind: "foreign" };
      hasher.update(buffer.subarray(0, bytesRead));
      at += bytesRead;
      onRead(at, archiveBytes);
    }
    if (archiveBytes < 4) return { kind: "foreign" };
    const seal = Buffer.alloc(SEAL_BYTES);
    await file.read(seal, 0, SEAL_BYTES, archiveBytes);
    return seal.equals(encodeSeal(hasher.digest())) ? { kind: "holds", archiveBytes } : { kind: "broken" };
  } finally {
    await file.close();
  }
}

/** Whether a file that begins so may be a backup; at least four bytes. */
export function isArchiveStart(bytes: Buffer): boolean {
  return bytes.length >= 4 && bytes.readUInt32LE(0) === ZSTD_MAGIC;
}
