import { type Actor, toAuditEntry } from "#audit/event.ts";
import {
  createOwnedSecrets,
  type CreatedSecret,
  type OwnedSecrets,
  type OwnedSecretsDeps,
} from "./owned-secret.ts";
import { API_KEY_PREFIX, createSecretText, type ListedSecret, toSuffix } from "./secret.ts";
import { requireOwnRotation, type SecretMaker } from "./secret-maker.ts";
import type { SecretFilter } from "./store.ts";

/** How long the plaintext before a rotation may go on working: seven days. */
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
