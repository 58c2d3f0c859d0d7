import { basename, extname } from "node:path";
import { toHash } from "./names.ts";

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
