import { open } from "node:fs/promises";

/**
 * The seal stands behind the compressed archive: a skippable frame of Zstandard (RFC 8878, section 3.1.2), which every
 * decompressor passes over, with the SHA-256 of all bytes before it, which tells a file that was cut or altered, and an
 * HMAC of that by the installation's secret, which tells one that another program made. It is all zeros where a backup was made
 * without the secret key.
 */
const MAGIC = 0x184d2a50;
const HEADER_BYTES = 8;
const HASH_BYTES = 32;
const CONTENT_BYTES = 2 * HASH_BYTES;
export const SEAL_BYTES = HEADER_BYTES + CONTENT_BYTES;
const NO_MAC = Buffer.alloc(HASH_BYTES);
const READ_BYTES = 1024 * 1024;

/** The first bytes of a Zstandard frame. */
const ZSTD_MAGIC = 0xfd2fb528;

/** `mac` is null where there is no secret key. */
export function encodeSeal(sha256: Uint8Array, mac: Uint8Array | null): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(MAGIC, 0);
  header.writeUInt32LE(CONTENT_BYTES, 4);
  return Buffer.concat([header, sha256, mac ?? NO_MAC]);
}

/** A seal whose hash holds. Its MAC is for the caller to check. */
export interface Seal {
  readonly kind: "holds";
  /** Bytes of the compressed archive, without the seal. */
  readonly archiveBytes: number;
  readonly sha256: Uint8Array;
  readonly mac: Uint8Array | null;
}

export type SealState =
  | Seal
  /** Begins as a backup does, and is cut or altered. */
  | { readonly kind: "broken" }
  | { readonly kind: "foreign" };

export interface SealProgress {
  readonly onRead: (doneBytes: number, sizeBytes: number) => void;
  readonly signal: AbortSignal;
}

/** Reads the whole file. Throws what the file system does, and the signal's reason when it aborts. */
export async function checkSeal(path: string, { onRead, signal }: SealProgress): Promise<SealState> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const archiveBytes = Math.max(0, size - SEAL_BYTES);
    const seal = Buffer.alloc(SEAL_BYTES);
    await file.read(seal, 0, SEAL_BYTES, archiveBytes);
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
    const sha256 = hasher.digest();
    const mac = seal.subarray(-HASH_BYTES);
    if (!seal.equals(encodeSeal(sha256, mac))) return { kind: "broken" };
    return { kind: "holds", archiveBytes, sha256, mac: mac.equals(NO_MAC) ? null : mac };
  } finally {
    await file.close();
  }
}

/** True for the first bytes of a file that may be a backup; at least four. */
export function isArchiveStart(bytes: Buffer): boolean {
  return bytes.length >= 4 && bytes.readUInt32LE(0) === ZSTD_MAGIC;
}
