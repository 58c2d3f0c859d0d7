import { type Actor, toAuditEntry } from "#audit/event.ts";
import {
  API_KEY_PREFIX,
  createSecretText,
  type ListedSecret,
  toSuffix,
  type OwnedSecret,
  RELAY_TOKEN_PREFIX,
  parseTagsOf,
  NO_TERMS,
  parseTerms,
  reviseTerms,
  type TermsDraft,
  isWithin,
  type SecretTerms,
  type TermsChange,
  type TermSetter,
} from "./secret.ts";
import type { SecretFilter, IdentityStore, SecretRemoval } from "./store.ts";
import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Page, Paged } from "#kernel/page.ts";
import { codePointLength, hasControlCharacter, LABEL_LENGTH_MAX } from "#kernel/text.ts";

/** The plaintext before a rotation works no longer than seven days more. */
export const ROTATION_GRACE_SECONDS_MAX = 604_800;

/** API keys: relay tokens have no rotation. */
export interface Keys extends OwnedSecrets {
  /**
   * Gives a key another plaintext; its id, label, terms and usage stay. The one before works for `graceSeconds` more, and the
   * one before that ends at once: a key has two plaintexts at most, and one after a rotation without grace. Throws `key_not_found`,
   * also when `principalId` is not its owner, and `admin_required` for a key that may rotate only itself.
   */
  rotate(
    filter: SecretFilter,
    rotation: SecretMaker & { readonly graceSeconds: number },
    actor: Actor,
  ): Promise<CreatedSecret & { readonly secret: ListedSecret }>;
}

export function createKeys(deps: OwnedSecretsDeps): Keys {
  const { store, secrets, clock, ids } = deps;
  return {
    ...createOwnedSecrets("keys", deps),
    async rotate(filter, { graceSeconds, ...maker }, actor) {
      requireOwnRotation(filter.id, maker);
      const plaintext = createSecretText(API_KEY_PREFIX, ids);
      const plan = () => ({
        rotation: {
          // Under the write lock, by the secret key that the catalog has then.
          hash: secrets.hashToken(plaintext),
          suffix: toSuffix(plaintext),
          formerUntilUs: graceSeconds === 0 ? null : clock.nowUs() + graceSeconds * 1_000_000,
        },
      });
      const entry = { action: "key.rotate", targetKind: "api_key", targetRef: filter.id } as const;
      const secret = await store.keys.change(filter, plan, toAuditEntry(actor, entry));
      return { secret, plaintext };
    },
  };
}

/** Both kinds by their name in the store. A relay token only says to whom a relayed request is attributed. */
const KINDS = {
  keys: {
    prefix: API_KEY_PREFIX,
    targetKind: "api_key",
    noun: "key",
    inherit: inheritTerms,
  },
  relayTokens: {
    prefix: RELAY_TOKEN_PREFIX,
    targetKind: "relay_token",
    noun: "relay_token",
    inherit: inheritRelayTerms,
  },
} as const;
type SecretKindName = keyof typeof KINDS;

export interface SecretPatch extends TermsDraft, SecretMaker {
  readonly label?: string | undefined;
  /** A list of `name:value`, or null for none. */
  readonly tags?: unknown;
}

export interface SecretDraft extends SecretPatch {
  readonly principalId: string;
}

interface CreatedSecret {
  readonly secret: OwnedSecret;
  /** To be shown once; only its keyed hash is stored. */
  readonly plaintext: string;
}

/** The secrets of one kind, both a caller's own and those of any principal. */
export interface OwnedSecrets {
  /**
   * Resolves only once the secret is committed. One that a key makes for the key's owner has its fixed tags where none are
   * given. Throws `invalid_label`, `invalid_expiry`, `invalid_models`, `invalid_tags`, `admin_required`, `principal_not_found`,
   * and `too_many_keys` or `too_many_relay_tokens`.
   */
  create(draft: SecretDraft, actor: Actor): Promise<CreatedSecret>;
  /** By creation time, of one principal or of all. */
  list(filter: { readonly principalId?: string }, page: Page): Promise<Paged<ListedSecret>>;
  /**
   * Holds from the very next request. Throws `invalid_label`, `invalid_expiry`, `invalid_models`, `invalid_tags`,
   * `admin_required`, and like `delete`.
   */
  update(filter: SecretFilter, patch: SecretPatch, actor: Actor): Promise<ListedSecret>;
  /** Stops the secret at once. Throws `key_not_found` or `relay_token_not_found`, also when `principalId` is not its owner. */
  delete(filter: SecretFilter, actor: Actor): Promise<void>;
  /** Finds all that `delete` would remove. Throws as it does, and changes nothing. */
  findRemoval(filter: SecretFilter): Promise<SecretRemoval>;
}

