import { ProxyError } from "#kernel/errors.ts";
import { isName, NAME_LENGTH_MAX } from "#kernel/text.ts";
import { AUTH_STYLE_DEFAULT } from "./auth-style.ts";
import { ENDPOINTS, isEndpoint } from "./endpoint.ts";
import {
  parseApiKey,
  parseAuthStyle,
  parseCaPem,
  parseMaxConcurrency,
  parseTimeout,
} from "./provider-fields.ts";
import {
  type EndpointOverrides,
  type Provider,
  TIMEOUT_CONNECT_SECONDS_DEFAULT,
  TIMEOUT_READ_SECONDS_DEFAULT,
} from "./provider.ts";
import { fieldParam } from "./model-draft.ts";
import { parseUpstreamUrl, toBaseUrl } from "./upstream-url.ts";

/** What an admin writes to make a provider (specification, section 2.3), with its JSON types already checked. */
export interface ProviderDraft {
  readonly name: string;
  readonly baseUrl: string;
  readonly wireFormat?: string | undefined;
  /** Empty is none. */
  readonly apiKey?: string | undefined;
  readonly authStyle?: string | undefined;
  readonly verifyTls?: boolean | undefined;
  /** Empty is none. */
  readonly caPem?: string | undefined;
  readonly timeoutConnectSeconds?: number | undefined;
  readonly timeoutReadSeconds?: number | undefined;
  /** Zero or less, like null, is unlimited. */
  readonly maxConcurrency?: number | null | undefined;
  readonly endpoints?: { readonly [endpoint: string]: string } | undefined;
}

export interface ProviderPatch {
  readonly enabled?: boolean | undefined;
  readonly baseUrl?: string | undefined;
  /** Empty removes the stored credential. */
  readonly apiKey?: string | undefined;
  readonly removeCredential?: boolean | undefined;
  readonly authStyle?: string | undefined;
  readonly verifyTls?: boolean | undefined;
  /** Empty removes the custom trust root. */
  readonly caPem?: string | undefined;
  readonly timeoutConnectSeconds?: number | undefined;
  readonly timeoutReadSeconds?: number | undefined;
  /** Zero or less, like null, clears the cap. */
  readonly maxConcurrency?: number | null | undefined;
  /** Replaces the whole set. */
  readonly endpoints?: { readonly [endpoint: string]: string } | undefined;
}

/** A provider without what its row gives it: id, time and sealed credential. */
export type ProviderFields = Omit<Provider, "id" | "createdAtUs" | "sealedCredential">;

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
  if (draft.wireFormat !== undefined && draft.wireFormat !== "openai") {
    throw new ProxyError("invalid_wire_format", "The only wire_format is openai.", { param: "wire_format" });
  }
  return {
    fields: {
      name: draft.name,
      wireFormat: "openai",
      baseUrl: parseBaseUrl(draft.baseUrl),
      endpoints: parseEndpoints(draft.endpoints ?? {}),
      authStyle: parseAuthStyle(draft.authStyle ?? AUTH_STYLE_DEFAULT),
      verifyTls: draft.verifyTls ?? true,
      caPem: parseCaPem(draft.caPem ?? ""),
      timeoutConnectSeconds: parseTimeout(
        draft.timeoutConnectSeconds ?? TIMEOUT_CONNECT_SECONDS_DEFAULT,
        "timeout_connect",
      ),
      timeoutReadSeconds: parseTimeout(
        draft.timeoutReadSeconds ?? TIMEOUT_READ_SECONDS_DEFAULT,
        "timeout_read",
      ),
      maxConcurrency: parseMaxConcurrency(draft.maxConcurrency ?? null),
      enabled: true,
    },
    apiKey: parseApiKey(draft.apiKey ?? ""),
  };
}

/** Throws as `parseProviderDraft` does; a key to store together with `remove_credential` is `invalid_request`. */
export function parseProviderPatch(patch: ProviderPatch): ParsedProviderPatch {
  const apiKey = patch.apiKey === undefined ? undefined : parseApiKey(patch.apiKey);
  if (patch.removeCredential === true && typeof apiKey === "string") {
    throw new ProxyError("invalid_request", "Send either api_key or remove_credential, not both.", {
      param: "remove_credential",
    });
  }
  return {
    fields: {
      ...(patch.enabled !== undefined && { enabled: patch.enabled }),
      ...(patch.baseUrl !== undefined && { baseUrl: parseBaseUrl(patch.baseUrl) }),
      ...(patch.endpoints !== undefined && { endpoints: parseEndpoints(patch.endpoints) }),
      ...(patch.authStyle !== undefined && { authStyle: parseAuthStyle(patch.authStyle) }),
      ...(patch.verifyTls !== undefined && { verifyTls: patch.verifyTls }),
      ...(patch.caPem !== undefined && { caPem: parseCaPem(patch.caPem) }),
      ...(patch.timeoutConnectSeconds !== undefined && {
        timeoutConnectSeconds: parseTimeout(patch.timeoutConnectSeconds, "timeout_connect"),
      }),
      ...(patch.timeoutReadSeconds !== undefined && {
        timeoutReadSeconds: parseTimeout(patch.timeoutReadSeconds, "timeout_read"),
      }),
      ...(patch.maxConcurrency !== undefined && {
        maxConcurrency: parseMaxConcurrency(patch.maxConcurrency),
      }),
    },
    apiKey: patch.removeCredential === true ? null : apiKey,
  };
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
