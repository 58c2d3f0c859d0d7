import { open, type FileHandle } from "node:fs/promises";

/**
 * The seal stands behind the compressed archive: a skippable frame of Zstandard (RFC 8878, section 3.1.2), which every
 * decompressor passes over, with the SHA-256 of all bytes before it, which tells a file that was cut or altered, and an
 * HMAC of that by the installation's secret, which tells one that another program made. A backup that was made without the
 * secret key has another frame, without the HMAC.
 */
const FRAMES = {
  plain: { magic: 0x184d2a50, contentBytes: 32 },
  authenticated: { magic: 0x184d2a51, contentBytes: 64 },
} as const;
const HEADER_BYTES = 8;
const SHA256_BYTES = 32;
const READ_BYTES = 1024 * 1024;

/** The first bytes of a Zstandard frame. */
const ZSTD_MAGIC = 0xfd2fb528;

/** `mac` is null where there is no secret key. */
export function encodeSeal(sha256: Uint8Array, mac: Uint8Array | null): Buffer {
  const frame = mac === null ? FRAMES.plain : FRAMES.authenticated;
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(frame.magic, 0);
  header.writeUInt32LE(frame.contentBytes, 4);
  return Buffer.concat([header, sha256, mac ?? new Uint8Array()]);
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
    const { archiveBytes, content } = await readSeal(file, size);
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
    if (content === null || !content.subarray(0, SHA256_BYTES).equals(sha256)) return { kind: "broken" };
    const mac = content.length > SHA256_BYTES ? content.subarray(SHA256_BYTES) : null;
    return { kind: "holds", archiveBytes, sha256, mac };
  } finally {
    await file.close();
  }
}

/** Reads the seal at the end of the file; null when there is none, and the archive is then taken for as long as with the shorter one. */
async function readSeal(
  file: FileHandle,
  fileBytes: number,
): Promise<{ readonly archiveBytes: number; readonly content: Buffer | null }> {
  for (const { magic, contentBytes } of [FRAMES.authenticated, FRAMES.plain]) {
    const seal = Buffer.alloc(HEADER_BYTES + contentBytes);
    const archiveBytes = fileBytes - seal.length;
    if (archiveBytes < 0) continue;
    await file.read(seal, 0, seal.length, archiveBytes);
    if (seal.readUInt32LE(0) !== magic || seal.readUInt32LE(4) !== contentBytes) continue;
    return { archiveBytes, content: seal.subarray(HEADER_BYTES) };
  }
  return { archiveBytes: fileBytes - HEADER_BYTES - SHA256_BYTES, content: null };
}

/** True for the first bytes of a file that may be a backup; at least four. */
export function isArchiveStart(bytes: Buffer): boolean {
  return bytes.length >= 4 && bytes.readUInt32LE(0) === ZSTD_MAGIC;
}
