import { RESPONSES_SWITCH } from "#catalog/deployment.ts";
import { toBaseUrl } from "#catalog/upstream-url.ts";
import { findEntry, toText } from "./fields.ts";
import {
  findLitellmUpstream,
  findObstacle,
  inferUpstreamWord,
  type LitellmUpstream,
} from "./litellm-upstreams.ts";
import { readReferred, readVariable, type Referred, type Variables } from "./litellm-values.ts";
import type { SourceMap } from "./source.ts";

/** Where a deployment is called, as its `litellm_params` and the environment say it. */
export interface AddressContext {
  readonly variables: Variables;
  /** `credential_values` by their name. */
  readonly credentials: ReadonlyMap<string, SourceMap>;
}

export interface FoundUpstream {
  readonly word: string;
  /** Without the word and the switch. */
  readonly model: string;
  /** Whether LiteLLM's switch to the Responses API stood before it. */
  readonly isSwitched: boolean;
  readonly upstream: LitellmUpstream;
}

/** The provider that is meant, or why there is none. */
export function findUpstream(params: SourceMap, model: string): FoundUpstream | string {
  const said = readText(params, "custom_llm_provider");
  const slash = model.indexOf("/");
  const prefix = slash < 0 ? null : model.slice(0, slash);
  const word = said ?? (prefix !== null && isKnown(prefix) ? prefix : inferUpstreamWord(model));
  if (word === null) {
    return prefix === null
      ? "its model names no provider, and is none that LiteLLM knows by itself"
      : "what stands before the first slash of its model is no provider that is known here";
  }
  const upstream = findLitellmUpstream(word);
  if (upstream === null) return findObstacle(word) ?? "its custom_llm_provider is not known here";
  const name = prefix === word ? model.slice(slash + 1) : model;
  const isSwitched = name.startsWith(RESPONSES_SWITCH);
  return { word, model: isSwitched ? name.slice(RESPONSES_SWITCH.length) : name, isSwitched, upstream };
}

function isKnown(word: string): boolean {
  return findLitellmUpstream(word) !== null || findObstacle(word) !== null;
}

/** What the provider calls it. Fireworks takes short names only from LiteLLM, which completes them. */
export function toUpstreamName(word: string, model: string): string {
  return word === "fireworks_ai" && !model.includes("/") ? `accounts/fireworks/models/${model}` : model;
}

export type FoundBase =
  /** `isOwn` when the config or the environment named it, and it is not the provider's usual one. */
  | { readonly url: string; readonly isOwn: boolean }
  | { readonly url: null; readonly line: number; readonly reason: string };

/** From the params, a named credential, the provider's usual variable or its usual address, in this order. */
export function readBase(
  params: SourceMap,
  { baseUrl, baseVariables, apiBase }: LitellmUpstream,
  { variables, credentials }: AddressContext,
): FoundBase {
  const credential = findCredential(params, credentials);
  const field = ["api_base", "base_url"].find((each) => findEntry(params, each) !== undefined);
  const line = field === undefined ? params.line : (params.entries.get(field)?.line ?? params.line);
  const written =
    field === undefined
      ? credential && readReferred(credential, "api_base", variables)
      : readReferred(params, field, variables);
  if (written?.value === null)
    return { url: null, line, reason: `the variable ${written.variable ?? ""} for its base URL is not set` };
  if (written !== undefined && apiBase === "foreign")
    return { url: null, line, reason: "an api_base of its own speaks the provider's own dialect" };
  const fromVariable = baseVariables
    .map((variable) => readVariable(variable, variables).value)
    .find((value) => value !== null);
  const text = written?.value ?? fromVariable;
  if (text === undefined || text === null) {
    return baseUrl === null
      ? { url: null, line, reason: "it has no api_base" }
      : { url: baseUrl, isOwn: false };
  }
  const url = toBaseUrl(apiBase === "root" || apiBase === "messages" ? toRooted(text) : text);
  if (url === null) {
    const reason = "its base URL is no full http or https URL without user name, query and fragment";
    return { url: null, line, reason };
  }
  return { url, isOwn: url !== baseUrl };
}

/** LiteLLM completes a root, and takes the URL of messages themselves. */
function toRooted(text: string): string {
  return `${text.replace(/\/+$/, "").replace(/\/v1(?:\/messages)?$/, "")}/v1`;
}

export interface KeyContext {
  readonly upstream: LitellmUpstream;
  readonly isOwnBase: boolean;
  readonly context: AddressContext;
}

/** A provider's usual variable is followed only to its usual address: no key goes to a server that it was not named for. */
export function readApiKey(params: SourceMap, { upstream, isOwnBase, context }: KeyContext): Referred | null {
  const { variables, credentials } = context;
  const credential = findCredential(params, credentials);
  const written =
    readReferred(params, "api_key", variables) ??
    (credential && readReferred(credential, "api_key", variables));
  if (written !== undefined) return written.value === "" ? null : written;
  const [usual] = upstream.keyVariables;
  if (usual === undefined || isOwnBase) return null;
  const set = upstream.keyVariables
    .map((variable) => readVariable(variable, variables))
    .find(({ value }) => value !== null);
  return set ?? { variable: usual, value: null };
}

function findCredential(
  params: SourceMap,
  credentials: ReadonlyMap<string, SourceMap>,
): SourceMap | undefined {
  return credentials.get(readText(params, "litellm_credential_name") ?? "");
}

/** Undefined when the field is not there, empty or no text. */
export function readText(map: SourceMap, field: string): string | undefined {
  const entry = findEntry(map, field);
  return entry === undefined ? undefined : toText(entry.value);
}
