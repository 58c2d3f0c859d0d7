import { promisify } from "node:util";
import { brotliCompress, constants, gzip, zstdCompress } from "node:zlib";
import { type Coding, negotiateCoding } from "./negotiation.ts";

/** A smaller answer gains nothing: it fills a packet or two as it is. */
const COMPRESSED_BYTES_MIN = 1_024;
/** A larger answer goes out as it is: no list is larger, and large reports come compressed from their reader. */
const COMPRESSED_BYTES_MAX = 8 * 1024 * 1024;

/** The quickest to make first: answers are made once and sent once. */
const OFFERED: readonly Coding[] = ["zstd", "br", "gzip", "identity"];

const READING: ReadonlySet<string> = new Set(["GET", "HEAD"]);

type Compress = (bytes: Uint8Array) => Promise<Uint8Array<ArrayBuffer>>;

/** On threads of the runtime: the serving thread goes on meanwhile. */
const COMPRESS: { readonly [coding in Exclude<Coding, "identity">]: Compress } = {
  zstd: promisify<Uint8Array, Buffer<ArrayBuffer>>(zstdCompress),
  br: (bytes) => brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (bytes) => deflate(bytes, { level: 4 }),
};
const brotli = promisify(brotliCompress);
const deflate = promisify(gzip);

export interface Compression {
  compressAnswer(this: void, request: Request, response: Response): Promise<Response>;
}

/**
 * A JSON answer to a GET in the coding that its caller prefers. Nothing else is compressed: answers that hold a secret (a key
 * that was made or rotated, a sign-in) come to other methods, and the length of one that also holds what an attacker has
 * chosen would tell it (BREACH). Not for the data plane, whose bytes are the upstream's. A HEAD says that a GET's answer
 * varies, and has nothing left to compress: its length is that of the plain answer.
 */
export async function compressAnswer(request: Request, response: Response): Promise<Response> {
  const { headers, status } = response;
  const isJson = headers.get("content-type")?.startsWith("application/json") === true;
  if (!READING.has(request.method) || status !== 200 || !isJson) return response;
  addVary(headers, "accept-encoding");
  if (request.method === "HEAD" || headers.has("content-encoding")) return response;
  const coding = negotiateCoding(request.headers, OFFERED);
  if (coding === "identity") return response;
  const bytes = await response.bytes();
  const isCompressed = bytes.length >= COMPRESSED_BYTES_MIN && bytes.length <= COMPRESSED_BYTES_MAX;
  if (isCompressed) headers.set("content-encoding", coding);
  return new Response(isCompressed ? await COMPRESS[coding](bytes) : bytes, { headers });
}

function addVary(headers: Headers, name: string): void {
  const known = headers.get("vary");
  if (known?.split(",").some((one) => one.trim().toLowerCase() === name) === true) return;
  headers.set("vary", known === null ? name : `${known}, ${name}`);
}
