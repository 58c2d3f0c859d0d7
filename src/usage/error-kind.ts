import { ERROR_KIND_LENGTH_MAX } from "./event.ts";
import { isJsonObject } from "./json.ts";

/** Longer text was written for a person: it may hold content, so nothing of it is kept. */
const CANDIDATE_LENGTH_MAX = 256;

const STATUS_MAX = 599;

/** OpenAI's rate limits name what ran out as their type, and what happened as their code. */
const QUOTA_TYPES: ReadonlySet<string> = new Set(["tokens", "requests"]);

/**
 * What kind of error an upstream answered with: its own short name for it, in lower case with everything but letters and
 * digits as `_`, 64 characters at most, or `http_<status>` (decisions, "Usage and prices"). `body` is a parsed JSON body or
 * event, or whatever stands in its place. A message, a detail or a sentence never becomes a kind.
 */
export function toErrorKind(statusCode: number, body: unknown): string {
  // Some put the one error into an array.
  const message: unknown = Array.isArray(body) ? body[0] : body;
  if (!isJsonObject(message)) return `http_${statusCode}`;
  const error = isJsonObject(message["error"]) ? message["error"] : {};
  const errorType =
    typeof error["type"] === "string" && QUOTA_TYPES.has(error["type"]) ? null : error["type"];
  // `{"type":"error"}` names the envelope, not the kind: that is `code` beside it (`ResponseErrorEvent` of openai 7.57).
  const isEnvelope = message["type"] === "error";
  const messageType = isEnvelope ? null : message["type"];
  const candidates = [
    isEnvelope ? message["code"] : null,
    errorType,
    error["code"],
    error["status"],
    toWord(message["error"]),
    messageType,
    message["code"],
  ];
  for (const candidate of candidates) {
    const kind = toIdentifier(candidate);
    if (kind !== null) return kind;
  }
  return `http_${findStatus([error["code"], message["code"]]) ?? statusCode}`;
}

/** An `error` that is a text: a name when it is one word of ASCII, else a sentence. */
function toWord(error: unknown): string | null {
  return typeof error === "string" && /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/.test(error) ? error : null;
}

function toIdentifier(candidate: unknown): string | null {
  // A number that is an HTTP status says what `http_<status>` says; any other is a vendor's own name for its error.
  const text = isVendorCode(candidate) ? String(candidate) : candidate;
  if (typeof text !== "string" || text.length > CANDIDATE_LENGTH_MAX) return null;
  const identifier = text
    .trim()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/gu, "_")
    .slice(0, ERROR_KIND_LENGTH_MAX);
  return /[a-z0-9]/.test(identifier) ? identifier : null;
}

function isVendorCode(candidate: unknown): candidate is number {
  return Number.isSafeInteger(candidate) && typeof candidate === "number" && candidate > STATUS_MAX;
}

/** A code that is a number tells no more than a status; inside an answer with another status it is the one that counts. */
function findStatus(codes: readonly unknown[]): number | null {
  for (const code of codes) {
    if (typeof code === "number" && Number.isInteger(code) && code >= 400 && code <= STATUS_MAX) return code;
  }
  return null;
}
