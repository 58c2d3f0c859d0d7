import type { InstantUs } from "#kernel/clock.ts";
import type { Ids } from "#kernel/ids.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import type { SecretTerms } from "./secret-terms.ts";

/** An API key or a relay token as it is kept (specification, section 2.7): its plaintext is shown once and never stored. */
export interface OwnedSecret {
  readonly id: string;
  readonly principalId: string;
  /** The last four characters of the plaintext. */
  readonly suffix: string;
  readonly label: string;
  readonly createdAtUs: InstantUs;
  readonly terms: SecretTerms;
  /** As a principal's, which they go before: of one name the secret's counts. */
  readonly tags: readonly string[];
}

/** A secret on its way into the store, with the keyed HMAC-SHA256 of its plaintext. */
export interface NewSecret extends OwnedSecret {
  readonly hash: string;
}

/** A secret with its owner's name, for lists that span principals. */
export interface ListedSecret extends OwnedSecret {
  readonly principalName: string;
}

/** What people tell a secret by. */
export type SecretName = Pick<OwnedSecret, "label" | "suffix">;

/** Keys of one principal, and as many relay tokens: what its own list shows, which has one page. */
export const SECRETS_PER_PRINCIPAL_MAX = PAGE_LIMIT_MAX;

export const API_KEY_PREFIX = "lp_";
export const RELAY_TOKEN_PREFIX = "lpt_";

/** 256 bits, above the 192 that a bearer secret needs to be out of reach of guessing. */
const SECRET_BYTES = 32;
/** Letters and digits only: a double click selects all of it, and it is safe in a header, a URL and a shell. */
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Characters behind the prefix: ⌈256 / log₂ 62⌉. */
export const SECRET_LENGTH = 43;
const SUFFIX_LENGTH = 4;

/** A fresh plaintext such as `lp_` and 43 base62 characters. To be shown once and never stored. */
export function createSecretText(prefix: string, ids: Ids): string {
  let rest = BigInt(`0x${Buffer.from(ids.randomBytes(SECRET_BYTES)).toString("hex")}`);
  let text = "";
  for (let length = 0; length < SECRET_LENGTH; length += 1) {
    text = BASE62.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return prefix + text;
}

/** The last four characters, by which a person tells keys apart. */
export function toSuffix(plaintext: string): string {
  return plaintext.slice(-SUFFIX_LENGTH);
}

/**
 * What stands for the plaintext of a secret of which only the SHA-256 is known. No plaintext is such a text, which has no prefix of
 * a secret: who knows the SHA-256 cannot sign in with it.
 */
export function toDigestText(sha256Hex: string): string {
  return `sha256:${sha256Hex}`;
}

const OWN_KEY = new RegExp(`^${API_KEY_PREFIX}[0-9A-Za-z]{${SECRET_LENGTH}}$`);

/** Whether a text has the form of an API key of this server, living or not. */
export function isOwnKeyText(text: string): boolean {
  return OWN_KEY.test(text);
}

const OWN_TOKEN = new RegExp(`(?:${API_KEY_PREFIX}|${RELAY_TOKEN_PREFIX})[0-9A-Za-z]{${SECRET_LENGTH}}`);

/**
 * Whether a text holds what looks like an API key or a relay token of this server, living or not: neither is ever sent
 * upstream or stored (specification, section 2.7). It is told by its form alone, without asking the store.
 */
export function containsOwnToken(text: string): boolean {
  return text.length >= OWN_TOKEN_LENGTH_MIN && OWN_TOKEN.test(text);
}

const OWN_TOKEN_LENGTH_MIN = API_KEY_PREFIX.length + SECRET_LENGTH;

/** How often a text may be percent-encoded in itself and still be looked through. */
const DECODED_MAX = 4;

/** A run of these in which one of ours, as base64, has room. */
const BASE64_RUN = new RegExp(`[A-Za-z0-9+/_-]{${Math.floor((OWN_TOKEN_LENGTH_MIN * 4) / 3)},}`, "g");

/**
 * `containsOwnToken` of a text as it is, percent-encoded, also in itself, and in base64, as in Basic credentials (RFC 7617). True
 * for what is encoded in itself too often to be looked through.
 */
export function carriesOwnToken(text: string): boolean {
  if (text.length < OWN_TOKEN_LENGTH_MIN) return false;
  let decoded = text;
  for (let time = 0; !containsOwnToken(decoded); time += 1) {
    if (text.match(BASE64_RUN)?.some(containsOwnTokenAsBase64) === true) return true;
    const next = decodePercent(decoded);
    if (next === decoded) return false;
    if (time === DECODED_MAX) return true;
    decoded = next;
  }
  return true;
}

/** Wherever in the run it begins: what stands before it may be of the same characters. */
function containsOwnTokenAsBase64(run: string): boolean {
  return [0, 1, 2, 3].some((from) =>
    containsOwnToken(Buffer.from(run.slice(from), "base64").toString("latin1")),
  );
}

/** Percent-encoded ASCII, of which keys are made: `decodeURIComponent` gives up where another sequence is none. */
function decodePercent(text: string): string {
  if (!text.includes("%")) return text;
  return text.replaceAll(/%[0-7][0-9a-f]/gi, (escape) =>
    String.fromCharCode(Number.parseInt(escape.slice(1), 16)),
  );
}