interface OwnedSecretsDeps {
  readonly store: Pick<IdentityStore, SecretKindName>;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createOwnedSecrets(
  name: SecretKindName,
  { store, secrets, clock, ids }: OwnedSecretsDeps,
): OwnedSecrets {
  const { prefix, targetKind, noun, inherit } = KINDS[name];
  const toEntry = (actor: Actor, verb: "create" | "update" | "delete", id: string) =>
    toAuditEntry(actor, { action: `${noun}.${verb}`, targetKind, targetRef: id });
  return {
    async create({ principalId, label = "", setter = "owner", key = null, tags, ...draft }, actor) {
      requireLabel(label);
      const change = inherit(parseTerms(draft, clock.nowUs()), key);
      const ownTags = key?.principalId === principalId ? key.tags : [];
      const plaintext = createSecretText(prefix, ids);
      const secret = {
        id: ids.uuid(),
        principalId,
        suffix: toSuffix(plaintext),
        label,
        createdAtUs: clock.nowUs(),
        terms: reviseTerms(NO_TERMS, change, setter),
        tags: parseTagsOf(tags, setter) ?? ownTags,
      };
      const hash = secrets.hashToken(plaintext);
      await store[name].create({ ...secret, hash }, toEntry(actor, "create", secret.id));
      return { secret, plaintext };
    },
    list: (filter, page) => store[name].list(filter, page),
    async update(filter, { label, setter = "owner", key = null, tags, ...draft }, actor) {
      if (label !== undefined) requireLabel(label);
      const change = parseTerms(draft, clock.nowUs());
      const fixed = parseTagsOf(tags, setter);
      if (fixed !== undefined) requireSameTags(key);
      const plan = (before: OwnedSecret) => {
        const terms = reviseTerms(before.terms, change, setter);
        requireNarrower(before.terms, terms, key);
        return { ...(label !== undefined && { label }), ...(fixed !== undefined && { tags: fixed }), terms };
      };
      return store[name].change(filter, plan, toEntry(actor, "update", filter.id));
    },
    delete: (filter, actor) => store[name].delete(filter, toEntry(actor, "delete", filter.id)),
    findRemoval: (filter) => store[name].findRemoval(filter),
  };
}

/** Throws `invalid_label`: longer than 120 characters, or with control characters, which would act on a terminal. */
export function requireLabel(label: string): void {
  if (codePointLength(label) > LABEL_LENGTH_MAX || hasControlCharacter(label) || !label.isWellFormed()) {
    throw new ProxyError(
      "invalid_label",
      `A label is at most ${LABEL_LENGTH_MAX} characters, without control characters.`,
      { param: "label" },
    );
  }
}

/**
 * As whom a secret is made or changed, and by which key. A key that has an expiry or models makes keys that are never wider than
 * itself, and only narrows others: who has one key has no more than that. A key for inference makes and changes none: the door
 * refuses it. A session and a local command have no key.
 */
export interface SecretMaker {
  /** Default `owner`. */
  readonly setter?: TermSetter;
  /** Default null. */
  readonly key?: OwnedSecret | null;
}

/**
 * The terms of a key that `key` makes: what is left out is inherited. Throws `admin_required` (with the field as param) for
 * what would be wider.
 */
function inheritTerms(asked: TermsChange, key: OwnedSecret | null): TermsChange {
  if (key === null) return asked;
  const { expiresAtUs, models } = key.terms;
  const made = {
    ...asked,
    ...(expiresAtUs !== null && asked.expiresAtUs === undefined && { expiresAtUs }),
    ...(models !== null && asked.models === undefined && { models }),
  };
  if ((made.expiresAtUs ?? Infinity) > (expiresAtUs ?? Infinity)) {
    throw refuse("What this key makes ends no later than the key itself.", "expires_at");
  }
  if (!isWithin(made.models ?? null, models)) {
    throw refuse("What this key makes may use no other models than the key itself.", "models");
  }
  return made;
}

/** `inheritTerms` for a relay token, which cannot be held to aliases: the names on the relay are the provider's. */
function inheritRelayTerms(asked: TermsChange, key: OwnedSecret | null): TermsChange {
  if (key !== null && key.terms.models !== null) {
    throw refuse("This key may use some models only, and a relay token reaches any: sign in to make one.");
  }
  return inheritTerms(asked, key);
}

/** Throws `admin_required` (with the field as param) when a key that has terms would widen a secret. */
function requireNarrower(before: SecretTerms, after: SecretTerms, key: OwnedSecret | null): void {
  if (key === null || !hasTerms(key)) return;
  if ((after.expiresAtUs ?? Infinity) > (before.expiresAtUs ?? Infinity)) {
    throw refuse("This key has limits of its own: it may only set an earlier end.", "expires_at");
  }
  if (!isWithin(after.models, before.models)) {
    throw refuse("This key has limits of its own: it may only take models away.", "models");
  }
  if (before.pausedBy !== null && after.pausedBy === null) {
    throw refuse("This key has limits of its own: it cannot resume what is paused.", "enabled");
  }
  if (before.scopedBy !== null && after.scopedBy === null) {
    throw refuse("This key has limits of its own: it cannot widen a scope.", "scope");
  }
}

/** Throws `admin_required` when a key that has terms would change fixed tags. */
function requireSameTags(key: OwnedSecret | null): void {
  if (key === null || !hasTerms(key)) return;
  throw refuse("This key has limits of its own: it cannot change fixed tags.", "tags");
}

/**
 * Throws `admin_required` when a key with terms, or an owner's key with fixed tags, rotates another: the new secret would be
 * one without them.
 */
function requireOwnRotation(id: string, { setter = "owner", key = null }: SecretMaker): void {
  if (key === null || key.id === id) return;
  if (!hasTerms(key) && (setter === "admin" || key.tags.length === 0)) return;
  throw refuse("This key has limits of its own: it may rotate only itself.");
}

/**
 * Throws `admin_required` when a key that has terms would set keys as a file has them: their terms are set as by an admin, and
 * their secrets are known to whoever wrote it.
 */
export function requireFreeMaker({ key = null }: SecretMaker): void {
  if (key === null || !hasTerms(key)) return;
  throw refuse(
    "This key has limits of its own: it cannot apply a file that has keys. Use a key without an expiry and models, or sign in.",
    "keys",
  );
}

function hasTerms({ terms }: OwnedSecret): boolean {
  return terms.expiresAtUs !== null || terms.models !== null;
}

function refuse(message: string, param?: string): ProxyError {
  return new ProxyError("admin_required", message, param === undefined ? {} : { param });
}
