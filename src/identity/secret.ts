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
  return OWN_TOKEN.test(text);
}
