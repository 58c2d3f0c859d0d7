import { decodeShort, isPlain } from "./decode.ts";
import { joinPieces } from "#kernel/bytes.ts";
import type { UpstreamHead } from "./upstream-head.ts";

/** A shorter one is a stand-in for none, such as `x`, and would be found in any text. */
export const MASKED_LENGTH_MIN = 4;

const ASTERISK = 0x2a;

/**
 * Puts asterisks in place of the provider's credential where an error answer repeats it, in its body and in what of its
 * headers goes on (decisions, amendments): the one exception to passing bytes on unchanged. Takes the body in its pieces, and
 * returns the pieces to send. A compressed body that holds the credential is sent decoded; one that is longer than
 * `decodeShort` reads, or of an unknown coding, goes on as it is.
 */
export function maskCredential(
  { headers, contentEncoding }: UpstreamHead,
  credential: string | null,
  pieces: readonly Uint8Array[],
): readonly Uint8Array[] {
  if (credential === null || credential.length < MASKED_LENGTH_MIN) return pieces;
  maskHeaders(headers, credential);
  const secret = Buffer.from(credential);
  if (contentEncoding === null || isPlain(contentEncoding)) {
    maskPieces(pieces, secret);
    return pieces;
  }
  const decoded = decodeShort(contentEncoding, joinPieces(pieces));
  if (decoded === null || !maskPieces([decoded], secret)) return pieces;
  headers.delete("content-encoding");
  return [decoded];
}

function maskHeaders(headers: Headers, credential: string): void {
  const masked: [string, string][] = [];
  headers.forEach((value, name) => {
    if (value.includes(credential))
      masked.push([name, value.replaceAll(credential, "*".repeat(credential.length))]);
  });
  for (const [name, value] of masked) headers.set(name, value);
}

/** True when the secret was found, also across pieces. In place: the pieces belong to this answer alone. */
function maskPieces(pieces: readonly Uint8Array[], secret: Uint8Array): boolean {
  const [first = 0] = secret;
  const fallbacks = toFallbacks(secret);
  let matchedBytes = 0;
  let isFound = false;
  for (const [index, piece] of pieces.entries()) {
    for (let at = 0; at < piece.length; at += 1) {
      if (matchedBytes === 0) {
        at = piece.indexOf(first, at);
        if (at === -1) break;
      }
      while (matchedBytes > 0 && piece[at] !== secret[matchedBytes])
        matchedBytes = fallbacks[matchedBytes - 1] ?? 0;
      if (piece[at] === secret[matchedBytes]) matchedBytes += 1;
      if (matchedBytes < secret.length) continue;
      fillBefore(pieces, { index, end: at + 1, bytes: secret.length });
      matchedBytes = 0;
      isFound = true;
    }
  }
  return isFound;
}

/** For each beginning of the secret, how much of its end is a beginning too (Knuth, Morris and Pratt). */
function toFallbacks(secret: Uint8Array): readonly number[] {
  const fallbacks = [0];
  for (let at = 1, length = 0; at < secret.length; at += 1) {
    while (length > 0 && secret[at] !== secret[length]) length = fallbacks[length - 1] ?? 0;
    if (secret[at] === secret[length]) length += 1;
    fallbacks.push(length);
  }
  return fallbacks;
}

interface Stretch {
  /** The piece in which it ends, and where in it. */
  readonly index: number;
  readonly end: number;
  readonly bytes: number;
}

function fillBefore(pieces: readonly Uint8Array[], { index, end, bytes }: Stretch): void {
  const piece = pieces[index];
  if (piece === undefined) return;
  const from = Math.max(0, end - bytes);
  piece.fill(ASTERISK, from, end);
  const restBytes = bytes - (end - from);
  if (restBytes > 0)
    fillBefore(pieces, { index: index - 1, end: pieces[index - 1]?.length ?? 0, bytes: restBytes });
}
