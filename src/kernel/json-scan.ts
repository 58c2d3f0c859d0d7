import { isUtf8 } from "node:buffer";
import { ProxyError } from "./errors.ts";

/** Where a value stands in a text: `[start, end)`, in bytes. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One member of the scanned object whose key, unescaped, is one of the names asked for. */
export interface Member extends Span {
  readonly name: string;
  /** How many items the value has when it is an array, else null. */
  readonly itemCount: number | null;
}

export interface ScannedObject {
  readonly kind: "object";
  /** In the order in which they stand; a name that occurs twice is here twice. */
  readonly members: readonly Member[];
  /** Where the closing brace stands. */
  readonly closingAt: number;
  /** True when it has no member at all, named or not. */
  readonly empty: boolean;
}

export type ScannedText = ScannedObject | { readonly kind: "other" };

/**
 * Named members may occur this often in all. Each is rewritten on its way upstream, and without a limit a body of 64 MiB
 * could name its model six million times and be made to grow hundredfold.
 */
export const NAMED_MEMBERS_MAX = 64;

const STACK_DEPTH_INITIAL = 64;
const IN_ARRAY = 1;
const IN_OBJECT = 2;

/** 1 for the bytes that end the plain part of a string: `"`, `\` and the controls, which may not stand in one. */
const ENDS_PLAIN_TEXT = new Uint8Array(256).fill(1, 0, 0x20);
ENDS_PLAIN_TEXT[0x22] = 1;
ENDS_PLAIN_TEXT[0x5c] = 1;

/**
 * Validates a whole JSON text (RFC 8259, UTF-8, no byte-order mark) and tells where the named members of its outermost
 * object stand. Nothing is decoded or built, and nothing recurses: 100,000 levels cost 100,000 bytes of stack of its own.
 * Agrees with `JSON.parse` about what is valid. Throws `invalid_json`.
 */
export function scanJson(text: Uint8Array, names: readonly string[]): ScannedText {
  if (!isUtf8(text)) refuse("it is not UTF-8");
  const size = text.length;
  const members: Member[] = [];
  let stack = new Uint8Array(STACK_DEPTH_INITIAL);
  let depth = 0;
  let at = skipBlank(text, 0);
  const kind = text[at] === 0x7b ? "object" : "other";
  let empty = true;
  let closingAt = 0;

  // The named member of the outermost object whose value is being read.
  let member: string | null = null;
  let memberStart = 0;
  let itemCount: number | null = null;

  for (;;) {
    // A value begins here. An opening bracket goes round again; everything else leaves `at` behind a complete value.
    const lead = text[at];
    let opened = false;
    if (lead === 0x22) {
      at = skipString(text, at);
    } else if (lead === 0x7b || lead === 0x5b) {
      if (depth === stack.length) stack = grow(stack);
      stack[depth] = lead === 0x7b ? IN_OBJECT : IN_ARRAY;
      depth += 1;
      at = skipBlank(text, at + 1);
      if (depth === 2 && member !== null && lead === 0x5b) itemCount = 0;
      opened = text[at] !== (lead === 0x7b ? 0x7d : 0x5d);
      if (!opened) {
        depth -= 1;
        if (depth === 0) closingAt = at;
        at += 1;
      }
    } else if (lead === 0x74) {
      at = skipWord(text, at, "true");
    } else if (lead === 0x66) {
      at = skipWord(text, at, "false");
    } else if (lead === 0x6e) {
      at = skipWord(text, at, "null");
    } else {
      at = skipNumber(text, at);
    }

    // Behind a value: close what ends here, then go on to the next value.
    while (!opened) {
      if (depth === 1 && member !== null) {
        if (members.length === NAMED_MEMBERS_MAX)
          refuse(`it repeats fields of one name more than ${NAMED_MEMBERS_MAX} times`);
        members.push({ name: member, start: memberStart, end: at, itemCount });
        member = null;
      } else if (depth === 2 && itemCount !== null) {
        itemCount += 1;
      }
      at = skipBlank(text, at);
      if (depth === 0) {
        if (at !== size) refuse("something follows its end");
        return kind === "object" ? { kind, members, closingAt, empty } : { kind };
      }
      const inObject = stack[depth - 1] === IN_OBJECT;
      const next = text[at];
      if (next === 0x2c) {
        at = skipBlank(text, at + 1);
        opened = true;
      } else if (next === (inObject ? 0x7d : 0x5d)) {
        depth -= 1;
        if (depth === 0) closingAt = at;
        at += 1;
      } else {
        refuse("a comma or a closing bracket is missing");
      }
    }

    if (stack[depth - 1] === IN_OBJECT) {
      if (text[at] !== 0x22) refuse("an object's key must be a string");
      const keyStart = at;
      at = skipString(text, at);
      const keyEnd = at;
      at = skipBlank(text, at);
      if (text[at] !== 0x3a) refuse("a colon is missing");
      at = skipBlank(text, at + 1);
      if (depth === 1) {
        empty = false;
        member = matchKey(text, keyStart, keyEnd, names);
        memberStart = at;
        itemCount = null;
      }
    }
  }
}

/** The text of a string's span, quotes included, unescaped. The span must come from a scan. */
export function readString(text: Uint8Array, span: Span): string {
  const parsed: unknown = JSON.parse(
    Buffer.from(text.buffer, text.byteOffset + span.start, span.end - span.start).toString(),
  );
  return typeof parsed === "string" ? parsed : "";
}

function matchKey(text: Uint8Array, start: number, end: number, names: readonly string[]): string | null {
  const length = end - start - 2;
  for (const name of names) {
    if (name.length !== length) continue;
    let index = 0;
    while (index < length && text[start + 1 + index] === name.charCodeAt(index)) index += 1;
    if (index === length) return name;
  }
  // A key of a named field may be written with escapes, six bytes a character at most.
  for (let index = start + 1; index < end - 1; index += 1) {
    if (text[index] !== 0x5c) continue;
    const key = readString(text, { start, end });
    return names.includes(key) ? key : null;
  }
  return null;
}

function skipBlank(text: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = text[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at += 1;
  }
}

function skipString(text: Uint8Array, from: number): number {
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

function skipWord(text: Uint8Array, from: number, word: string): number {
  for (let index = 0; index < word.length; index += 1) {
    if (text[from + index] !== word.charCodeAt(index)) refuse("it holds an unknown word");
  }
  return from + word.length;
}

function skipNumber(text: Uint8Array, from: number): number {
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

function grow(stack: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(stack.length * 2);
  larger.set(stack);
  return larger;
}

/** Says what is wrong, never where or with which characters: the body is content. */
function refuse(what: string): never {
  throw new ProxyError("invalid_json", `The request body is not valid JSON: ${what}.`);
}
