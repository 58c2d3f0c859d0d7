import { isUtf8 } from "node:buffer";
import { BUFFER } from "#kernel/bytes.ts";
import { ProxyError } from "#kernel/errors.ts";

/** Where a value stands in a text: `[start, end)`, in bytes. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One member of the scanned object whose key, unescaped, is one of the names asked for. */
export interface Member extends Span {
  readonly name: string;
  /** True when its key is written with escapes. */
  readonly isEscaped: boolean;
  /** Items of the value when it is an array, else null. */
  readonly itemCount: number | null;
}

/** A text that was scanned to its end. One whose value is no object has no members. */
export interface ScannedText {
  readonly text: Uint8Array;
  readonly kind: "object" | "other";
  /** In the order in which they stand; a name that occurs twice is here twice. */
  readonly members: readonly Member[];
  /** Where the closing brace stands. */
  readonly closingAt: number;
  /** True when it has no member at all, named or not. */
  readonly isEmpty: boolean;
  /**
   * One of the names asked for, when a member is there whose key is another and equals it after Unicode's simple case folding:
   * decoders that ignore case, as Go's does, read it as that member. Else null.
   */
  readonly lookalike: string | null;
}

/**
 * Named members may occur this often in all. Each is rewritten on its way upstream, and without a limit a body of 64 MiB
 * could name its model six million times and be made to grow hundredfold.
 */
export const NAMED_MEMBERS_MAX = 64;

const STACK_DEPTH_INITIAL = 64;
/** For scans that run to their end at once. One that goes deeper makes itself a larger one. */
const SHARED_STACK = new Uint8Array(STACK_DEPTH_INITIAL);
const IN_ARRAY = 1;
const IN_OBJECT = 2;

/**
 * Validates a whole JSON text (RFC 8259, UTF-8, no byte-order mark) and tells where the named members of its outermost
 * object stand. Nothing is decoded or built, and nothing recurses: 100,000 levels cost 100,000 bytes of stack of its own.
 * Agrees with `JSON.parse` about what is valid. Throws `invalid_json`.
 */
export function scanJson(text: Uint8Array, names: readonly string[]): ScannedText {
  return new JsonScan(text, names, SHARED_STACK).run(Number.POSITIVE_INFINITY) ?? refuse("it has no end");
}

/** `scanJson` in parts. */
export class JsonScan implements ScannedText {
  readonly text: Uint8Array;
  readonly kind: ScannedText["kind"];
  readonly members: Member[] = [];
  isEmpty = true;
  closingAt = 0;
  lookalike: string | null = null;
  readonly #names: readonly string[];
  #stack: Uint8Array<ArrayBuffer>;
  #depth = 0;
  #at: number;
  /** True when a value ends at `#at`; else one begins there. */
  #isBehindValue = false;
  // The named member of the outermost object whose value is being read.
  #member: string | null = null;
  #isEscaped = false;
  #memberStart = 0;
  #itemCount: number | null = null;

  constructor(text: Uint8Array, names: readonly string[], stack = new Uint8Array(STACK_DEPTH_INITIAL)) {
    if (!isUtf8(text)) refuse("it is not UTF-8");
    this.#stack = stack;
    this.text = text;
    this.#names = names;
    this.#at = skipBlank(text, 0);
    this.kind = text[this.#at] === 0x7b ? "object" : "other";
  }

  /** The offset that the scan has reached. */
  get at(): number {
    return this.#at;
  }

  /** Goes on to the end, or to the first value that begins or ends behind `untilAt`: then null. A string is one step. */
  run(untilAt: number): this | null {
    const text = this.text;
    const members = this.members;
    const size = text.length;
    // The loop works on variables, which cost less than fields.
    let stack = this.#stack;
    let depth = this.#depth;
    let at = this.#at;
    let isBehindValue = this.#isBehindValue;
    let member = this.#member;
    let memberStart = this.#memberStart;
    let itemCount = this.#itemCount;

    scanning: for (;;) {
      // A value begins here. An opening bracket goes round again; everything else leaves `at` behind a complete value.
      const lead = text[at];
      let opened = false;
      if (isBehindValue) {
        isBehindValue = false;
      } else if (at >= untilAt) {
        break;
      } else if (lead === 0x22) {
        at = skipString(text, at);
      } else if (lead === 0x7b || lead === 0x5b) {
        if (depth === stack.length) stack = this.#stack = grow(stack);
        stack[depth] = lead === 0x7b ? IN_OBJECT : IN_ARRAY;
        depth += 1;
        at = skipBlank(text, at + 1);
        if (depth === 2 && member !== null && lead === 0x5b) itemCount = 0;
        opened = text[at] !== (lead === 0x7b ? 0x7d : 0x5d);
        if (!opened) {
          depth -= 1;
          if (depth === 0) this.closingAt = at;
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
          members.push({
            name: member,
            isEscaped: this.#isEscaped,
            start: memberStart,
            end: at,
            itemCount,
          });
          member = null;
        } else if (depth === 2 && itemCount !== null) {
          itemCount += 1;
        }
        at = skipBlank(text, at);
        if (depth === 0) {
          if (at !== size) refuse("something follows its end");
          return this;
        }
        const inObject = stack[depth - 1] === IN_OBJECT;
        const next = text[at];
        if (next === 0x2c) {
          at = skipBlank(text, at + 1);
          opened = true;
        } else if (next === (inObject ? 0x7d : 0x5d)) {
          depth -= 1;
          if (depth === 0) this.closingAt = at;
          at += 1;
          if (at >= untilAt) {
            isBehindValue = true;
            break scanning;
          }
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
          this.isEmpty = false;
          member = this.#matchKey(keyStart, keyEnd);
          memberStart = at;
          itemCount = null;
        }
      }
    }
    this.#depth = depth;
    this.#at = at;
    this.#isBehindValue = isBehindValue;
    this.#member = member;
    this.#memberStart = memberStart;
    this.#itemCount = itemCount;
    return null;
  }

  /** The name that the key in this span stands for, or null. */
  #matchKey(start: number, end: number): string | null {
    for (const name of this.#names) {
      const spelling = findSpelling(name, this.text, start + 1, end - 1);
      if (spelling === null) continue;
      if (spelling === "folded") {
        this.lookalike ??= name;
        return null;
      }
      this.#isEscaped = spelling === "escaped";
      return name;
    }
    return null;
  }
}

