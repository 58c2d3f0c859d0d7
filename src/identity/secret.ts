import { type InstantUs, parseInstant } from "#kernel/clock.ts";
import type { Ids } from "#kernel/ids.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { ProxyError } from "#kernel/errors.ts";
import { ALIAS_LENGTH_MAX, ALIAS_PATTERN } from "#kernel/text.ts";
import { parseWord } from "#kernel/fields.ts";
import type { Principal } from "./principal.ts";
import { normaliseTag, sortTags, TAG_PAIRS_MAX, TAGS_BYTES_MAX, toTagKey } from "#kernel/tags.ts";

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

/** The words that people tell a secret by. */
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
 * The text that stands for the plaintext of a secret of which only the SHA-256 is known. No plaintext is such a text, which has no prefix of
 * a secret: who knows the SHA-256 cannot sign in with it.
 */
export function toDigestText(sha256Hex: string): string {
  return `sha256:${sha256Hex}`;
}

const OWN_KEY = new RegExp(`^${API_KEY_PREFIX}[0-9A-Za-z]{${SECRET_LENGTH}}$`);

/** True when a text has the form of an API key of this server, living or not. */
export function isOwnKeyText(text: string): boolean {
  return OWN_KEY.test(text);
}

const OWN_TOKEN = new RegExp(`(?:${API_KEY_PREFIX}|${RELAY_TOKEN_PREFIX})[0-9A-Za-z]{${SECRET_LENGTH}}`);

/**
 * True when a text holds what looks like an API key or a relay token of this server, living or not: neither is ever sent
 * upstream or stored (specification, section 2.7). It is told by its form alone, without asking the store.
 */
export function containsOwnToken(text: string): boolean {
  return text.length >= OWN_TOKEN_LENGTH_MIN && OWN_TOKEN.test(text);
}

const OWN_TOKEN_LENGTH_MIN = API_KEY_PREFIX.length + SECRET_LENGTH;

/** A text that is percent-encoded in itself more often is not looked through. */
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

/** Terms are set by an admin, or by an owner within what an admin has set. */
const TERM_SETTERS = ["owner", "admin"] as const;
export type TermSetter = (typeof TERM_SETTERS)[number];

/**
 * The reach of a key: everything that its owner may, or models, the relay and what was used of them alone
 * (`docs/spec/limits.md`, "Keys").
 */
export const KEY_SCOPES = ["full", "inference"] as const;
type KeyScope = (typeof KEY_SCOPES)[number];

/** The terms of a key or a relay token (`docs/spec/limits.md`, "Keys"); null where nothing is set. */
export interface SecretTerms {
  /** From this moment on it is refused. */
  readonly expiresAtUs: InstantUs | null;
  /** The aliases that it may use, in the order in which they were given; null: all. */
  readonly models: ReadonlySet<string> | null;
  /** Null: it is enabled. */
  readonly pausedBy: TermSetter | null;
  /** The one that has narrowed its scope to `inference`; null: it is `full`, as every relay token's. */
  readonly scopedBy: TermSetter | null;
  /** The expiry and models that an admin has set last: its owner's own stay within these. */
  readonly adminExpiresAtUs: InstantUs | null;
  readonly adminModels: ReadonlySet<string> | null;
}

export const NO_TERMS: SecretTerms = {
  expiresAtUs: null,
  models: null,
  pausedBy: null,
  scopedBy: null,
  adminExpiresAtUs: null,
  adminModels: null,
};

/** Terms as a client writes them: null lifts the first two, a field that is absent changes nothing. */
export interface TermsDraft {
  /** A UTC date-time as text, or null. */
  readonly expiresAt?: unknown;
  /** A list of aliases, or null. */
  readonly models?: unknown;
  readonly enabled?: boolean | undefined;
  /** One of `KEY_SCOPES`. */
  readonly scope?: string | undefined;
}

export interface TermsChange {
  readonly expiresAtUs?: InstantUs | null;
  readonly models?: ReadonlySet<string> | null;
  readonly enabled?: boolean;
  readonly scope?: KeyScope;
}

export const KEY_MODELS_MAX = 100;

/** With a time, since a date alone does not say at which end of its day. */
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:\d{2})?$/;

/** Throws `invalid_expiry` (param `expires_at`), `invalid_models` (param `models`) and `invalid_request` (param `scope`). */
export function parseTerms({ expiresAt, models, enabled, scope }: TermsDraft, nowUs: InstantUs): TermsChange {
  return {
    ...(expiresAt !== undefined && {
      expiresAtUs: expiresAt === null ? null : parseExpiry(expiresAt, nowUs),
    }),
    ...(models !== undefined && { models: models === null ? null : parseModels(models) }),
    ...(enabled !== undefined && { enabled }),
    ...(scope !== undefined && { scope: parseWord(scope, KEY_SCOPES, "scope") }),
  };
}

function parseExpiry(expiresAt: unknown, nowUs: InstantUs): InstantUs {
  const instant = typeof expiresAt === "string" && DATE_TIME.test(expiresAt) ? parseInstant(expiresAt) : null;
  if (instant === null) {
    throw refuseExpiry("expires_at is a UTC date-time such as 2027-01-31T08:00:00Z.");
  }
  if (instant <= nowUs) throw refuseExpiry("expires_at is in the past: give a later date and time.");
  return instant;
}

