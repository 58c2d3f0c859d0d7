import { containsOwnToken } from "#identity/secret.ts";
import { ProxyError } from "#kernel/errors.ts";
import { codePointLength, hasControlCharacter, UPSTREAM_NAME_LENGTH_MAX } from "#kernel/text.ts";
import { free, GatheredBytes } from "#kernel/bytes.ts";
import { type ScannedText, readString, scanJson } from "./json-scan.ts";
import { scanJsonInTurns } from "./paced-scan.ts";
import { refuseLookalike } from "./request-body.ts";
import { BUSY_RETRY_AFTER_SECONDS } from "#kernel/memory-semaphore.ts";
import type { BodySource } from "./upstream.ts";

/** The model and stream that a relayed request asked for, as far as its body tells. */
export interface Asked {
  /** Null when the body names none, or what is no name: empty, over 200 characters, with control characters, with a key or token of this server. */
  readonly model: string | null;
  /** True when it asked for a stream. */
  readonly streamed: boolean;
  /**
   * True when the body is one JSON object that names its model once, without escapes, and holds no batch: every upstream reads
   * that model.
   */
  readonly isPlain: boolean;
}

export const NOTHING_ASKED: Asked = { model: null, streamed: false, isPlain: false };

/** Looks at a body that is passed on piece by piece. */
interface AskedScan {
  /** Takes the piece over, until it has left. */
  push(chunk: Uint8Array): void;
  /** The last piece has left, and is freed. */
  left(): void;
  /** Called once, at the body's end; a large one is looked through in turns. Throws as `readAsked` does. */
  finish(): Promise<Asked>;
  /** Keeps nothing any more; whatever is pushed from here on is passed over. May be called at any time, more than once. */
  release(): void;
}

/** Bytes that all uploads together may keep beside their passage. */
interface ScanBudget {
  /** The share of one principal: as much as one of the largest bodies, so that no principal takes all of it. */
  of(principalId: string): ScanShare;
}

interface ScanShare {
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
  const takenBytes = new Map<string, number>();
  return {
    of: (principalId) => ({
      take(bytes) {
        const taken = (takenBytes.get(principalId) ?? 0) + bytes;
        if (bytes > leftBytes || taken > SCANNED_BYTES_MAX) return false;
        leftBytes -= bytes;
        takenBytes.set(principalId, taken);
        return true;
      },
      giveBack(bytes) {
        leftBytes += bytes;
        const taken = (takenBytes.get(principalId) ?? 0) - bytes;
        if (taken === 0) takenBytes.delete(principalId);
        else takenBytes.set(principalId, taken);
      },
    }),
  };
}

const FIELDS = ["model", "stream", "requests"] as const;
const OPENING_BRACE = 0x7b;
const TRUE_LEAD = 0x74;

/**
 * Reads `model` and `stream` off the top level of a body; what is no JSON object says nothing, and whether it is one is the
 * upstream's to judge. The last occurrence of a repeated field counts. Throws `invalid_request` for a field that some upstreams
 * would read as one of these (`refuseLookalike`).
 */
export function readAsked(body: Uint8Array): Asked {
  if (findLead(body) !== OPENING_BRACE) return NOTHING_ASKED;
  let scanned: ScannedText;
  try {
    scanned = scanJson(body, FIELDS);
  } catch (failure) {
    return toNothingAsked(failure);
  }
  return toAsked(body, scanned);
}

/** `readAsked` of a large body. */
export async function readAskedInTurns(body: Uint8Array): Promise<Asked> {
  if (findLead(body) !== OPENING_BRACE) return NOTHING_ASKED;
  let scanned: ScannedText;
  try {
    scanned = await scanJsonInTurns(body, FIELDS);
  } catch (failure) {
    return toNothingAsked(failure);
  }
  return toAsked(body, scanned);
}

function toNothingAsked(failure: unknown): Asked {
  if (failure instanceof ProxyError) return NOTHING_ASKED;
  throw failure;
}

