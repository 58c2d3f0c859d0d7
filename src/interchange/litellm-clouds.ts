import { toBaseUrl } from "#catalog/upstream-url.ts";
import type { Capability } from "#catalog/capability.ts";
import { ENDPOINTS, toRow } from "#catalog/endpoint.ts";
import { readText, type AddressContext, type FoundUpstream } from "./litellm-address.ts";
import { readReferred, readVariable } from "./litellm-values.ts";
import type { SourceMap } from "./source.ts";

export type CloudAddress =
  | {
      readonly url: string;
      /** Whether the host is another than the cloud's, to which no key goes that was not written for it. */
      readonly isOwn: boolean;
      readonly upstreamName: string;
      /** URLs of a provider's endpoints that are not below its base URL. */
      readonly endpoints: { readonly [endpoint: string]: string } | null;
      readonly remark: string;
    }
  | { readonly url: null; readonly line: number; readonly reason: string };

/**
 * The clouds are those whose own interfaces Lockport does not speak, and that have OpenAI-compatible addresses beside them.
 * Where a deployment on one of them can be called in the chat-completions dialect with a bearer token, or why it
 * cannot.
 */
export function readCloud(
  params: SourceMap,
  { word, model }: Pick<FoundUpstream, "word" | "model">,
  cloud: { readonly context: AddressContext; readonly capabilities: readonly Capability[] },
): CloudAddress {
  const { context, capabilities } = cloud;
  const field = ["api_base", "base_url", "aws_bedrock_runtime_endpoint"].find((each) =>
    params.entries.has(each),
  );
  const line = params.entries.get(field ?? "model")?.line ?? params.line;
  const refuse = (reason: string): CloudAddress => ({ url: null, line, reason });
  const written = field === undefined ? undefined : readReferred(params, field, context.variables);
  if (written?.value === null)
    return refuse(`the variable ${written.variable ?? ""} for its base URL is not set`);
  const text = written?.value ?? findUsualBase(word, context);
  const address = { params, model, text, line, context, capabilities };
  if (word.startsWith("azure")) return readAzure(address) ?? refuse(AZURE_REASON);
  if (word.startsWith("bedrock")) {
    const lacking = capabilities.find((capability) => NOT_OF_BEDROCK.has(capability));
    if (lacking !== undefined) return refuse(`Bedrock's OpenAI-compatible address has no ${lacking}`);
    return readBedrock(address, word) ?? refuse(BEDROCK_REASON);
  }
  return readVertex(address) ?? refuse(VERTEX_REASON);
}

const NOT_OF_BEDROCK: ReadonlySet<Capability> = new Set([
  "embeddings",
  "transcription",
  "speech",
  "images",
  "moderation",
  "rerank",
]);

interface Address {
  readonly params: SourceMap;
  readonly model: string;
  /** What stands as its base URL; null when nothing does. */
  readonly text: string | null;
  readonly line: number;
  readonly context: AddressContext;
  readonly capabilities: readonly Capability[];
}

function findUsualBase(word: string, { variables }: AddressContext): string | null {
  const variable = {
    azure: "AZURE_API_BASE",
    azure_ai: "AZURE_AI_API_BASE",
    bedrock_mantle: "BEDROCK_MANTLE_API_BASE",
  }[word];
  return variable === undefined ? null : readVariable(variable, variables).value;
}

const AZURE_REASON =
  "Azure wants the address of a resource (https://NAME.openai.azure.com) as api_base, and an API key: tokens of Entra ID live for an hour";
const BEDROCK_REASON =
  "Bedrock wants each request signed (AWS Signature Version 4), which Lockport does not do. With a Bedrock API key (api_key or AWS_BEARER_TOKEN_BEDROCK) and aws_region_name it is carried over by way of its OpenAI-compatible address, https://bedrock-runtime.REGION.amazonaws.com/openai/v1";
const VERTEX_REASON =
  "Vertex AI wants access tokens that live for an hour, which Lockport does not renew. With its OpenAI-compatible address as api_base (https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION/endpoints/openapi) and a token as api_key it is carried over. The same models by an API key: gemini/";

const AZURE_HOST = /\.(?:openai\.azure\.com|cognitiveservices\.azure\.com|services\.ai\.azure\.com)$/;
/** Its first group is the path up to the deployment's name, which is the second. */
const DEPLOYMENT_PATH = /^(.*\/openai\/deployments\/([^/]+))/;
/** Fields of Entra ID, by which Azure is called without a key. */
const ENTRA_FIELDS = ["azure_ad_token", "tenant_id", "client_id", "azure_username"];

/**
 * A resource of Azure's own host is called by its v1 interface, which takes the deployment's name as model and its key as a
 * bearer token, without api-version. A gateway in front keeps its deployment URLs, as endpoints of a provider.
 */
