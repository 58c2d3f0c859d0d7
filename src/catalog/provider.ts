import type { InstantUs } from "#kernel/clock.ts";
import { type SecretBox, OtherSecretError } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toHint } from "#kernel/nearest.ts";
import { type ValuesOf, type DraftOf, parseFields, toDefaults } from "#kernel/fields.ts";
import { type Endpoint, ENDPOINTS, isEndpoint } from "./endpoint.ts";
import { FORMER_CREDENTIAL_US, PROVIDER_SETTINGS } from "./provider-fields.ts";
import { isName, NAME_LENGTH_MAX } from "#kernel/text.ts";
import { fieldParam } from "./model.ts";
import { parseUpstreamUrl, toBaseUrl } from "./upstream-url.ts";

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
  /** When the credential was given, which sealing it anew for another address does not change. Null or absent: there is none, or it is older than this field. */
  readonly credentialSetAtUs?: InstantUs | null;
  /** The credential before this one, made by `sealFormer`; null or absent: none is kept. */
  readonly formerCredential?: Uint8Array | null;
  /** `credentialSetAtUs` of the former one. */
  readonly formerSetAtUs?: InstantUs | null;
  /** Until when the former one is kept, which is `FORMER_CREDENTIAL_US` after it was replaced. */
  readonly formerUntilUs?: InstantUs | null;
  readonly enabled: boolean;
  readonly createdAtUs: InstantUs;
}

/** A sealed credential is bound to these: with another row, another origin or other TLS settings it does not open. */
type CredentialBinding = Pick<Provider, "id" | "baseUrl" | "endpoints" | "verifyTls" | "caPem">;

/**
 * The additional data of a sealed credential. Whoever can write the database, but has no secret key, cannot have the
 * credential sent anywhere else: neither to another origin nor to a server whose certificate nobody checks.
 */
function credentialContext(binding: CredentialBinding): string {
  return JSON.stringify(["provider credential", ...toBound(binding)]);
}

function toBound({ id, baseUrl, endpoints, verifyTls, caPem }: CredentialBinding) {
  const origins = [baseUrl, ...Object.values(endpoints)].map((url) => new URL(url).origin);
  return [id, [...new Set(origins)].toSorted(), verifyTls, caPem] as const;
}

/** True where a credential that is sealed for one opens for the other: it goes to the same servers, checked in the same way. */
export function isBoundAlike(one: CredentialBinding, other: CredentialBinding): boolean {
  return credentialContext(one) === credentialContext(other);
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
  // An unchanged provider stays the same to the byte.
  if (apiKey === null || isBoundAlike(before, after)) return before.sealedCredential;
  return sealCredential(secrets, after, apiKey);
}

type FormerFields = Pick<Provider, "formerCredential" | "formerSetAtUs" | "formerUntilUs">;

export const NO_FORMER: FormerFields = { formerCredential: null, formerSetAtUs: null, formerUntilUs: null };

/** As `credentialContext`, and bound to its end: whoever can write the database cannot have it kept for longer. */
function formerContext(provider: CredentialBinding, untilUs: InstantUs): string {
  return JSON.stringify(["former provider credential", ...toBound(provider), untilUs]);
}

/**
 * Returns the fields that keep the credential of `provider` as its former one from now on. It stays bound to what the credential was
 * sealed for, so that it is never sent anywhere else.
 */
export function sealFormer(secrets: SecretBox, provider: Provider, nowUs: InstantUs): FormerFields {
  const apiKey = findCredential(secrets, provider);
  if (apiKey === null) return NO_FORMER;
  const formerUntilUs = nowUs + FORMER_CREDENTIAL_US;
  return {
    formerCredential: secrets.seal(apiKey, formerContext(provider, formerUntilUs)),
    formerSetAtUs: provider.credentialSetAtUs ?? null,
    formerUntilUs,
  };
}

/** The former credential in the clear; null when there is none, when its day is over, and for one that does not open. */
export function findFormer(
  secrets: Pick<SecretBox, "open">,
  provider: Provider,
  nowUs: InstantUs,
): string | null {
  const { formerCredential = null, formerUntilUs = null } = provider;
  if (formerCredential === null || formerUntilUs === null || formerUntilUs <= nowUs) return null;
  try {
    return secrets.open(formerCredential, formerContext(provider, formerUntilUs));
  } catch {
    return null;
  }
}

