import { promisify } from "node:util";
import { brotliCompress, constants, zstdCompress } from "node:zlib";
import type { Coding } from "#http/door/negotiation.ts";
import type { PageFile } from "./file.ts";

export interface EncodedFile extends PageFile {
  readonly encoded: Readonly<Record<Coding, Uint8Array>>;
}

/** Every file in every coding that is served, each as small as it gets: it is done once, here, and never for a request. */
export async function encodeFiles(files: readonly PageFile[]): Promise<readonly EncodedFile[]> {
  return await Promise.all(
    files.map(async (file) => {
      const [br, zstd] = await Promise.all([compressBrotli(file.bytes), compressZstd(file.bytes)]);
      return { ...file, encoded: { br, zstd, gzip: compressGzip(file.bytes), identity: file.bytes } };
    }),
  );
}

function compressBrotli(bytes: Uint8Array): Promise<Uint8Array> {
  return promisify(brotliCompress)(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
    },
  });
}

/** Above level 19 a decoder may need a window that browsers refuse (RFC 9659: 8 MiB). */
const ZSTD_LEVEL = 19;

function compressZstd(bytes: Uint8Array): Promise<Uint8Array> {
  return promisify(zstdCompress)(bytes, { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
}

/** libdeflate's highest, above those of zlib. */
const GZIP_LEVEL = 12;

function compressGzip(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  return Bun.gzipSync(bytes, { library: "libdeflate", level: GZIP_LEVEL });
}
