import { CATALOG_ENTRIES_MAX, within } from "#catalog/catalog-draft.ts";
import { requireLabel } from "#identity/keys.ts";
import { parsePrincipalDraft, type PrincipalDraft } from "#identity/principals.ts";
import type { Principal } from "#identity/principal.ts";
import {
  parseFixedTags,
  containsOwnToken,
  isOwnKeyText,
  parseTerms,
  type TermsChange,
} from "#identity/secret.ts";
import { type ErrorCode, ProxyError } from "#kernel/errors.ts";
import { hasControlCharacter, isName, NAME_LENGTH_MAX } from "#kernel/text.ts";
import { type LimitDraft, parseLimitDraft } from "#limits/limit-draft.ts";
import type { NewLimit } from "#limits/store.ts";

/** People, keys and limits as a client wrote them, with their JSON types already checked. Null: the file does not speak of them. */
export interface PeopleDraft {
  readonly principals: readonly PrincipalEntry[] | null;
  readonly keys: readonly KeyEntry[] | null;
  /** A `key` of a subject is the id of a key in the file, or of one that is stored. */
  readonly limits: readonly LimitDraft[] | null;
}

export interface PrincipalEntry extends PrincipalDraft {
  readonly enabled?: boolean | undefined;
}

export interface KeyEntry {
  /** A UUID, or a name: then it is the key of this owner with this label. */
  readonly id: string;
  /** The owner's name. */
  readonly principal: string;
  /** Default: the id where that is a name, else none. */
  readonly label?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly expiresAt?: unknown;
  readonly scope?: string | undefined;
  readonly models?: unknown;
  readonly tags?: unknown;
  /** The plaintext. */
  readonly secret?: string | undefined;
  /** Its SHA-256 in hexadecimal, for a plaintext that only its owner has. */
  readonly secretSha256?: string | undefined;
}

export interface ParsedPeople {
  readonly principals: readonly ParsedPrincipal[] | null;
  readonly keys: readonly ParsedKey[] | null;
  readonly limits: readonly ParsedLimit[] | null;
}

export interface ParsedPrincipal {
  readonly place: string;
  readonly name: string;
  /** Null: what it is, or a user. */
  readonly kind: Principal["kind"] | null;
  readonly wanted: Pick<Principal, "role" | "enabled" | "tags">;
}

export interface ParsedKey {
  readonly place: string;
  readonly id: string;
  readonly hasUuid: boolean;
  readonly owner: string;
  readonly label: string;
  readonly tags: readonly string[];
  /** What the file says of its terms, also of an expiry that has passed. */
  readonly terms: TermsChange;
  readonly secret: KeySecret | null;
}

export type KeySecret =
  | { readonly kind: "plaintext"; readonly text: string }
  | { readonly kind: "sha256"; readonly hex: string };

export interface ParsedLimit {
  readonly place: string;
  readonly limit: Omit<NewLimit, "id" | "createdAtUs">;
}

const UUID_PATTERN = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SHA256_PATTERN = /^[0-9a-f]{64}$/;

/**
 * Reads what can be judged without what is stored. Throws what the drafts of a principal, a key and a limit throw, with a `param`
 * that leads into the file: `keys.ci.expires_at`.
 */
export function parsePeopleDraft({ principals, keys, limits }: PeopleDraft): ParsedPeople {
  for (const [field, entries] of Object.entries({ principals, keys, limits })) {
    if ((entries?.length ?? 0) > CATALOG_ENTRIES_MAX)
      throw refuse(field, `A file has at most ${CATALOG_ENTRIES_MAX} ${field}.`);
  }
  return {
    principals: principals?.map(parsePrincipal) ?? null,
    keys: keys?.map(parseKey) ?? null,
    limits: limits?.map(parseLimit) ?? null,
  };
}

export function parsePrincipal(draft: PrincipalEntry): ParsedPrincipal {
  const place = toPlace("principals", draft.name);
  return within(place, () => {
    const { name, kind, role, tags } = parsePrincipalDraft(draft);
    const wanted = { role, enabled: draft.enabled ?? true, tags };
    return { place, name, kind: draft.kind === undefined ? null : kind, wanted };
  });
}

export function parseKey(draft: KeyEntry): ParsedKey {
  const place = toPlace("keys", draft.id);
  return within(place, () => {
    const { id, expiresAt, models, enabled, scope, tags = null } = draft;
    const hasUuid = UUID_PATTERN.test(id);
    if (!hasUuid && !isName(id)) {
      const message = `A key stands under its id, or under a name: 1 to ${NAME_LENGTH_MAX} lower-case letters, digits, dots, dashes and underscores.`;
      throw refuse("name", message, "invalid_name");
    }
    const label = draft.label ?? (hasUuid ? "" : id);
    requireLabel(label);
    // No moment is in the past: a key that has expired is written into the file, and read from it, as it is.
    const terms = parseTerms({ expiresAt, models, enabled, scope }, -Infinity);
    const owner = draft.principal;
    return {
      place,
      id,
      hasUuid,
      owner,
      label,
      tags: parseFixedTags(tags),
      terms,
      secret: parseSecret(draft),
    };
  });
}

/** No message repeats what was given. */
function parseSecret({ secret, secretSha256 }: KeyEntry): KeySecret | null {
  if (secret !== undefined && secretSha256 !== undefined)
    throw refuse("secret_sha256", "A key has a secret or its SHA-256, not both.");
  if (secretSha256 !== undefined) {
    if (!SHA256_PATTERN.test(secretSha256))
      throw refuse("secret_sha256", "secret_sha256 is 64 hexadecimal digits in lower case.");
    return { kind: "sha256", hex: secretSha256 };
  }
  if (secret === undefined) return null;
  if (!isOwnKeyText(secret)) throw refuse("secret", SECRET_FORM);
  return { kind: "plaintext", text: secret };
}

export const SECRET_FORM = "The secret of a key is lp_ and 43 random letters and digits.";

export function parseLimit(draft: LimitDraft): ParsedLimit {
  const place = toPlace("limits", draft.name);
  return within(place, () => ({ place, limit: parseLimitDraft(draft) }));
}

/** A name that would act on a terminal, or may be a secret, is not repeated. */
function toPlace(field: string, name: string): string {
  const isTold = name.length <= NAME_LENGTH_MAX && !hasControlCharacter(name) && !containsOwnToken(name);
  return isTold ? `${field}.${name}` : field;
}

export function refuse(param: string, message: string, code: ErrorCode = "invalid_request"): ProxyError {
  return new ProxyError(code, message, { param });
}