function toAsked(body: Uint8Array, scanned: ScannedText): Asked {
  if (scanned.kind !== "object") return NOTHING_ASKED;
  refuseLookalike(scanned);
  const { members } = scanned;
  let model: string | null = null;
  let streamed = false;
  for (const member of members) {
    if (member.name === "stream") streamed = body[member.start] === TRUE_LEAD;
    else if (member.name === "model")
      model = body[member.start] === 0x22 ? toModelName(readString(body, member)) : null;
  }
  const isOnce = new Set(members.map(({ name }) => name)).size === members.length;
  const isPlain =
    model !== null && isOnce && members.every(({ name, isEscaped }) => !isEscaped && name !== "requests");
  return { model, streamed, isPlain };
}

/** Types as which a text in UTF-8 is read; a charset of JSON has no meaning (RFC 8259, section 11), and yet upstreams obey one. */
const JSON_TYPE =
  /^(?:application\/(?:[a-z0-9.+-]+\+)?json|text\/plain)\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;

/** True when an upstream that goes by the head reads the bytes that were read here. */
export function isPlainJson(headers: Headers): boolean {
  if (headers.has("content-encoding")) return false;
  const type = headers.get("content-type");
  return type === null || JSON_TYPE.test(type);
}

/**
 * Keeps a copy of what may be a JSON object, since `model` may stand behind everything else, however short the pieces are.
 * Nothing is kept of a body whose length is known and over the limit, nor of the blanks before an object.
 */
export function createAskedScan(share: ScanShare, bodyBytes: number | null = null): AskedScan {
  const kept = new GatheredBytes();
  let isObject: boolean | null = bodyBytes !== null && bodyBytes > SCANNED_BYTES_MAX ? false : null;
  let leaving: Uint8Array | null = null;

  const release = () => {
    share.giveBack(kept.sizeBytes);
    kept.release();
    isObject = false;
  };
  return {
    push(chunk) {
      leaving = chunk;
      if (isObject === null) {
        const lead = findLead(chunk);
        if (lead === undefined) return;
        isObject = lead === OPENING_BRACE;
      }
      if (!isObject) return;
      if (kept.sizeBytes + chunk.length <= SCANNED_BYTES_MAX && share.take(chunk.length)) kept.push(chunk);
      else release();
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
        share.giveBack(keptBytes);
      }
    },
    release,
  };
}

/** The first byte that is no blank. */
function findLead(bytes: Uint8Array): number | undefined {
  return bytes.find((byte) => byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09);
}

/** Null for what is no name: empty, too long, with control characters, or with a key or token of this server. */
export function toModelName(text: string): string | null {
  const isName =
    text !== "" &&
    text.isWellFormed() &&
    !hasControlCharacter(text) &&
    codePointLength(text) <= UPSTREAM_NAME_LENGTH_MAX &&
    !containsOwnToken(text);
  return isName ? text : null;
}

/**
 * Reads a relayed body that is looked at before any of it goes upstream: a decoder that reads as it comes begins with the end of
 * the object, whatever follows. The share has its bytes until they are given back. Throws `invalid_request` for one that is too
 * large to be looked at, `busy` when the share has no memory left, and what the source throws.
 */
export async function readWholeBody(source: BodySource, share: ScanShare): Promise<Uint8Array<ArrayBuffer>> {
  if ((source.sizeBytes ?? 0) > SCANNED_BYTES_MAX) throw tooLarge();
  const gathered = new GatheredBytes();
  try {
    for (let chunk = await source.next(); chunk !== null; chunk = await source.next()) {
      if (gathered.sizeBytes + chunk.length > SCANNED_BYTES_MAX) throw tooLarge();
      if (!share.take(chunk.length)) throw toBusy();
      gathered.push(chunk);
      free(chunk);
    }
    return gathered.moveIntoOne();
  } catch (failure) {
    share.giveBack(gathered.sizeBytes);
    gathered.release();
    throw failure;
  }
}

function tooLarge(): ProxyError {
  return new ProxyError(
    "invalid_request",
    `A limit goes by the model of your requests: a relayed body may have ${SCANNED_BYTES_MAX} bytes.`,
    { param: "model" },
  );
}

function toBusy(): ProxyError {
  return new ProxyError(
    "busy",
    "Your other large requests have taken the memory for large bodies. Try again.",
    { retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS },
  );
}
