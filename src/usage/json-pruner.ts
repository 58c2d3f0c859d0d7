import { createGrowingBytes } from "./growing-bytes.ts";
import { parseJson } from "#kernel/json.ts";

/** Reads a JSON text piece by piece and keeps it pruned: what tells of usage and errors, without the content. */
export interface JsonPruner {
  /** The next bytes, cut anywhere. They are not kept. Never throws. */
  push(bytes: Uint8Array): void;
  /**
   * The value of the whole text, or undefined when it is no JSON, or when its pruned text is too large. In it arrays end with
   * their last item that is kept, what is nested too deep is empty, and a long string is one blank. Called once.
   */
  finish(): unknown;
}

/** Limits one pruned text. Only objects of a thousand members come near it, and thousands of answers may be on their way. */
export const PRUNED_BYTES_MAX = 1024 * 1024;
/** With its quotes and as it is written; six bytes a character for the longest name that is looked at (256 characters). */
export const TEXT_BYTES_MAX = 2 * 1024;
/** `choices[0].usage.prompt_tokens_details` is the fifth level. */
export const DEPTH_MAX = 6;
/** An array of one item is told from a longer one. */
export const ITEMS_MAX = 2;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const ARRAY_OPENS = 0x5b;
const ARRAY_CLOSES = 0x5d;
const OBJECT_OPENS = 0x7b;
const OBJECT_CLOSES = 0x7d;

const BLANKS = [0x20, 0x0a, 0x0d, 0x09] as const;
const BRACKETS = [ARRAY_OPENS, ARRAY_CLOSES, OBJECT_OPENS, OBJECT_CLOSES] as const;
const STOPS_PRUNED = toTable([QUOTE, COMMA, ...BRACKETS, ...BLANKS]);
const SKIPPING_STOPS = [QUOTE, ...BRACKETS] as const;
const STOPS_SKIPPING = toTable(SKIPPING_STOPS);
const IS_BLANK = toTable(BLANKS);

/**
 * Past so many bytes without a stop the runtime's own search looks for each stop: over the numbers of an embedding it takes a
 * tenth of the time (measured).
 */
const NEAR_BYTES = 64;

/** A string that says something and names nothing. */
const LONG_TEXT = new TextEncoder().encode('" "');

interface PrunerOptions {
  /** Items that are kept of an array; a text whose items are counted keeps them all. */
  readonly itemsMax?: number;
}

