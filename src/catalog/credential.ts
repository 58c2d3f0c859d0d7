import type { SecretBox } from "#kernel/crypto.ts";
import type { Provider } from "./provider.ts";
import { credentialContext } from "./provider.ts";

/** The upstream credential as it is stored: AES-256-GCM, bound to the row of the provider with this id. */
export function sealCredential(secrets: SecretBox, providerId: string, apiKey: string): Uint8Array {
  return secrets.seal(apiKey, credentialContext(providerId));
}

/**
 * The upstream credential in the clear, or null when the provider has none. For the `Authorization` header of an upstream
 * call and nothing else. Throws (a plain Error, not a refusal) when the ciphertext was altered or moved to another row.
 */
export function openCredential(secrets: SecretBox, provider: Provider): string | null {
  if (provider.sealedCredential === null) return null;
  return secrets.open(provider.sealedCredential, credentialContext(provider.id));
}
