import { queryOptions } from "@tanstack/react-query";
import {
  discoverModels,
  type Provider,
  type ProviderDraft,
  type ProviderPatch,
  PROVIDERS,
  testChange,
  type TestedProvider,
  testProvider,
} from "../api/catalog.ts";
import { changing } from "../api/changing.ts";
import { ApiFailure } from "../api/failure.ts";
import { KEYS } from "../api/keys.ts";

/**
 * What a provider lists now: never an earlier answer, and asked once, since a failure is what one wants to read. A list that
 * has come stays, whatever else is refetched: what was ticked and typed in it would be lost.
 */
export function discoveryQuery(provider: string) {
  return queryOptions({
    queryKey: [...KEYS.discovery, provider],
    queryFn: ({ signal }) => discoverModels(provider, signal),
    retry: false,
    staleTime: "static",
    gcTime: 0,
  });
}

interface Untested {
  /** It is saved as it is, whatever a test would say. */
  readonly skipsTest: boolean;
}

/** Makes a provider once its test has passed; with what that has found. */
export const createTested = changing(
  async ({ draft, skipsTest }: { readonly draft: ProviderDraft } & Untested) => {
    const found = skipsTest ? null : requirePassed(await testProvider(draft), {});
    return { provider: await PROVIDERS.create.run(draft), found };
  },
  PROVIDERS.create.refresh,
);

/** Changes a provider, after a test that has passed where its connection changes. */
export const updateTested = changing(
  async ({ skipsTest, ...change }: Parameters<typeof PROVIDERS.update.run>[0] & Untested) => {
    const { id, patch } = change;
    if (!skipsTest && isTestable(patch)) requirePassed(await testChange(id, patch), patch);
    return await PROVIDERS.update.run(change);
  },
  PROVIDERS.update.refresh,
);

const TESTED = ["base_url", "api_key", "remove_credential", "auth_style", "verify_tls", "ca_pem"];

/** True for a change of what a list of models is asked with; timeouts and URLs of single endpoints are no part of that. */
export function isTestable(patch: ProviderPatch): boolean {
  return TESTED.some((field) => Object.hasOwn(patch ?? {}, field));
}

/** Throws `discovery_failed` for an answer that says nothing of what was typed. */
function requirePassed(found: TestedProvider, patch: ProviderPatch): TestedProvider {
  if (found.models.length === 0)
    throw unproven(
      "The provider answers, but lists no models: nothing tells whether what you typed is right.",
    );
  if (patch?.api_key !== undefined && found.credential_checked === false)
    throw unproven("The provider lists its models to everyone: nothing tells whether this key is right.");
  return found;
}

function unproven(message: string): ApiFailure {
  return new ApiFailure({ code: "discovery_failed", status: 502, message, source: "page" });
}

/** Whether a provider could not say what it has, which is no error of this page. */
export function isDiscoveryFailure(failure: Error): failure is ApiFailure {
  return (
    failure instanceof ApiFailure &&
    (failure.code === "provider_unreachable" || failure.code === "discovery_failed")
  );
}

/** What was asked: a stored provider, or one that was typed. */
export type Asked = Pick<
  Provider,
  "base_url" | "has_credential" | "verify_tls" | "has_custom_ca" | "timeout_connect"
>;

/** What may be the reason, the likeliest first. */
export function toCauses(failure: ApiFailure, provider: Asked): readonly string[] {
  if (failure.source === "page") return [];
  const url = URL.parse(provider.base_url);
  const warning = findBaseUrlWarning(provider.base_url);
  const baseUrl = warning === null ? [] : [`The base URL: ${warning.text} Try ${warning.suggestion}.`];
  return failure.code === "provider_unreachable"
    ? [...toNetworkCauses(failure.message, provider, url), ...baseUrl]
    : [...baseUrl, ...toAnswerCauses(failure.message, provider)];
}

function toNetworkCauses(message: string, provider: Asked, url: URL | null): readonly string[] {
  if (message.includes("response_too_large")) {
    return ["The response is not a list of models: the base URL may point to another service."];
  }
  const isTimeout = message.includes("timeout");
  const host = url?.host ?? provider.base_url;
  return [
    isTimeout
      ? `${host} did not respond in time: it may be starting, or a firewall may drop the packets.`
      : `Nothing listens at ${host}, or its name cannot be resolved: check that the server runs.${toLocalHint(url)}`,
    ...(url?.protocol === "https:" && provider.verify_tls
      ? [
          provider.has_custom_ca
            ? "The certificate of the provider was not signed by the authority that is stored here."
            : "The certificate of the provider is not trusted: store its authority (PEM) with the provider.",
        ]
      : []),
    ...(url !== null && isLocal(url)
      ? ["In a container, localhost is the container itself: use the name of the host instead."]
      : []),
  ];
}

function toLocalHint(url: URL | null): string {
  if (url === null) return "";
  if (url.port === "11434") return " Start Ollama with: ollama serve.";
  if (url.port === "1234") return " Start the server in LM Studio, on its Developer tab.";
  return "";
}

function isLocal(url: URL): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
}

function toAnswerCauses(message: string, provider: Asked): readonly string[] {
  const status = /status (\d{3})/u.exec(message)?.[1];
  if (status === "401" || status === "403") {
    return [
      provider.has_credential
        ? "The key was refused: it may be mistyped, expired or from another account."
        : "The provider requires a key, and none was sent.",
    ];
  }
  if (status === "404" || status === "405") {
    return [
      "The path is wrong: compare the base URL with the provider's documentation.",
      "This provider does not list its models. Add them manually.",
    ];
  }
  if (status !== undefined && status.startsWith("3")) {
    return ["The provider redirects to another address, which is not followed: use that address instead."];
  }
  if (status !== undefined && status.startsWith("5"))
    return ["The provider has an internal problem: try again later."];
  return [
    "The response does not come from a models endpoint: a sign-in page or another service is at this address.",
    "This provider lists its models in an unknown format. Add them manually.",
  ];
}

/** What looks wrong about a base URL, and how it would look right. The server judges whether it is a URL at all. */
interface BaseUrlWarning {
  readonly text: string;
  readonly suggestion: string;
  /** The verb for taking the suggestion. */
  readonly action: string;
}

/** Some write the address of an endpoint, to which the endpoint's path would be added once more. */
const ENDPOINT_PATH = /\/(?:chat\/completions|completions|embeddings|models)\/*$/u;
/** `/v1`, and the few that count on: `/v1beta/openai`, `/api/v3`. */
const VERSION_SEGMENT = /\/v\d+[a-z0-9]*(?:\/|$)/u;

/** Null when nothing does, and for what is no http(s) URL yet. */
export function findBaseUrlWarning(text: string): BaseUrlWarning | null {
  const url = URL.parse(text.trim());
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.hostname === "") return null;
  const trimmed = text.trim().replace(/\/+$/u, "");
  const endpoint = ENDPOINT_PATH.exec(url.pathname)?.[0];
  if (endpoint !== undefined) {
    return {
      text: `${endpoint} is the path of an endpoint and is added automatically.`,
      suggestion: trimmed.slice(0, trimmed.length - endpoint.length),
      action: `Remove ${endpoint}`,
    };
  }
  if (VERSION_SEGMENT.test(url.pathname)) return null;
  return {
    text: "Most servers expect /v1 at the end.",
    suggestion: `${trimmed}/v1`,
    action: "Add /v1",
  };
}