/** The parser judges in the end what was kept; of what is left out only strings and brackets are followed. */
export function createJsonPruner({ itemsMax = ITEMS_MAX }: PrunerOptions = {}): JsonPruner {
  const pruned = createGrowingBytes(PRUNED_BYTES_MAX);
  const begunText = createGrowingBytes(TEXT_BYTES_MAX);
  /** Items begun of each container that is open and kept; null for an object. */
  const itemCounts: (number | null)[] = [];
  let inText = false;
  let isEscaped = false;
  let isSkipping = false;
  /** Containers that are open inside what is left out. */
  let skippedDepth = 0;
  /** Where each stop stands next in the bytes of this push, so that none is searched for twice. */
  const nextStops = SKIPPING_STOPS.map(() => -1);

  return {
    push(bytes) {
      nextStops.fill(-1);
      // Where that begins which is kept and not in the pruned text yet.
      let from = 0;
      let at = 0;
      while (at < bytes.length) {
        if (inText) {
          const end = findTextEnd(bytes, at);
          if (!isSkipping) takeText(bytes.subarray(from, end ?? bytes.length), end !== null);
          inText = end === null;
          at = end ?? bytes.length;
          from = at;
        } else if (isSkipping) {
          at = skip(bytes, at);
          from = at;
        } else {
          at = findNext(bytes, at, bytes.length, STOPS_PRUNED);
          if (at < bytes.length) at = keep(at);
        }
      }
      if (!inText && !isSkipping) pruned.append(bytes.subarray(from));

      /** Takes the byte at `next` into the pruned text, or what begins with it out of it; tells where to go on. */
      function keep(next: number): number {
        const byte = bytes[next] ?? 0;
        if (byte === QUOTE) {
          const end = findTextEnd(bytes, next + 1);
          if (end !== null && end - next <= TEXT_BYTES_MAX) return end;
          pruned.append(bytes.subarray(from, next));
          takeText(bytes.subarray(next, end ?? bytes.length), end !== null);
          inText = end === null;
          from = end ?? bytes.length;
          return from;
        }
        if (IS_BLANK[byte] === 1) return keepOneBlank(next);
        if (byte === COMMA) {
          if (!isPastLastItem()) return next + 1;
          pruned.append(bytes.subarray(from, next));
          isSkipping = true;
          return next;
        }
        if (byte === ARRAY_CLOSES || byte === OBJECT_CLOSES) {
          itemCounts.pop();
          return next + 1;
        }
        itemCounts.push(byte === ARRAY_OPENS ? 1 : null);
        if (itemCounts.length > DEPTH_MAX) {
          pruned.append(bytes.subarray(from, next + 1));
          isSkipping = true;
        }
        return next + 1;
      }

      /** Blanks are sent for minutes to keep a connection open. */
      function keepOneBlank(next: number): number {
        let end = next + 1;
        while (IS_BLANK[bytes[end] ?? 0] === 1) end += 1;
        if (end > next + 1) {
          pruned.append(bytes.subarray(from, next + 1));
          from = end;
        }
        return end;
      }
    },
    finish() {
      const text = inText || isSkipping ? null : pruned.take(new Uint8Array());
      return text === null ? undefined : parseJson(new TextDecoder().decode(text));
    },
  };

  function isPastLastItem(): boolean {
    const depth = itemCounts.length - 1;
    const itemCount = itemCounts[depth];
    if (itemCount === undefined || itemCount === null) return false;
    itemCounts[depth] = itemCount + 1;
    return itemCount === itemsMax;
  }

  /** Goes on until the bracket that closes the container whose rest is left out. */
  function skip(bytes: Uint8Array, from: number): number {
    const at = findSkippingStop(bytes, from);
    const byte = bytes[at];
    if (byte === undefined) return at;
    if (byte === QUOTE) inText = true;
    else if (byte === ARRAY_OPENS || byte === OBJECT_OPENS) skippedDepth += 1;
    else if (skippedDepth > 0) skippedDepth -= 1;
    else isSkipping = false;
    return isSkipping ? at + 1 : at;
  }

  function findSkippingStop(bytes: Uint8Array, from: number): number {
    const nearEnd = Math.min(from + NEAR_BYTES, bytes.length);
    const near = findNext(bytes, from, nearEnd, STOPS_SKIPPING);
    if (near < nearEnd) return near;
    let first = bytes.length;
    for (const [index, stop] of SKIPPING_STOPS.entries()) {
      let at = nextStops[index] ?? -1;
      if (at < near) {
        const found = bytes.indexOf(stop, near);
        at = found === -1 ? bytes.length : found;
        nextStops[index] = at;
      }
      first = Math.min(first, at);
    }
    return first;
  }

  function takeText(piece: Uint8Array, isWhole: boolean): void {
    if (isWhole) pruned.append(begunText.take(piece) ?? LONG_TEXT);
    else begunText.append(piece);
  }

  /** Behind the quote that ends a string, or null when it goes on. Each byte is looked at once or twice, by the runtime's own search. */
  function findTextEnd(bytes: Uint8Array, from: number): number | null {
    const start = isEscaped ? from + 1 : from;
    for (let at = bytes.indexOf(QUOTE, start); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
      if (endsEscaped(bytes, start, at)) continue;
      isEscaped = false;
      return at + 1;
    }
    isEscaped = endsEscaped(bytes, start, bytes.length);
    return null;
  }
}

/** True when what follows `[start, end)`, which begins outside an escape, is escaped by it. */
function endsEscaped(bytes: Uint8Array, start: number, end: number): boolean {
  let at = end;
  while (at > start && bytes[at - 1] === BACKSLASH) at -= 1;
  return (end - at) % 2 === 1;
}

/** The first place from `from` up to `to` whose byte is in the table, else `to`. */
function findNext(bytes: Uint8Array, from: number, to: number, table: Uint8Array): number {
  let at = from;
  while (at < to && table[bytes[at] ?? 0] === 0) at += 1;
  return at;
}

function toTable(bytes: readonly number[]): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of bytes) table[byte] = 1;
  return table;
}