/** The fields of the former credential under another secret key; one that does not open is kept no longer. */
export function resealFormer(
  { secrets, next }: { readonly secrets: SecretBox; readonly next: SecretBox },
  provider: Provider,
): FormerFields {
  const { formerUntilUs = null, formerSetAtUs } = provider;
  const apiKey = findFormer(secrets, provider, -Infinity);
  if (apiKey === null || formerUntilUs === null) return NO_FORMER;
  const formerCredential = next.seal(apiKey, formerContext(provider, formerUntilUs));
  return { formerCredential, formerSetAtUs: formerSetAtUs ?? null, formerUntilUs };
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

/** Half of the 16 KiB in which common servers read a whole request head. */
export const API_KEY_LENGTH_MAX = 8192;

/** The fields that making and changing a provider both take, with their JSON types already checked (specification, section 2.3). */
interface ProviderWritten extends DraftOf<typeof PROVIDER_SETTINGS> {
  /** Empty is none. */
  readonly api_key?: string | undefined;
  /** Replaces the whole set. */
  readonly endpoints?: { readonly [endpoint: string]: string } | undefined;
}

export interface ProviderDraft extends ProviderWritten {
  readonly name: string;
  readonly base_url: string;
  readonly wire_format?: string | undefined;
}

export interface ProviderPatch extends ProviderWritten {
  readonly enabled?: boolean | undefined;
  readonly base_url?: string | undefined;
  readonly remove_credential?: boolean | undefined;
}

/** A provider without what its row gives it: id, time and sealed credentials. */
type ProviderFields = Omit<
  Provider,
  "id" | "createdAtUs" | "sealedCredential" | "credentialSetAtUs" | keyof FormerFields
>;

export interface ParsedProviderDraft {
  readonly fields: ProviderFields;
  readonly apiKey: string | null;
}

export interface ParsedProviderPatch {
  readonly fields: Partial<ProviderFields>;
  /** Null removes what is stored, undefined leaves it. */
  readonly apiKey: string | null | undefined;
}

/**
 * Throws `invalid_name`, `invalid_wire_format`, `invalid_base_url`, `invalid_endpoint`, `invalid_override`, and
 * `invalid_request` for the fields without a code of their own; `param` names the field. No message repeats a value.
 */
export function parseProviderDraft(draft: ProviderDraft): ParsedProviderDraft {
  if (!isName(draft.name)) {
    throw new ProxyError(
      "invalid_name",
      `A provider's name is 1 to ${NAME_LENGTH_MAX} lower-case letters, digits, dots, dashes and underscores, and starts with a letter or digit.`,
      { param: "name" },
    );
  }
  if (draft.wire_format !== undefined && draft.wire_format !== "openai") {
    throw new ProxyError("invalid_wire_format", "The only wire_format is openai.", { param: "wire_format" });
  }
  return {
    fields: {
      name: draft.name,
      wireFormat: "openai",
      baseUrl: parseBaseUrl(draft.base_url),
      endpoints: parseEndpoints(draft.endpoints ?? {}),
      ...toDefaults(PROVIDER_SETTINGS),
      ...parseFields(PROVIDER_SETTINGS, draft),
      enabled: true,
    },
    apiKey: parseApiKey(draft.api_key ?? ""),
  };
}

/** Throws as `parseProviderDraft` does; a key to store together with `remove_credential` is `invalid_request`. */
export function parseProviderPatch(patch: ProviderPatch): ParsedProviderPatch {
  const apiKey = patch.api_key === undefined ? undefined : parseApiKey(patch.api_key);
  if (patch.remove_credential === true && typeof apiKey === "string") {
    throw new ProxyError("invalid_request", "Send either api_key or remove_credential, not both.", {
      param: "remove_credential",
    });
  }
  return {
    fields: {
      ...(patch.enabled !== undefined && { enabled: patch.enabled }),
      ...(patch.base_url !== undefined && { baseUrl: parseBaseUrl(patch.base_url) }),
      ...(patch.endpoints !== undefined && { endpoints: parseEndpoints(patch.endpoints) }),
      ...parseFields(PROVIDER_SETTINGS, patch),
    },
    apiKey: patch.remove_credential === true ? null : apiKey,
  };
}

/** Text that can stand in a field value as it is (RFC 9110, section 5.5), without blanks at its ends. */
const HEADER_VALUE_PATTERN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Empty is none. Throws `invalid_request`, param `api_key`: a line break in it would end the header it is sent in. */
export function parseApiKey(text: string): string | null {
  if (text === "") return null;
  if (text.length > API_KEY_LENGTH_MAX || !HEADER_VALUE_PATTERN.test(text)) {
    throw new ProxyError(
      "invalid_request",
      `api_key is at most ${API_KEY_LENGTH_MAX} printable ASCII characters, without line breaks and without blanks at its ends.`,
      { param: "api_key" },
    );
  }
  return text;
}

function parseBaseUrl(text: string): string {
  const url = toBaseUrl(text);
  if (url === null) {
    throw new ProxyError(
      "invalid_base_url",
      "base_url is a full http or https URL including /v1, without user name, query, fragment or blanks, and not a cloud metadata address.",
      { param: "base_url" },
    );
  }
  return url;
}

function parseEndpoints(endpoints: { readonly [endpoint: string]: string }): EndpointOverrides {
  const overrides: { -readonly [endpoint in keyof EndpointOverrides]: string } = {};
  for (const [endpoint, text] of Object.entries(endpoints)) {
    if (!isEndpoint(endpoint)) {
      throw new ProxyError("invalid_endpoint", `The keys of endpoints are ${ENDPOINTS.join(", ")}.`, {
        param: fieldParam("endpoints", endpoint),
      });
    }
    // An override is called as it stands, so that it may carry a query (`?api-version=…`).
    const url = parseUpstreamUrl(text, { allowQuery: true });
    if (url === null) {
      throw new ProxyError(
        "invalid_override",
        "An override is a full http or https URL without user name, fragment or blanks, and not a cloud metadata address.",
        { param: fieldParam("endpoints", endpoint) },
      );
    }
    overrides[endpoint] = url;
  }
  return overrides;
}
