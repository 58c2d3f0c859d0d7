import { AUTH_STYLE_DEFAULT, type AuthStyle, TIMEOUT_SECONDS_MAX } from "#catalog/provider-fields.ts";
import { type Capability, guessByName, isServable, type CapabilityGuess } from "#catalog/capability.ts";
import { CAPABILITIES_OF_MODE, withResponses } from "#catalog/deployment.ts";
import { parseAlias, isUpstreamName } from "#catalog/model.ts";
import { parseApiKey } from "#catalog/provider.ts";
import { ProxyError } from "#kernel/errors.ts";
import { findEntry } from "./fields.ts";
import { readCloud } from "./litellm-clouds.ts";
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
  /** URLs of endpoints that are not below the base URL; null when all are. */
  readonly endpoints: { readonly [endpoint: string]: string } | null;
  /** Null for a server that is called without one. */
  readonly apiKey: Referred | null;
  /** How it takes its key. */
  readonly authStyle: AuthStyle;
  readonly capabilities: readonly Capability[];
  readonly prices: Prices | null;
  /** Null when the config says nothing of them. */
  readonly timeoutReadSeconds: number | null;
  readonly verifyTls: boolean | null;
}

export type ReadDeployment =
  | { readonly kind: "read"; readonly deployment: LitellmDeployment }
  /** A note says why. */
  | { readonly kind: "left"; readonly name: string; readonly line: number }
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
    return { kind: "left", name, line: entry.line };
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
  const guess = guessByName(found.model);
  const capabilities = readCapabilities(infoMap, found, guess);
  if (capabilities === null) {
    const modeLine = infoMap.entries.get("mode")?.line ?? entry.line;
    const modes = [...CAPABILITIES_OF_MODE.keys()].join(", ");
    return leave(modeLine, `no endpoint here serves its mode (those served: ${modes})`);
  }
  const base = readPlace(params, found, { context, capabilities });
  if (base.url === null) return leave(base.line, base.reason);
  const { upstreamName } = base;
  // LiteLLM translates chat completions to it; here its own clients are served.
  const isOwnMessages = found.upstream.apiBase === "messages" && base.isOwn;
  const remark = isOwnMessages ? OWN_MESSAGES_REMARK : base.remark;
  if (!isUpstreamName(upstreamName)) return leave(line, "its model is no name that can be sent");

  const apiKey = readApiKey(params, { upstream: found.upstream, isOwnBase: base.isOwn, context });
  if (apiKey?.value === null) {
    const at = params.entries.get("api_key")?.line ?? line;
    note(at, `the variable ${apiKey.variable ?? ""} for its API key is not set.`, true);
  }
  if (apiKey !== null && apiKey.value !== null && !isApiKey(apiKey.value)) {
    return leave(params.entries.get("api_key")?.line ?? line, "its API key cannot be sent in a header");
  }
  if (remark !== null) note(line, `is ${remark}.`);
  if (found.isSwitched && !capabilities.includes("chat"))
    note(line, "serves the Responses API alone: chat completions are not translated to it here.");
  if (capabilities === guess.capabilities && guess.from === "name")
    note(
      line,
      `is taken for a model for ${capabilities.join(", ")} by its name; model_info.mode would say it.`,
    );
  listUnread(params, "litellm_params", note);
  listUnread(infoMap, "model_info", note);

  return {
    kind: "read",
    deployment: {
      line: entry.line,
      name,
      upstreamName,
      baseUrl: base.url,
      endpoints: base.endpoints,
      apiKey,
      authStyle: isOwnMessages ? "x-api-key" : AUTH_STYLE_DEFAULT,
      capabilities:
        found.upstream.apiBase === "messages" ? withMessages(capabilities, isOwnMessages) : capabilities,
      prices: readLitellmPrices([params, infoMap], { name, notes: context.notes }),
      timeoutReadSeconds: readTimeout(params),
      verifyTls: readFlag(findEntry(params, "ssl_verify")?.value) ?? null,
    },
  };
}

/** Where it is called and by which name, with what has to be known of it. */
function readPlace(
  params: SourceMap,
  found: FoundUpstream,
  cloud: { readonly context: DeploymentContext; readonly capabilities: readonly Capability[] },
) {
  if (found.upstream.apiBase === "cloud") return readCloud(params, found, cloud);
  const base = readBase(params, found.upstream, cloud.context);
  if (base.url === null) return base;
  const upstreamName = toUpstreamName(found.word, found.model);
  return { ...base, upstreamName, endpoints: null, remark: found.upstream.remark };
}

const OWN_MESSAGES_REMARK =
  "carried over for clients of the messages API alone, which its api_base speaks: nothing is translated here";

/** Anthropic's own address serves chat completions beside its messages; another that speaks its dialect serves messages alone. */
function withMessages(capabilities: readonly Capability[], isAlone: boolean): readonly Capability[] {
  const others = isAlone ? capabilities.filter((each) => each === "vision") : capabilities;
  return [...others, "messages"];
}

const NO_TEXT = "no text: put it in quotes, if it is meant so";

function wrong(sentence: string): ReadDeployment {
  return { kind: "wrong", sentence };
}

/** Null for a mode that nothing serves; without one, what the model's name says. */
function readCapabilities(
  info: SourceMap,
  { word, isSwitched }: FoundUpstream,
  guess: CapabilityGuess,
): readonly Capability[] | null {
  const mode = readText(info, "mode");
  if (mode === undefined && isSwitched) return withResponses([]);
  if (mode === undefined && (word === "text-completion-openai" || word === "azure_text"))
    return ["completions"];
  if (mode === undefined && guess.from === "name" && isServable(guess)) return guess.capabilities;
  const capabilities = CAPABILITIES_OF_MODE.get(mode ?? "chat");
  if (capabilities === undefined) return null;
  const sees = capabilities.includes("chat") && readFlag(findEntry(info, "supports_vision")?.value) === true;
  const all = sees ? [...capabilities, "vision" as const] : capabilities;
  return isSwitched ? withResponses(all) : all;
}

function readTimeout(params: SourceMap): number | null {
  const seconds = readAmount(findEntry(params, "timeout")?.value);
  return seconds === undefined || seconds <= 0 || seconds > TIMEOUT_SECONDS_MAX ? null : seconds;
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

const READ_PARAMS: ReadonlySet<string> = new Set([
  "model",
  "api_base",
  "base_url",
  "api_key",
  "custom_llm_provider",
  "litellm_credential_name",
  "timeout",
  "ssl_verify",
  "api_version",
  "aws_region_name",
  "aws_bedrock_runtime_endpoint",
  "vertex_project",
  "vertex_location",
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
  [
    /cost.*_(?:flex|priority|above_\d+k_tokens)/,
    "prices under conditions are not carried over: lockport pricing load, or lockport model set NAME --variant",
  ],
  [/cost|price/, "there is no unit for this price"],
  [/^base_model$/, "prices are not looked up by it; they are written with the model or loaded"],
  [/^(?:access_groups|team_)/, "every API key may use every model"],
];

const READ = { litellm_params: READ_PARAMS, model_info: READ_INFO } as const;

/** Notes each field of a deployment that is not carried over, with the reason. */
function listUnread(
  map: SourceMap,
  section: keyof typeof READ,
  note: (line: number, sentence: string) => void,
): void {
  const read = READ[section];
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