const BACKSLASH = 0x5c;

/** The text of a string's span, quotes included, unescaped. The span must come from a scan. */
export function readString(text: Uint8Array, { start, end }: Span): string {
  let plainTo = start;
  while (plainTo < end && text[plainTo] !== BACKSLASH) plainTo += 1;
  if (plainTo === end) return BUFFER.toString.call(text, "utf8", start + 1, end - 1);
  const parsed: unknown = JSON.parse(BUFFER.toString.call(text, "utf8", start, end));
  return typeof parsed === "string" ? parsed : "";
}

/**
 * The way in which the inside of a string spells this name, which is ASCII without quotes and backslashes; null when it does not. Characters are
 * compared one by one, up to the first that differs: a string made of each escaped key took 280 ns, 1.7 s of the thread for a
 * body of 60 MB.
 */
function findSpelling(
  name: string,
  text: Uint8Array,
  start: number,
  end: number,
): "plain" | "escaped" | "folded" | null {
  if (end - start < name.length) return null;
  let at = start;
  let isEscaped = false;
  let isFolded = false;
  for (let index = 0; index < name.length; index += 1) {
    const lead = text[at] ?? 0;
    const wanted = name.charCodeAt(index);
    if (lead === wanted) {
      at += 1;
      continue;
    }
    const isEscape = lead === 0x5c;
    const unit = isEscape ? readEscape(text, at) : readPlainUnit(text, at);
    if (foldToAscii(unit) !== wanted) return null;
    isFolded ||= unit !== wanted;
    isEscaped ||= isEscape;
    at += isEscape ? escapeLength(text, at) : plainUnitLength(lead);
  }
  if (at !== end) return null;
  return isFolded ? "folded" : isEscaped ? "escaped" : "plain";
}

function grow(stack: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(stack.length * 2);
  larger.set(stack);
  return larger;
}

/**
 * The tokens of JSON (RFC 8259), by their bytes: each function takes where one begins and tells where it ends.
 * All throw `invalid_json`.
 */

/** 1 for the bytes that end the plain part of a string: `"`, `\` and the controls, which may not stand in one. */
const ENDS_PLAIN_TEXT = new Uint8Array(256).fill(1, 0, 0x20);
ENDS_PLAIN_TEXT[0x22] = 1;
ENDS_PLAIN_TEXT[0x5c] = 1;

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
  const letter = text[backslashAt + 1] ?? 0;
  if (letter !== UNICODE_ESCAPE) {
    if (SHORT_ESCAPES[letter] === 0) refuse("a string holds an unknown escape");
    return backslashAt + 2;
  }
  for (let at = backslashAt + 2; at < backslashAt + 6; at += 1) {
    if (!isHexDigit(text[at])) refuse("a string holds a broken escape");
  }
  return backslashAt + 6;
}

/** The UTF-16 code unit that an escape stands for. The escape must come from a string that was skipped. */
function readEscape(text: Uint8Array, backslashAt: number): number {
  const letter = text[backslashAt + 1] ?? 0;
  if (letter !== UNICODE_ESCAPE) return SHORT_ESCAPES[letter] ?? 0;
  let unit = 0;
  for (let at = backslashAt + 2; at < backslashAt + 6; at += 1) unit = unit * 16 + toHexValue(text[at] ?? 0);
  return unit;
}

function escapeLength(text: Uint8Array, backslashAt: number): number {
  return text[backslashAt + 1] === UNICODE_ESCAPE ? 6 : 2;
}

/** The code unit of a character that is no escape, in valid UTF-8; 0 for one beyond the first plane, which no name has. */
function readPlainUnit(text: Uint8Array, at: number): number {
  const lead = text[at] ?? 0;
  if (lead < 0x80) return lead;
  const second = (text[at + 1] ?? 0) & 0x3f;
  if (lead < 0xe0) return ((lead & 0x1f) << 6) | second;
  return lead < 0xf0 ? ((lead & 0x0f) << 12) | (second << 6) | ((text[at + 2] ?? 0) & 0x3f) : 0;
}

function plainUnitLength(lead: number): number {
  if (lead < 0x80) return 1;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/**
 * Unicode's simple case folding (CaseFolding.txt, status C and S) of the characters that fold to ASCII: its capitals, the long s and
 * the Kelvin sign. Any other stays as it is.
 */
function foldToAscii(unit: number): number {
  if (unit >= 0x41 && unit <= 0x5a) return unit + 0x20;
  if (unit === LONG_S) return 0x73;
  return unit === KELVIN_SIGN ? 0x6b : unit;
}

const LONG_S = 0x17f;
const KELVIN_SIGN = 0x212a;

/** The `u` of an escape such as `\u0041`. */
const UNICODE_ESCAPE = 0x75;

/** The character that a backslash and this byte stand for; 0 where they are no escape. */
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

/** Says what is wrong, never where or with which characters: the body is content. */
function refuse(what: string): never {
  throw new ProxyError("invalid_json", `The request body is not valid JSON: ${what}.`);
}
