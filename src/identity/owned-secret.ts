import { type Actor, type AuditAction, type AuditTargetKind, toAuditEntry } from "#audit/event.ts";
import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Page, Paged } from "#kernel/page.ts";
import { codePointLength, hasControlCharacter, LABEL_LENGTH_MAX } from "#kernel/text.ts";
import {
  type ListedSecret,
  type OwnedSecret,
  API_KEY_PREFIX,
  createSecretText,
  RELAY_TOKEN_PREFIX,
  toSuffix,
} from "./secret.ts";
import { parseTagsOf } from "./fixed-tags.ts";
import {
  inheritRelayTerms,
  inheritTerms,
  requireNarrower,
  requireSameTags,
  type SecretMaker,
} from "./secret-maker.ts";
import { NO_TERMS, parseTerms, reviseTerms, type TermsDraft } from "./secret-terms.ts";
import type { IdentityStore, SecretFilter, SecretRemoval } from "./store.ts";

interface SecretKind {
  readonly prefix: string;
  readonly targetKind: AuditTargetKind;
  readonly createAction: AuditAction;
  readonly updateAction: AuditAction;
  readonly deleteAction: AuditAction;
  readonly inherit: typeof inheritTerms;
}

/** Both kinds by their name in the store. A relay token only says to whom a relayed request is attributed. */
const KINDS = {
  keys: {
    prefix: API_KEY_PREFIX,
    targetKind: "api_key",
    createAction: "key.create",
    updateAction: "key.update",
    deleteAction: "key.delete",
    inherit: inheritTerms,
  },
  relayTokens: {
    prefix: RELAY_TOKEN_PREFIX,
    targetKind: "relay_token",
    createAction: "relay_token.create",
    updateAction: "relay_token.update",
    deleteAction: "relay_token.delete",
    inherit: inheritRelayTerms,
  },
} as const satisfies { readonly [kind: string]: SecretKind };
export type SecretKindName = keyof typeof KINDS;

export interface SecretPatch extends TermsDraft, SecretMaker {
  readonly label?: string | undefined;
  /** A list of `name:value`, or null for none. */
  readonly tags?: unknown;
}

export interface SecretDraft extends SecretPatch {
  readonly principalId: string;
}

export interface CreatedSecret {
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
  /** What `delete` would remove. Throws as it does, and changes nothing. */
  findRemoval(filter: SecretFilter): Promise<SecretRemoval>;
}

export interface OwnedSecretsDeps {
  readonly store: Pick<IdentityStore, SecretKindName>;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createOwnedSecrets(
  name: SecretKindName,
  { store, secrets, clock, ids }: OwnedSecretsDeps,
): OwnedSecrets {
  const { prefix, targetKind, createAction, updateAction, deleteAction, inherit } = KINDS[name];
  const toEntry = (actor: Actor, action: AuditAction, id: string) =>
    toAuditEntry(actor, { action, targetKind, targetRef: id });
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
      await store[name].create({ ...secret, hash }, toEntry(actor, createAction, secret.id));
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
      return store[name].change(filter, plan, toEntry(actor, updateAction, filter.id));
    },
    delete: (filter, actor) => store[name].delete(filter, toEntry(actor, deleteAction, filter.id)),
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
