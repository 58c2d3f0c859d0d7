import type { InstantUs } from "#kernel/clock.ts";
import type { Endpoint } from "./capability.ts";
import type { SecretBox } from "#kernel/crypto.ts";

export const TIMEOUT_CONNECT_SECONDS_DEFAULT = 10;
export const TIMEOUT_READ_SECONDS_DEFAULT = 300;

export type EndpointOverrides = { readonly [endpoint in Endpoint]?: string };

/** An upstream that serves the chat-completions dialect (specification, section 2.3). Immutable: a change makes a new object. */
export interface Provider {
  /** Internal and never reused: a name used again does not inherit the deleted one's history. */
  readonly id: string;
  readonly name: string;
  readonly wireFormat: "openai";
  /** Including `/v1`, without a trailing slash, user info, query or fragment. */
  readonly baseUrl: string;
  readonly endpoints: EndpointOverrides;
  /** AES-256-GCM, bound to this row by `credentialContext`. */
  readonly sealedCredential: Uint8Array | null;
  readonly verifyTls: boolean;
  readonly caPem: string | null;
  readonly timeoutConnectSeconds: number;
  readonly timeoutReadSeconds: number;
  /** Null is unlimited. */
  readonly maxConcurrency: number | null;
  readonly enabled: boolean;
  readonly createdAtUs: InstantUs;
}

/** The additional data that binds a sealed credential to its provider's row. */
export function credentialContext(providerId: string): string {
  return `provider:${providerId}:credential`;
}

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