function readAzure({ params, model, text, context, capabilities }: Address): CloudAddress | null {
  const url = text === null ? null : URL.parse(text);
  if (url === null || text === null) return null;
  if (!params.entries.has("api_key") && ENTRA_FIELDS.some((field) => params.entries.has(field))) return null;
  const found = DEPLOYMENT_PATH.exec(url.pathname);
  const deployment = found?.[2];
  // Words by which LiteLLM only chooses parameters.
  const name = model.replace(/^(?:o_series|gpt5_series)\//, "");
  if (AZURE_HOST.test(url.hostname)) {
    return {
      url: `${url.origin}/openai/v1`,
      isOwn: false,
      upstreamName: deployment === undefined ? name : decodeURIComponent(deployment),
      endpoints: null,
      remark:
        "carried over by way of Azure's v1 interface (/openai/v1): the deployment's name is the model, the key a bearer token, and api_version is not sent",
    };
  }
  if (deployment === undefined) {
    // A gateway that has the v1 interface itself.
    const base = /\/openai\/v1\/*$/.test(url.pathname) ? toBaseUrl(text) : null;
    if (base === null) return null;
    return { url: base, isOwn: true, upstreamName: name, endpoints: null, remark: BEARER_REMARK };
  }
  const version =
    readText(params, "api_version") ?? readVariable("AZURE_API_VERSION", context.variables).value;
  const base = toBaseUrl(`${url.origin}${found?.[1]}`);
  if (base === null) return null;
  const query =
    url.search === "" ? (version === null ? "" : `?api-version=${encodeURIComponent(version)}`) : url.search;
  const toUrl = (path: string) => `${base}/${path}${query}`;
  return {
    url: base,
    isOwn: true,
    upstreamName: decodeURIComponent(deployment),
    endpoints:
      query === ""
        ? null
        : Object.fromEntries(
            ENDPOINTS.filter((endpoint) => OF_DEPLOYMENT_URLS.has(endpoint))
              .filter((endpoint) => toRow(endpoint).isAlwaysOpen === true || capabilities.includes(endpoint))
              .map((endpoint) => [endpoint, toUrl(toRow(endpoint).path.slice(1))]),
          ),
    remark: BEARER_REMARK,
  };
}

/** What Azure has below a deployment's URL (its REST reference). */
const OF_DEPLOYMENT_URLS: ReadonlySet<Capability> = new Set([
  "chat",
  "completions",
  "embeddings",
  "transcription",
  "speech",
  "images",
]);

const BEARER_REMARK =
  "carried over with its URL, and its key goes as a bearer token: a gateway that wants the api-key header refuses it";

const BEDROCK_HOST = /^bedrock-runtime(?:-fips)?\.[a-z0-9-]+\.amazonaws\.com$/;
const MANTLE_HOST = /^bedrock-mantle\.[a-z0-9-]+\.api\.aws$/;

function readBedrock({ params, model, text, context }: Address, word: string): CloudAddress | null {
  const key = readReferred(params, "api_key", context.variables);
  if (key === undefined && readVariable("AWS_BEARER_TOKEN_BEDROCK", context.variables).value === null)
    return null;
  const region =
    readReferred(params, "aws_region_name", context.variables)?.value ??
    readVariable("AWS_REGION_NAME", context.variables).value ??
    readVariable("AWS_REGION", context.variables).value;
  const usual =
    word === "bedrock_mantle"
      ? `https://bedrock-mantle.${region ?? ""}.api.aws/v1`
      : `https://bedrock-runtime.${region ?? ""}.amazonaws.com/openai/v1`;
  if (text === null && (region === null || !/^[a-z0-9-]+$/.test(region))) return null;
  const url = URL.parse(text ?? usual);
  if (url === null) return null;
  const isRuntime = BEDROCK_HOST.test(url.hostname);
  if (!isRuntime && !MANTLE_HOST.test(url.hostname)) return null;
  const path = /\/v1\/*$/.test(url.pathname) ? url.pathname : isRuntime ? "/openai/v1" : "/v1";
  return {
    url: `${url.origin}${path.replace(/\/+$/, "")}`,
    isOwn: false,
    // Words by which LiteLLM chooses among Bedrock's own interfaces.
    upstreamName: model.replace(/^(?:converse_like|converse|invoke)\//, ""),
    endpoints: null,
    remark:
      "carried over by way of Bedrock's OpenAI-compatible address, which serves some of its models, for chat",
  };
}

const VERTEX_HOST = /^(?:[a-z0-9-]+-)?aiplatform\.googleapis\.com$/;

function readVertex({ params, model, text }: Address): CloudAddress | null {
  const base = text === null ? null : toBaseUrl(text);
  if (base === null || !params.entries.has("api_key")) return null;
  const { hostname, pathname } = new URL(base);
  if (!VERTEX_HOST.test(hostname) || !pathname.endsWith("/endpoints/openapi")) return null;
  return {
    url: base,
    isOwn: false,
    upstreamName: model.includes("/") ? model : `google/${model}`,
    endpoints: null,
    remark:
      "carried over by way of Vertex AI's OpenAI-compatible address; its tokens live for an hour, so that the provider's key has to be set again: lockport provider set NAME --api-key-file -",
  };
}