function refuseExpiry(message: string): ProxyError {
  return new ProxyError("invalid_expiry", message, { param: "expires_at" });
}

function parseModels(models: unknown): ReadonlySet<string> {
  const isList = Array.isArray(models) && models.length >= 1 && models.length <= KEY_MODELS_MAX;
  if (!isList || !models.every(isAlias)) {
    throw new ProxyError(
      "invalid_models",
      `models is a list of 1 to ${KEY_MODELS_MAX} aliases, or null for every model.`,
      { param: "models" },
    );
  }
  return new Set(models);
}

function isAlias(value: unknown): value is string {
  return typeof value === "string" && value.length <= ALIAS_LENGTH_MAX && ALIAS_PATTERN.test(value);
}

/** As whom a principal sets terms, be it on its own key or on another's. */
export function toTermSetter({ role }: Pick<Principal, "role">): TermSetter {
  return role === "admin" ? "admin" : "owner";
}

/**
 * The terms after a change. What an admin sets holds, and binds the owner. An owner ends sooner, allows fewer models,
 * narrows the scope and pauses, and takes back what it has set itself. Throws `admin_required` (with the field as param) for anything beyond what an admin
 * has set.
 */
export function reviseTerms(before: SecretTerms, change: TermsChange, setter: TermSetter): SecretTerms {
  const { expiresAtUs = before.expiresAtUs, models = before.models } = change;
  const pausedBy = reviseHold(before.pausedBy, change.enabled === undefined ? null : !change.enabled, {
    setter,
    refuse: () => refuseLoosening("enabled", "An admin has paused this: only an admin can resume it."),
  });
  const scopedBy = reviseHold(before.scopedBy, change.scope === undefined ? null : change.scope !== "full", {
    setter,
    refuse: () =>
      refuseLoosening("scope", "An admin has set the scope to inference: only an admin can make it full."),
  });
  if (setter === "admin") {
    return {
      expiresAtUs,
      models,
      pausedBy,
      scopedBy,
      adminExpiresAtUs: change.expiresAtUs === undefined ? before.adminExpiresAtUs : expiresAtUs,
      adminModels: change.models === undefined ? before.adminModels : models,
    };
  }
  if (change.expiresAtUs !== undefined && (expiresAtUs ?? Infinity) > (before.adminExpiresAtUs ?? Infinity)) {
    throw refuseLoosening("expires_at", "An admin has set when this ends: it may only end sooner.");
  }
  if (change.models !== undefined && !isWithin(models, before.adminModels)) {
    throw refuseLoosening("models", "An admin has set which models this may use: it may only use fewer.");
  }
  return { ...before, expiresAtUs, models, pausedBy, scopedBy };
}

/**
 * The setter that holds a secret back after a change that asks for that (true), for its end (false) or for neither (null). Throws what
 * `refuse` makes when an owner would end what an admin has begun.
 */
function reviseHold(
  heldBy: TermSetter | null,
  isHeld: boolean | null,
  { setter, refuse }: { readonly setter: TermSetter; readonly refuse: () => ProxyError },
): TermSetter | null {
  if (isHeld === null) return heldBy;
  if (setter === "owner" && heldBy === "admin") {
    if (!isHeld) throw refuse();
    return heldBy;
  }
  return isHeld ? setter : null;
}

/** True when all of the models are among those of a bound; null: every model. */
export function isWithin(models: ReadonlySet<string> | null, bound: ReadonlySet<string> | null): boolean {
  return bound === null || (models !== null && models.isSubsetOf(bound));
}

function refuseLoosening(param: string, message: string): ProxyError {
  return new ProxyError("admin_required", message, { param });
}

/**
 * Fixed tags as a client writes them: a list of `name:value` in the form of `x-proxy-tags`, or null for none. They are on all
 * usage of the principal or secret that has them. Throws `invalid_tags` (param `tags`).
 */
export function parseFixedTags(value: unknown): readonly string[] {
  if (value === null) return [];
  if (!Array.isArray(value) || value.length > TAG_PAIRS_MAX) throw refuseTags();
  const pairs = value.map(toPair);
  const names = new Set(pairs.map(toTagKey));
  if (names.size < pairs.length || pairs.join(",").length > TAGS_BYTES_MAX) throw refuseTags();
  return sortTags(pairs);
}

/** Throws `admin_required` for anyone but an admin, whatever is asked for; undefined: nothing is. */
export function parseTagsOf(value: unknown, setter: TermSetter): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (setter !== "admin") {
    throw new ProxyError("admin_required", "Fixed tags are set by an admin.", { param: "tags" });
  }
  return parseFixedTags(value);
}

function toPair(value: unknown): string {
  const pair = typeof value === "string" ? normaliseTag(value) : null;
  // It would be on every row of the request log.
  if (pair === null || containsOwnToken(pair)) throw refuseTags();
  return pair;
}

function refuseTags(): ProxyError {
  return new ProxyError(
    "invalid_tags",
    `tags is a list of up to ${TAG_PAIRS_MAX} pairs such as team:search, each with a name of its own, of ${TAGS_BYTES_MAX} characters in all.`,
    { param: "tags" },
  );
}
