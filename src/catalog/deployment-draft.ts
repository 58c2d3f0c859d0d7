import { ProxyError } from "#kernel/errors.ts";
import { type Capability, CAPABILITIES_DEFAULT } from "./capability.ts";
import { parseAlias, parseUpstreamName } from "./model-draft.ts";
import { parseApiKey } from "./provider-draft.ts";
import { toBaseUrl } from "./upstream-url.ts";

/** What a client of the compatibility endpoints registers (specification, section 4.7), with its JSON types already checked. */
export interface DeploymentDraft {
  readonly modelName: string;
  /** What the request calls the object of the next three: refusals name it, and LiteLLM's has a spelling of its own. */
  readonly paramsField: "compat_params" | "litellm_params";
  /** The upstream name. */
  readonly model: string;
  readonly apiBase: string;
  /** Empty is not supplied: what is stored stays. */
  readonly apiKey?: string | undefined;
  readonly mode?: string | undefined;
}

/** A draft, read. */
export interface Deployment {
  readonly alias: string;
  readonly upstreamName: string;
  readonly baseUrl: string;
  /** Null when none was supplied. */
  readonly apiKey: string | null;
  /** Null when the request says nothing of it. */
  readonly capabilities: readonly Capability[] | null;
}

/** What LiteLLM's `mode` of a model means here; its other modes name no endpoint of ours. */
export const CAPABILITIES_OF_MODE: ReadonlyMap<string, readonly Capability[]> = new Map([
  ["chat", CAPABILITIES_DEFAULT],
  ["completion", ["completions"]],
  ["embedding", ["embeddings"]],
  ["responses", ["responses"]],
  ["audio_transcription", ["transcription"]],
  ["audio_speech", ["speech"]],
  ["image_generation", ["images"]],
  ["moderation", ["moderation"]],
  ["rerank", ["rerank"]],
]);

/** LiteLLM's own switch to the Responses API: stands before the name of a model, and is no part of it. */
export const RESPONSES_SWITCH = "responses/";

export function withResponses(capabilities: readonly Capability[]): readonly Capability[] {
  return capabilities.includes("responses") ? capabilities : [...capabilities, "responses"];
}

/** A key that LiteLLM reads from its own environment: stored as it is, it would be sent upstream as a credential. */
const ENVIRONMENT_REFERENCE = "os.environ/";

/**
 * Throws `invalid_name` for `model_name` and `model`, `invalid_base_url` for `api_base` and `invalid_request` for `api_key`;
 * `param` names the field as it was sent.
 */
export function parseDeployment(draft: DeploymentDraft): Deployment {
  const paramOf = (field: string) => `${draft.paramsField}.${field}`;
  const baseUrl = toBaseUrl(draft.apiBase);
  if (baseUrl === null) {
    throw new ProxyError(
      "invalid_base_url",
      "api_base is a full http or https URL including /v1, without user name, query, fragment or blanks, and not a cloud metadata address.",
      { param: paramOf("api_base") },
    );
  }
  const { apiKey = "" } = draft;
  if (apiKey.startsWith(ENVIRONMENT_REFERENCE)) {
    throw new ProxyError("invalid_request", "api_key is the key itself; the environment is not read.", {
      param: paramOf("api_key"),
    });
  }
  const { upstreamName, isSwitched } = readModel(draft);
  const ofMode = readMode(draft.mode);
  return {
    alias: withParam("model_name", () => parseAlias(draft.modelName)),
    upstreamName: withParam(paramOf("model"), () => parseUpstreamName(upstreamName)),
    baseUrl,
    apiKey: withParam(paramOf("api_key"), () => parseApiKey(apiKey)),
    capabilities: isSwitched ? withResponses(ofMode ?? []) : ofMode,
  };
}

/** A mode that names no endpoint of ours counts as chat (section 4.7). */
function readMode(mode: string | undefined): readonly Capability[] | null {
  return mode === undefined ? null : (CAPABILITIES_OF_MODE.get(mode) ?? CAPABILITIES_DEFAULT);
}

/**
 * LiteLLM writes `openai/gpt-4o` for the model `gpt-4o` of an OpenAI-compatible server, and `openai/responses/gpt-4o` for the
 * same by the Responses API; in `compat_params` a name is the name.
 */
function readModel({ paramsField, model }: DeploymentDraft) {
  if (paramsField !== "litellm_params") return { upstreamName: model, isSwitched: false };
  const name = model.replace(/^openai\//, "");
  const isSwitched = name.startsWith(RESPONSES_SWITCH);
  return { upstreamName: isSwitched ? name.slice(RESPONSES_SWITCH.length) : name, isSwitched };
}

/** The refusal of a field that has another name here. */
function withParam<Value>(param: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (failure) {
    if (failure instanceof ProxyError) throw new ProxyError(failure.code, failure.message, { param });
    throw failure;
  }
}
