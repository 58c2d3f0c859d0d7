import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { createZstdDecompress } from "node:zlib";
import { systemCode } from "#kernel/system-code.ts";
import { makePrivateFile } from "#storage/files/private-file.ts";
import { MANIFEST_NAME, parseManifest, type BackupManifest, type BackupPart } from "./manifest.ts";
import { parseTarHeader, TAR_BLOCK_BYTES, tarPaddingBytes, type TarHeader } from "./tar.ts";

const MANIFEST_BYTES_MAX = 4 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** A backup that is not what its seal or its manifest says: nothing of it can be used. */
export class BackupFormatError extends Error {
  override readonly name = "BackupFormatError";
}

export interface ArchiveReading {
  /** Bytes of the compressed archive, without its seal. */
  readonly archiveBytes: number;
  readonly signal: AbortSignal;
}

/** The manifest alone. Throws `BackupFormatError`, and `SetupError` for a later format. */
export async function readManifest(path: string, reading: ArchiveReading): Promise<BackupManifest> {
  let found: BackupManifest | null = null;
  await readTar(path, reading, async (source) => {
    found = await takeManifest(source);
  });
  return found ?? fail("it has no manifest");
}

export interface Unpacking extends ArchiveReading {
  /** The hash that was checked with the seal: the file may have been replaced meanwhile. */
  readonly sha256: Uint8Array;
  /** Where a part goes; its folder exists. */
  readonly toPath: (name: string) => string;
  readonly onWritten: (doneBytes: number) => void;
}

/**
 * Writes every part to its place, mode 0600 and synced. Throws `BackupFormatError` unless the archive holds exactly the
 * parts of its manifest, each with its size, ends where it should, and is the file whose seal was checked.
 */
export async function unpackArchive(path: string, unpacking: Unpacking): Promise<void> {
  let isComplete = false;
  const sha256 = await readTar(path, unpacking, async (source) => {
    const { parts } = await takeManifest(source);
    let doneBytes = 0;
    for (const part of parts) {
      const header = await takeHeader(source);
      if (header?.name !== part.name || header.sizeBytes !== part.sizeBytes) {
        fail(`${part.name} is not where its manifest says`);
      }
      const written = (sizeBytes: number) => {
        doneBytes += sizeBytes;
        unpacking.onWritten(doneBytes);
      };
      await writePart(source, part, { path: unpacking.toPath(part.name), written });
    }
    if ((await takeHeader(source)) !== null) fail("it holds more than its manifest says");
    await source.takeRest();
    isComplete = true;
  });
  if (!isComplete) fail("it is cut off");
  if (!sha256.equals(unpacking.sha256)) fail("it was altered while it was read");
}

async function writePart(
  source: ByteSource,
  part: BackupPart,
  to: { readonly path: string; readonly written: (sizeBytes: number) => void },
): Promise<void> {
  makePrivateFile(to.path);
  const file = await open(to.path, "r+");
  try {
    for (let left = part.sizeBytes; left > 0;) {
      const bytes = await source.takeSome(left);
      await file.writeFile(bytes);
      left -= bytes.length;
      to.written(bytes.length);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  await source.take(tarPaddingBytes(part.sizeBytes));
}

async function takeManifest(source: ByteSource): Promise<BackupManifest> {
  const header = await takeHeader(source);
  if (header?.name !== MANIFEST_NAME || header.sizeBytes > MANIFEST_BYTES_MAX) fail("it has no manifest");
  const bytes = await source.take(header.sizeBytes);
  await source.take(tarPaddingBytes(header.sizeBytes));
  return parseManifest(bytes) ?? fail("its manifest cannot be read");
}

async function takeHeader(source: ByteSource): Promise<TarHeader | null> {
  const block = await source.take(TAR_BLOCK_BYTES);
  try {
    return parseTarHeader(block);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    return fail(`it holds ${cause.message}`);
  }
}

/** `visit` may stop wherever it has seen enough. Returns the SHA-256 of the compressed bytes that were read. */
async function readTar(
  path: string,
  { archiveBytes, signal }: ArchiveReading,
  visit: (source: ByteSource) => Promise<void>,
): Promise<Buffer> {
  const hasher = new Bun.CryptoHasher("sha256");
  const file = createReadStream(path, { end: archiveBytes - 1, highWaterMark: CHUNK_BYTES });
  const tar = createZstdDecompress({ chunkSize: CHUNK_BYTES });
  // Not by `pipeline`, which takes a reader that stops early for a failure.
  file.on("error", (cause) => tar.destroy(cause));
  file.on("data", (bytes) => hasher.update(bytes));
  file.pipe(tar);
  try {
    await visit(new ByteSource(tar, signal));
  } catch (cause) {
    if (systemCode(cause)?.startsWith("ZSTD_") === true) fail("it cannot be decompressed");
    throw cause;
  } finally {
    file.destroy();
    tar.destroy();
  }
  return hasher.digest();
}

function fail(what: string): never {
  throw new BackupFormatError(what);
}

/** Bytes of a stream, asked for by number. */
class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #signal: AbortSignal;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#signal = signal;
  }

  /** Exactly so many. */
  async take(sizeBytes: number): Promise<Buffer> {
    const taken: Buffer[] = [];
    for (let left = sizeBytes; left > 0;) {
      const bytes = await this.takeSome(left);
      taken.push(bytes);
      left -= bytes.length;
    }
    return Buffer.concat(taken);
  }

  /** To the end, whatever it holds. */
  async takeRest(): Promise<void> {
    while ((await this.#chunks.next()).done !== true) this.#signal.throwIfAborted();
  }

  /** At least one and at most so many. */
  async takeSome(sizeBytesMax: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      this.#signal.throwIfAborted();
      const next: IteratorResult<Uint8Array, unknown> = await this.#chunks.next();
      if (next.done === true) return fail("it is cut off");
      const { buffer, byteOffset, byteLength } = next.value;
      this.#rest = Buffer.from(buffer, byteOffset, byteLength);
    }
    const bytes = this.#rest.subarray(0, sizeBytesMax);
    this.#rest = this.#rest.subarray(bytes.length);
    return bytes;
  }
}
