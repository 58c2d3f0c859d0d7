import type { InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toHint } from "#kernel/nearest.ts";
import type { ValuesOf } from "#kernel/fields.ts";
import { OtherSecretError } from "#kernel/keyring.ts";
import type { Endpoint } from "./endpoint.ts";
import type { PROVIDER_SETTINGS } from "./provider-fields.ts";

export type EndpointOverrides = { readonly [endpoint in Endpoint]?: string };

/** An upstream that serves the chat-completions dialect (specification, section 2.3). Immutable: a change makes a new object. */
export interface Provider extends ValuesOf<typeof PROVIDER_SETTINGS> {
  /** Internal and never reused: a name used again does not inherit the deleted one's history. */
  readonly id: string;
  readonly name: string;
  readonly wireFormat: "openai";
  /** Including `/v1`, without a trailing slash, user info, query or fragment. */
  readonly baseUrl: string;
  readonly endpoints: EndpointOverrides;
  /** AES-256-GCM, made by `sealCredential`. */
  readonly sealedCredential: Uint8Array | null;
  readonly enabled: boolean;
  readonly createdAtUs: InstantUs;
}

/** What a sealed credential is bound to: with another row, another origin or other TLS settings it does not open. */
type CredentialBinding = Pick<Provider, "id" | "baseUrl" | "endpoints" | "verifyTls" | "caPem">;

/**
 * The additional data of a sealed credential. Whoever can write the database, but has no secret key, cannot have the
 * credential sent anywhere else: neither to another origin nor to a server whose certificate nobody checks.
 */
function credentialContext({ id, baseUrl, endpoints, verifyTls, caPem }: CredentialBinding): string {
  const origins = [baseUrl, ...Object.values(endpoints)].map((url) => new URL(url).origin);
  return JSON.stringify(["provider credential", id, [...new Set(origins)].toSorted(), verifyTls, caPem]);
}

/** The upstream credential as it is stored: AES-256-GCM, bound to the provider's row, origins and TLS settings. */
export function sealCredential(
  secrets: Pick<SecretBox, "seal">,
  provider: CredentialBinding,
  apiKey: string,
): Uint8Array {
  return secrets.seal(apiKey, credentialContext(provider));
}

/**
 * The upstream credential in the clear, or null when the provider has none. For the header of an upstream call that
 * `toAuthHeader` makes, and nothing else. Throws `internal_error` when the ciphertext was altered, or anything that it is bound to was.
 */
export function openCredential(secrets: SecretBox, provider: Provider): string | null {
  const { name, sealedCredential } = provider;
  if (sealedCredential === null) return null;
  try {
    return secrets.open(sealedCredential, credentialContext(provider));
  } catch (cause) {
    if (cause instanceof OtherSecretError) {
      throw new ProxyError(
        "internal_error",
        `The stored credential of the provider ${name} is sealed by another secret key than this server has: start it with the key that the database was made with or rotated to.`,
        { cause },
      );
    }
    throw new ProxyError(
      "internal_error",
      `The stored credential of the provider ${name} was not sealed for its present address: its row was changed by something other than Lockport, and nothing was sent. Look at its base URL and set its API key again.`,
      { cause },
    );
  }
}

/** As `openCredential`; null also for one that does not open. */
export function findCredential(secrets: SecretBox, provider: Provider): string | null {
  try {
    return openCredential(secrets, provider);
  } catch {
    return null;
  }
}

/**
 * The stored credential for the provider as it will be. One that does not open stays as it is: it opens again when its
 * provider gets back what it was sealed for, and never for anything else.
 */
export function rebindCredential(
  secrets: SecretBox,
  { before, after }: { readonly before: Provider; readonly after: CredentialBinding },
): Uint8Array | null {
  const apiKey = findCredential(secrets, before);
  // What is the same stays the same to the byte: nothing was changed.
  if (apiKey === null || credentialContext(before) === credentialContext(after))
    return before.sealedCredential;
  return sealCredential(secrets, after, apiKey);
}

/** The refusal of a name, with the provider that was probably meant: for callers who may see all of them. */
export function toProviderNotFound(
  { providers }: { readonly providers: readonly Pick<Provider, "name">[] },
  name: string,
  param: string | null = null,
): ProxyError {
  const hint = toHint(
    name,
    providers.map((provider) => provider.name),
  );
  return new ProxyError("provider_not_found", `No such provider.${hint}`, param === null ? {} : { param });
}
