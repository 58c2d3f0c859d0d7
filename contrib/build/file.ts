import { basename, extname } from "node:path";
import { toHash } from "./names.ts";
import { promisify } from "node:util";
import { brotliCompress, constants, zstdCompress } from "node:zlib";
import type { Coding } from "#http/door/negotiation.ts";

export interface PageFile {
  /** The path that a browser asks for: `/` is the html, all others are `/assets/<name>-<hash>.<extension>`. */
  readonly path: string;
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** A first visit of the first page fetches it. */
  readonly isFirstLoad: boolean;
}

const CONTENT_TYPES: { readonly [extension: string]: string } = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

/** By its extension, `.js`. Throws where none is known. */
export function contentTypeOf(extension: string): string {
  const type = CONTENT_TYPES[extension];
  if (type === undefined) {
    throw new Error(`no content type is known for ${extension} files: add it to contrib/build/file.ts`);
  }
  return type;
}

/** A file that is named after its source and its content. */
export function toPageFile(
  source: string,
  bytes: Uint8Array<ArrayBuffer>,
  { extension = extname(source), isFirstLoad = false } = {},
): PageFile {
  const path = `/assets/${basename(source, extname(source))}-${toHash(bytes)}${extension}`;
  return { path, contentType: contentTypeOf(extension), bytes, isFirstLoad };
}

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
