import { ProxyError } from "#kernel/errors.ts";

/**
 * The tokens of JSON (RFC 8259), by their bytes: each function takes where one begins and tells where it ends.
 * All throw `invalid_json`.
 */

/** 1 for the bytes that end the plain part of a string: `"`, `\` and the controls, which may not stand in one. */
const ENDS_PLAIN_TEXT = new Uint8Array(256).fill(1, 0, 0x20);
ENDS_PLAIN_TEXT[0x22] = 1;
ENDS_PLAIN_TEXT[0x5c] = 1;

export function skipBlank(text: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = text[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at += 1;
  }
}

export function skipString(text: Uint8Array, from: number): number {
  const size = text.length;
  let at = from + 1;
  for (;;) {
    while (at < size && ENDS_PLAIN_TEXT[text[at] ?? 0] === 0) at += 1;
    if (at >= size) refuse("a string has no end");
    const byte = text[at];
    if (byte === 0x22) return at + 1;
    if (byte !== 0x5c) refuse("a string holds a control character");
    at = skipEscape(text, at);
  }
}

function skipEscape(text: Uint8Array, backslashAt: number): number {
  switch (text[backslashAt + 1]) {
    case 0x22: // "
    case 0x5c: // \
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return backslashAt + 2;
    case 0x75: // u
      for (let at = backslashAt + 2; at < backslashAt + 6; at += 1) {
        if (!isHexDigit(text[at])) refuse("a string holds a broken escape");
      }
      return backslashAt + 6;
    default:
      return refuse("a string holds an unknown escape");
  }
}

/** The UTF-16 code unit that an escape stands for. The escape must come from a string that was skipped. */
export function readEscape(text: Uint8Array, backslashAt: number): number {
  const letter = text[backslashAt + 1] ?? 0;
  if (letter !== 0x75) return SHORT_ESCAPES[letter] ?? 0;
  let unit = 0;
  for (let at = backslashAt + 2; at < backslashAt + 6; at += 1) unit = unit * 16 + toHexValue(text[at] ?? 0);
  return unit;
}

export function escapeLength(text: Uint8Array, backslashAt: number): number {
  return text[backslashAt + 1] === 0x75 ? 6 : 2;
}

/** The code unit of a character that is no escape, in valid UTF-8; 0 for one beyond the first plane, which no name has. */
export function readPlainUnit(text: Uint8Array, at: number): number {
  const lead = text[at] ?? 0;
  if (lead < 0x80) return lead;
  const second = (text[at + 1] ?? 0) & 0x3f;
  if (lead < 0xe0) return ((lead & 0x1f) << 6) | second;
  return lead < 0xf0 ? ((lead & 0x0f) << 12) | (second << 6) | ((text[at + 2] ?? 0) & 0x3f) : 0;
}

export function plainUnitLength(lead: number): number {
  if (lead < 0x80) return 1;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/**
 * Unicode's simple case folding (CaseFolding.txt, status C and S) of the characters that fold to ASCII: its capitals, the long s and
 * the Kelvin sign. Any other stays as it is.
 */
export function foldToAscii(unit: number): number {
  if (unit >= 0x41 && unit <= 0x5a) return unit + 0x20;
  if (unit === LONG_S) return 0x73;
  return unit === KELVIN_SIGN ? 0x6b : unit;
}

const LONG_S = 0x17f;
const KELVIN_SIGN = 0x212a;

/** What a backslash and this byte stand for. */
const SHORT_ESCAPES = new Uint8Array(256);
SHORT_ESCAPES[0x22] = 0x22; // "
SHORT_ESCAPES[0x5c] = 0x5c; // \
SHORT_ESCAPES[0x2f] = 0x2f; // /
SHORT_ESCAPES[0x62] = 0x08; // b
SHORT_ESCAPES[0x66] = 0x0c; // f
SHORT_ESCAPES[0x6e] = 0x0a; // n
SHORT_ESCAPES[0x72] = 0x0d; // r
SHORT_ESCAPES[0x74] = 0x09; // t

/** The value of a hexadecimal digit. The low four bits of a letter are its place in the alphabet: A is 1, and stands for 10. */
function toHexValue(digit: number): number {
  return digit <= 0x39 ? digit - 0x30 : (digit & 0x0f) + 9;
}

export function skipWord(text: Uint8Array, from: number, word: string): number {
  for (let index = 0; index < word.length; index += 1) {
    if (text[from + index] !== word.charCodeAt(index)) refuse("it holds an unknown word");
  }
  return from + word.length;
}

export function skipNumber(text: Uint8Array, from: number): number {
  let at = text[from] === 0x2d ? from + 1 : from;
  if (text[at] === 0x30) at += 1;
  else at = skipDigits(text, at);
  if (text[at] === 0x2e) at = skipDigits(text, at + 1);
  if (text[at] === 0x65 || text[at] === 0x45) {
    at += 1;
    if (text[at] === 0x2b || text[at] === 0x2d) at += 1;
    at = skipDigits(text, at);
  }
  return at;
}

function skipDigits(text: Uint8Array, from: number): number {
  let at = from;
  while (isDigit(text[at])) at += 1;
  if (at === from) refuse("a value is missing or is not one");
  return at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isHexDigit(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

/** Says what is wrong, never where or with which characters: the body is content. */
export function refuse(what: string): never {
  throw new ProxyError("invalid_json", `The request body is not valid JSON: ${what}.`);
}
