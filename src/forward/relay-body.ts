import { containsOwnToken } from "#identity/secret.ts";
import { ProxyError } from "#kernel/errors.ts";
import { codePointLength, hasControlCharacter, UPSTREAM_NAME_LENGTH_MAX } from "#kernel/text.ts";
import { free } from "#kernel/bytes.ts";
import { GatheredBytes } from "#kernel/gathered-bytes.ts";
import { type ScannedText, readString, scanJson } from "./json-scan.ts";
import { scanJsonInTurns } from "./paced-scan.ts";

/** What a relayed request asked for, as far as its body tells. */
export interface Asked {
  /** Null when the body names none, or what is no name: empty, over 200 characters, with control characters, with a key or token of this server. */
  readonly model: string | null;
  /** Whether it asked for a stream. */
  readonly streamed: boolean;
}

export const NOTHING_ASKED: Asked = { model: null, streamed: false };

/** Looks at a body that is passed on piece by piece. */
export interface AskedScan {
  /** Takes the piece over, until it has left. */
  push(chunk: Uint8Array): void;
  /** The last piece has left, and is freed. */
  left(): void;
  /** Called once, at the body's end; a large one is looked through in turns. */
  finish(): Promise<Asked>;
  /** Keeps nothing any more; whatever is pushed from here on is passed over. May be called at any time, more than once. */
  release(): void;
}

/** Bytes that all uploads together may keep beside their passage. */
export interface ScanBudget {
  /** False, and nothing is taken, when there are not so many left. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

/** The messages API takes 32 MB; of a larger body nothing is known. */
export const SCANNED_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Limit of all uploads that stream at once: two of the largest. A body that finds it used up is passed on as any other, and
 * nothing is known of it.
 */
export const SCANNED_BYTES_TOTAL_MAX = 64 * 1024 * 1024;

export function createScanBudget(bytesMax: number = SCANNED_BYTES_TOTAL_MAX): ScanBudget {
  let leftBytes = bytesMax;
  return {
    take(bytes) {
      if (bytes > leftBytes) return false;
      leftBytes -= bytes;
      return true;
    },
    giveBack(bytes) {
      leftBytes += bytes;
    },
  };
}

const FIELDS = ["model", "stream"] as const;
const OPENING_BRACE = 0x7b;
const TRUE_LEAD = 0x74;

/**
 * Reads `model` and `stream` off the top level of a body. Never refuses: what is no JSON object says nothing, and whether
 * it is one is the upstream's to judge. The last occurrence of a repeated field counts.
 */
export function readAsked(body: Uint8Array): Asked {
  if (!beginsObject(body)) return NOTHING_ASKED;
  try {
    return toAsked(body, scanJson(body, FIELDS));
  } catch (failure) {
    return toNothingAsked(failure);
  }
}

async function readAskedInTurns(body: Uint8Array): Promise<Asked> {
  if (!beginsObject(body)) return NOTHING_ASKED;
  try {
    return toAsked(body, await scanJsonInTurns(body, FIELDS));
  } catch (failure) {
    return toNothingAsked(failure);
  }
}

function toAsked(body: Uint8Array, scanned: ScannedText): Asked {
  if (scanned.kind !== "object") return NOTHING_ASKED;
  let model: string | null = null;
  let streamed = false;
  for (const member of scanned.members) {
    if (member.name === "stream") streamed = body[member.start] === TRUE_LEAD;
    else model = body[member.start] === 0x22 ? toModelName(readString(body, member)) : null;
  }
  return { model, streamed };
}

/**
 * Keeps a copy of what may be a JSON object, since `model` may stand behind everything else, however short the pieces are.
 * Nothing is kept of a body whose length is known and over the limit.
 */
export function createAskedScan(budget: ScanBudget, bodyBytes: number | null = null): AskedScan {
  const kept = new GatheredBytes();
  let isObject: boolean | null = bodyBytes !== null && bodyBytes > SCANNED_BYTES_MAX ? false : null;
  let leaving: Uint8Array | null = null;

  const release = () => {
    budget.giveBack(kept.sizeBytes);
    kept.release();
    isObject = false;
  };
  return {
    push(chunk) {
      // A piece of nothing but blanks in front of an object is not worth a case: such a body counts as none.
      isObject ??= beginsObject(chunk);
      if (isObject && (kept.sizeBytes + chunk.length > SCANNED_BYTES_MAX || !budget.take(chunk.length)))
        release();
      if (isObject) kept.push(chunk);
      leaving = chunk;
    },
    left() {
      if (leaving !== null) free(leaving);
      leaving = null;
    },
    async finish() {
      if (isObject !== true) return NOTHING_ASKED;
      const keptBytes = kept.sizeBytes;
      const whole = kept.moveIntoOne();
      isObject = false;
      try {
        return await readAskedInTurns(whole);
      } finally {
        free(whole);
        budget.giveBack(keptBytes);
      }
    },
    release,
  };
}

function toNothingAsked(failure: unknown): Asked {
  if (failure instanceof ProxyError) return NOTHING_ASKED;
  throw failure;
}

function beginsObject(bytes: Uint8Array): boolean {
  const lead = bytes.find((byte) => byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09);
  return lead === OPENING_BRACE;
}

function toModelName(text: string): string | null {
  const isName =
    text !== "" &&
    text.isWellFormed() &&
    !hasControlCharacter(text) &&
    codePointLength(text) <= UPSTREAM_NAME_LENGTH_MAX &&
    !containsOwnToken(text);
  return isName ? text : null;
}
