import { CAPABILITIES_DEFAULT, type Capability } from "#catalog/capability.ts";
import { parseAlias, isUpstreamName } from "#catalog/model-draft.ts";
import { parseApiKey, TIMEOUT_SECONDS_MAX } from "#catalog/provider-fields.ts";
import { ProxyError } from "#kernel/errors.ts";
import { findEntry } from "./fields.ts";
import {
  findUpstream,
  readApiKey,
  readBase,
  readText,
  toUpstreamName,
  type AddressContext,
  type FoundUpstream,
} from "./litellm-address.ts";
import {
  isPriceField,
  readAmount,
  readFlag,
  readLitellmPrices,
  type ImportNote,
  type Prices,
  type Referred,
} from "./litellm-values.ts";
import type { SourceMap } from "./source.ts";

/** An entry of `model_list` that can be carried over. */
export interface LitellmDeployment {
  readonly line: number;
  readonly name: string;
  readonly upstreamName: string;
  readonly baseUrl: string;
  /** Null for a server that is called without one. */
  readonly apiKey: Referred | null;
  readonly capabilities: readonly Capability[];
  readonly prices: Prices | null;
  /** Null when the config says nothing of them. */
  readonly timeoutReadSeconds: number | null;
  readonly verifyTls: boolean | null;
}

export type ReadDeployment =
  | { readonly kind: "read"; readonly deployment: LitellmDeployment }
  /** A note says why. */
  | { readonly kind: "left" }
  /** It has not the shape of an entry. */
  | { readonly kind: "wrong"; readonly sentence: string };

export interface DeploymentContext extends AddressContext {
  readonly notes: ImportNote[];
}

/** Reads one entry; what it has and Lockport does not is noted by its line. No note holds a value, which may be a key. */
export function readDeployment(entry: SourceMap, context: DeploymentContext): ReadDeployment {
  const name = readText(entry, "model_name");
  const params = entry.entries.get("litellm_params")?.value;
  const model = params?.kind === "map" ? readText(params, "model") : undefined;
  if (name === undefined) {
    const isThere = findEntry(entry, "model_name") !== undefined;
    return wrong(`The entry ${isThere ? `has a model_name that is ${NO_TEXT}` : "has no model_name"}.`);
  }
  if (params?.kind !== "map") return wrong(`${name} has no litellm_params with a model.`);
  if (model === undefined) {
    const isThere = findEntry(params, "model") !== undefined;
    return wrong(`${name} has ${isThere ? `a model that is ${NO_TEXT}` : "no litellm_params with a model"}.`);
  }
  const info = entry.entries.get("model_info")?.value;
  const infoMap: SourceMap =
    info?.kind === "map" ? info : { kind: "map", line: entry.line, entries: new Map() };

  const line = params.entries.get("model")?.line ?? entry.line;
  const note = (at: number, sentence: string, isGap = false) =>
    void context.notes.push({ line: at, sentence: `${name}: ${sentence}`, isGap });
  const leave = (at: number, reason: string): ReadDeployment => {
    note(at, `is not carried over: ${reason}.`, true);
    return { kind: "left" };
  };

  if (name.includes("*") || model.includes("*"))
    return leave(entry.line, "a wildcard stands for models without a name");
  if (!isAlias(name))
    return leave(
      entry.line,
      "a name here is letters, digits and . _ : / -, and starts with a letter or digit",
    );
  const found = findUpstream(params, model);
  if (typeof found === "string") return leave(line, found);
  const upstreamName = toUpstreamName(found.word, found.model);
  if (!isUpstreamName(upstreamName)) return leave(line, "its model is no name that can be sent");
  const capabilities = readCapabilities(infoMap, found);
  if (capabilities === null) {
    const modeLine = infoMap.entries.get("mode")?.line ?? entry.line;
    return leave(modeLine, "no endpoint here serves its mode (chat, completion and embedding are served)");
  }
  const base = readBase(params, found.upstream, context);
  if (typeof base.url !== "string") return leave(base.line, base.reason);

  const apiKey = readApiKey(params, { upstream: found.upstream, isOwnBase: base.isOwn, context });
  if (apiKey?.value === null) {
    const at = params.entries.get("api_key")?.line ?? line;
    note(at, `the variable ${apiKey.variable ?? ""} for its API key is not set.`, true);
  }
  if (apiKey !== null && apiKey.value !== null && !isApiKey(apiKey.value)) {
    return leave(params.entries.get("api_key")?.line ?? line, "its API key cannot be sent in a header");
  }
  if (found.upstream.remark !== null) note(line, `is ${found.upstream.remark}.`);
  if (findEntry(infoMap, "mode") === undefined && capabilities.includes("embeddings"))
    note(line, "is taken for an embedding model by its name; model_info.mode would say it.");
  listUnread(params, { section: "litellm_params", read: READ_PARAMS, note });
  listUnread(infoMap, { section: "model_info", read: READ_INFO, note });

  return {
    kind: "read",
    deployment: {
      line: entry.line,
      name,
      upstreamName,
      baseUrl: base.url,
      apiKey,
      capabilities,
      prices: readLitellmPrices([params, infoMap], { name, notes: context.notes }),
      timeoutReadSeconds: readTimeout(params),
      verifyTls: readFlag(findEntry(params, "ssl_verify")?.value) ?? null,
    },
  };
}

