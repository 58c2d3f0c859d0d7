import type { Actor, AuditAction, AuditEntry } from "#audit/event.ts";
import { toAuditEntry } from "#audit/event.ts";
import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Page, Paged } from "#kernel/page.ts";
import { codePointLength, hasControlCharacter, LABEL_LENGTH_MAX } from "#kernel/text.ts";
import type { ApiKey, OwnedApiKey } from "./key.ts";
import { API_KEY_PREFIX } from "./key.ts";
import { createSecretText, toSuffix } from "./secret.ts";
import type { IdentityStore } from "./store.ts";

export interface KeyDraft {
  readonly principalId: string;
  readonly label?: string | undefined;
}

export interface CreatedKey {
  readonly key: ApiKey;
  /** To be shown once; only its keyed hash is stored. */
  readonly plaintext: string;
}

export interface Keys {
  /** Resolves only once the key is committed. Throws `invalid_label` and `principal_not_found`. */
  create(draft: KeyDraft, actor: Actor): Promise<CreatedKey>;
  /** By creation time, of one principal or of all. */
  list(filter: { readonly principalId?: string }, page: Page): Promise<Paged<OwnedApiKey>>;
  /** Stops the key at once. Throws `key_not_found`, also when `principalId` is given and is not its owner. */
  delete(filter: { readonly id: string; readonly principalId?: string }, actor: Actor): Promise<void>;
}

export interface KeysDeps {
  readonly store: IdentityStore;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** API keys (specification, section 2.7), both one's own and those of any principal. */
export function createKeys({ store, secrets, clock, ids }: KeysDeps): Keys {
  return {
    async create({ principalId, label = "" }, actor) {
      requireLabel(label);
      const plaintext = createSecretText(API_KEY_PREFIX, ids);
      const key = {
        id: ids.uuid(),
        principalId,
        suffix: toSuffix(plaintext),
        label,
        createdAtUs: clock.nowUs(),
      };
      await store.createKey(
        { ...key, hash: secrets.hashToken(plaintext) },
        toKeyEntry(actor, "key.create", key.id),
      );
      return { key, plaintext };
    },
    list: (filter, page) => store.listKeys(filter, page),
    delete: (filter, actor) => store.deleteKey(filter, toKeyEntry(actor, "key.delete", filter.id)),
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

function toKeyEntry(actor: Actor, action: AuditAction, keyId: string): AuditEntry | null {
  return toAuditEntry(actor, { action, targetKind: "api_key", targetRef: keyId });
}
