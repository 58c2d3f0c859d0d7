import { openCredential, sealCredential } from "#catalog/provider.ts";
import { FORMER_SECRETS_MAX, type SecretBox } from "#kernel/crypto.ts";
import { ProxyError, SetupError } from "#kernel/errors.ts";
import type { Keyring, SecretState } from "#kernel/keyring.ts";
import { type ProviderRow, toProvider } from "./catalog-rows.ts";
import { UnreadableRowError } from "./unreadable.ts";

export type Boxes = { readonly secrets: SecretBox; readonly next: SecretBox };

/** Throws a SetupError unless the catalog's secret is still the one that `secrets` holds; to be asked under the lock. */
export function requirePresentSecret(state: SecretState | null, secrets: Keyring): void {
  if (state?.checkValue === secrets.checkValue && secrets.follow(state)) return;
  throw new SetupError(
    "failure",
    "Another command has rotated the secret key meanwhile: nothing was changed by this one.",
  );
}

/** What the catalog holds of secrets after the rotation. Throws a SetupError for too many former ones. */
export function toNextState({ secrets, next }: Boxes, revokesKeys: boolean): SecretState {
  const sealedTokenKeys = revokesKeys ? [] : secrets.sealTokenKeys(next);
  if (sealedTokenKeys.length <= FORMER_SECRETS_MAX) return { checkValue: next.checkValue, sealedTokenKeys };
  throw new SetupError(
    "failure",
    `Keys are verified by ${FORMER_SECRETS_MAX} former secrets already: rotate with --revoke-keys, and have new keys made.`,
  );
}

/** Null for a provider without a credential. Throws a SetupError for one that does not open: the former secret key is its last chance. */
export function resealCredential({ secrets, next }: Boxes, row: ProviderRow): Buffer | null {
  try {
    const provider = toProvider(row);
    const apiKey = openCredential(secrets, provider);
    return apiKey === null ? null : Buffer.from(sealCredential(next, provider, apiKey));
  } catch (cause) {
    if (cause instanceof UnreadableRowError)
      throw new SetupError(
        "failure",
        `Nothing was rotated: ${cause.message}. Correct or delete the row.`,
        cause,
      );
    if (!(cause instanceof ProxyError)) throw cause;
    throw new SetupError("failure", `Nothing was rotated. ${cause.message}`, cause);
  }
}