const NO_TEXT = "no text: put it in quotes, if it is meant so";

function wrong(sentence: string): ReadDeployment {
  return { kind: "wrong", sentence };
}

const EMBEDDING_NAME_PATTERN = /embed|(?:^|\/)(?:bge|gte|e5)-/i;

/** Null for a mode that nothing serves. */
function readCapabilities(info: SourceMap, { word, model }: FoundUpstream): readonly Capability[] | null {
  const mode = readText(info, "mode");
  const hasVision = readFlag(findEntry(info, "supports_vision")?.value) === true;
  const isCompletion = mode === "completion" || (mode === undefined && word === "text-completion-openai");
  if (isCompletion) return ["completions"];
  if (mode === "embedding" || (mode === undefined && EMBEDDING_NAME_PATTERN.test(model)))
    return ["embeddings"];
  if (mode !== undefined && mode !== "chat") return null;
  return [...CAPABILITIES_DEFAULT, ...(hasVision ? (["vision"] as const) : [])];
}

function readTimeout(params: SourceMap): number | null {
  const seconds = readAmount(findEntry(params, "timeout")?.value);
  return seconds === undefined || seconds <= 0 || seconds > TIMEOUT_SECONDS_MAX ? null : seconds;
}

const READ_PARAMS: ReadonlySet<string> = new Set([
  "model",
  "api_base",
  "base_url",
  "api_key",
  "custom_llm_provider",
  "litellm_credential_name",
  "timeout",
  "ssl_verify",
]);

/** The last are LiteLLM's own bookkeeping. */
const READ_INFO: ReadonlySet<string> = new Set([
  "mode",
  "supports_vision",
  "id",
  "db_model",
  "created_at",
  "created_by",
  "updated_at",
  "updated_by",
]);

const FIELD_REASONS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  // There it steers the choice of a deployment, and a budget's time begins with its first use: neither means what a limit does.
  [
    /^rpm$/,
    "is not carried over, since it steers balancing; as a limit: lockport limit set NAME --amount N --measure requests --per minute --model ALIAS",
  ],
  [
    /^tpm$/,
    "is not carried over, since it steers balancing; as a limit: lockport limit set NAME --amount N --measure tokens --per minute --model ALIAS",
  ],
  [
    /^(?:max_budget|budget_duration)$/,
    "is not carried over, since its time is no calendar's; as a limit: lockport limit set NAME --amount N --per month --model ALIAS",
  ],
  [/^max_parallel_requests$/, "a cap is a provider's: lockport provider set NAME --max-concurrency N"],
  [/retries$/, "nothing is retried"],
  [/^(?:weight|order)$/, "there is no balancing between deployments"],
  [/^stream_timeout$/, "streams and whole answers share one timeout"],
  [/cost|price/, "there is no unit for this price"],
  [/^base_model$/, "prices are not looked up by it; they are written with the model or loaded"],
  [/^(?:access_groups|team_)/, "every API key may use every model"],
];

interface UnreadContext {
  readonly section: "litellm_params" | "model_info";
  readonly read: ReadonlySet<string>;
  readonly note: (line: number, sentence: string) => void;
}

function listUnread(map: SourceMap, { section, read, note }: UnreadContext): void {
  const usual =
    section === "litellm_params"
      ? "requests go on as they come, and nothing is added to them"
      : "nothing here reads it";
  for (const [field, { line }] of map.entries) {
    if (read.has(field) || isPriceField(field)) continue;
    const reason = FIELD_REASONS.find(([pattern]) => pattern.test(field))?.[1] ?? usual;
    note(line, `${section}.${field}: ${reason}.`);
  }
}

function isAlias(name: string): boolean {
  return isAccepted(() => parseAlias(name));
}

function isApiKey(text: string): boolean {
  return isAccepted(() => parseApiKey(text));
}

function isAccepted(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch (cause) {
    if (cause instanceof ProxyError) return false;
    throw cause;
  }
}
