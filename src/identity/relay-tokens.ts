import type { Actor, AuditAction, AuditEntry } from "#audit/event.ts";
import { toAuditEntry } from "#audit/event.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { KeysDeps } from "./keys.ts";
import { requireLabel } from "./keys.ts";
import type { OwnedRelayToken, RelayToken } from "./relay-token.ts";
import { RELAY_TOKEN_PREFIX } from "./relay-token.ts";
import { createSecretText, toSuffix } from "./secret.ts";

export interface RelayTokenDraft {
  readonly principalId: string;
  readonly label?: string | undefined;
}

export interface CreatedRelayToken {
  readonly token: RelayToken;
  /** To be shown once; only its keyed hash is stored. */
  readonly plaintext: string;
}

export interface RelayTokens {
  /** Resolves only once the token is committed. Throws `invalid_label` and `principal_not_found`. */
  create(draft: RelayTokenDraft, actor: Actor): Promise<CreatedRelayToken>;
  /** By creation time, of one principal or of all. */
  list(filter: { readonly principalId?: string }, page: Page): Promise<Paged<OwnedRelayToken>>;
  /** Stops the token at once. Throws `relay_token_not_found`, also when `principalId` is given and is not its owner. */
  delete(filter: { readonly id: string; readonly principalId?: string }, actor: Actor): Promise<void>;
}

/** Relay tokens (specification, section 2.7): like keys, but they only say to whom a relayed request is attributed. */
export function createRelayTokens({ store, secrets, clock, ids }: KeysDeps): RelayTokens {
  return {
    async create({ principalId, label = "" }, actor) {
      requireLabel(label);
      const plaintext = createSecretText(RELAY_TOKEN_PREFIX, ids);
      const token = {
        id: ids.uuid(),
        principalId,
        suffix: toSuffix(plaintext),
        label,
        createdAtUs: clock.nowUs(),
      };
      await store.createRelayToken(
        { ...token, hash: secrets.hashToken(plaintext) },
        toTokenEntry(actor, "relay_token.create", token.id),
      );
      return { token, plaintext };
    },
    list: (filter, page) => store.listRelayTokens(filter, page),
    delete: (filter, actor) =>
      store.deleteRelayToken(filter, toTokenEntry(actor, "relay_token.delete", filter.id)),
  };
}

function toTokenEntry(actor: Actor, action: AuditAction, tokenId: string): AuditEntry | null {
  return toAuditEntry(actor, { action, targetKind: "relay_token", targetRef: tokenId });
}
