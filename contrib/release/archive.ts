import { gzipSync } from "node:zlib";
import { zipSync } from "fflate";
import { encodeTarHeader, TAR_BLOCK_BYTES, tarPaddingBytes } from "#storage/backup/tar.ts";

export interface ArchivedFile {
  /** Below the archive's only folder. */
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isExecutable?: boolean;
}

export interface ArchiveContents {
  /** The folder that all files lie in. */
  readonly folder: string;
  readonly files: readonly ArchivedFile[];
  /** All files have this one: an archive of the same files at another time is the same bytes. */
  readonly modifiedAtSeconds: number;
}

const COMPRESSION_LEVEL = 9;
/** Byte 9 of a gzip file is the system that made it (RFC 1952, section 2.3.1); 3 is Unix. */
const GZIP_OS_AT = 9;
const UNIX = 3;
const REGULAR_FILE = 0o100_000;
/** Before it a zip has no dates. */
const ZIP_EPOCH_SECONDS = Date.UTC(1980, 0, 2) / 1000;

/** A gzipped ustar archive. */
export function toTarGz({ folder, files, modifiedAtSeconds }: ArchiveContents): Uint8Array<ArrayBuffer> {
  const entries = files.flatMap((file) => [
    encodeTarHeader(
      { name: `${folder}/${file.name}`, sizeBytes: file.bytes.length },
      modifiedAtSeconds,
      toMode(file),
    ),
    file.bytes,
    Buffer.alloc(tarPaddingBytes(file.bytes.length)),
  ]);
  const tar = Buffer.concat([...entries, Buffer.alloc(2 * TAR_BLOCK_BYTES)]);
  const gzip = gzipSync(tar, { level: COMPRESSION_LEVEL });
  gzip[GZIP_OS_AT] = UNIX;
  return gzip;
}

/** A zip has local times without a zone: the same bytes come out where TZ is UTC. */
export function toZip({ folder, files, modifiedAtSeconds }: ArchiveContents): Uint8Array<ArrayBuffer> {
  const mtime = new Date(Math.max(modifiedAtSeconds, ZIP_EPOCH_SECONDS) * 1000);
  const entries = files.map((file) => [
    `${folder}/${file.name}`,
    [file.bytes, { mtime, os: UNIX, attrs: ((REGULAR_FILE | toMode(file)) << 16) >>> 0 }] as const,
  ]);
  return zipSync(Object.fromEntries(entries), { level: COMPRESSION_LEVEL });
}

function toMode({ isExecutable = false }: ArchivedFile): number {
  return isExecutable ? 0o755 : 0o644;
}
