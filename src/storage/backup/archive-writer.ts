import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress } from "node:zlib";
import { encodeSeal } from "./seal.ts";
import { encodeTarHeader, TAR_BLOCK_BYTES, tarPaddingBytes } from "./tar.ts";

/** Two blocks of zeros end an archive. */
const END = Buffer.alloc(2 * TAR_BLOCK_BYTES);

export interface ArchiveEntry {
  readonly name: string;
  readonly sizeBytes: number;
  /** The file that holds it, or its bytes. */
  readonly content: string | Uint8Array;
}

export interface ArchiveWriting {
  readonly modifiedAtSeconds: number;
  /** Fulfilled when the bytes are taken. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  /** Bytes of content that went in so far. */
  readonly onRead: (doneBytes: number) => void;
  readonly signal: AbortSignal;
  /** The MAC of the archive's SHA-256; null where there is no secret key to make one with. */
  readonly toMac: (sha256: Uint8Array) => Uint8Array | null;
}

/** The entries as a tar archive, compressed with Zstandard and sealed. `tar --zstd -x` unpacks it as well. */
export async function writeArchive(
  entries: readonly ArchiveEntry[],
  { modifiedAtSeconds, write, onRead, signal, toMac }: ArchiveWriting,
): Promise<void> {
  const hasher = new Bun.CryptoHasher("sha256");
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  await pipeline(
    toTar(entries, { modifiedAtSeconds, onRead }),
    compress,
    async (compressed: AsyncIterable<Uint8Array>) => {
      for await (const bytes of compressed) {
        hasher.update(bytes);
        await write(bytes);
      }
    },
    { signal },
  );
  const sha256 = hasher.digest();
  await write(encodeSeal(sha256, toMac(sha256)));
}

async function* toTar(
  entries: readonly ArchiveEntry[],
  { modifiedAtSeconds, onRead }: Pick<ArchiveWriting, "modifiedAtSeconds" | "onRead">,
): AsyncGenerator<Uint8Array> {
  let doneBytes = 0;
  for (const entry of entries) {
    yield encodeTarHeader(entry, modifiedAtSeconds);
    let written = 0;
    for await (const bytes of readContent(entry.content)) {
      written += bytes.length;
      doneBytes += bytes.length;
      onRead(doneBytes);
      yield bytes;
    }
    // The header has gone already: a file that changed its size would shift everything behind it.
    if (written !== entry.sizeBytes) throw new Error(`${entry.name} changed while it was read`);
    yield Buffer.alloc(tarPaddingBytes(entry.sizeBytes));
  }
  yield END;
}

async function* readContent(content: string | Uint8Array): AsyncGenerator<Uint8Array> {
  if (typeof content !== "string") {
    yield content;
    return;
  }
  for await (const bytes of createReadStream(content, { highWaterMark: 256 * 1024 })) {
    if (bytes instanceof Uint8Array) yield bytes;
  }
}
