import type { Actor } from "#audit/event.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import { CAPABILITIES_DEFAULT, type Capability } from "./capability.ts";
import { isEndpoint, toRow } from "./endpoint.ts";
import { findCredential, type Provider, parseApiKey } from "./provider.ts";
import { planModelDelete, toModelEntry } from "./model-plan.ts";
import { type Model, parseAlias, parseUpstreamName } from "./model.ts";
import { planPrices } from "./price-plan.ts";
import { planProviderCreate, planProviderChange } from "./provider-plan.ts";
import type { CatalogPicture, ResolvedModel } from "./snapshot.ts";
import type { CatalogChange, CatalogPlan } from "./store.ts";
import { NAME_LENGTH_MAX } from "#kernel/text.ts";
import { toBaseUrl } from "./upstream-url.ts";

interface DeploymentBirth {
  /** The id of the model, when one is made. */
  readonly id: string;
  /** The id of the provider, when one is made. */
  readonly providerId: string;
  readonly createdAtUs: InstantUs;
  readonly secrets: SecretBox;
  readonly actor: Actor;
}

/**
 * Binds a name to a model at a base URL, whose provider is reused or made (amendments of the decisions): a credential that is
 * supplied again for a deployment that exists replaces its provider's; a new name with another credential than the stored
 * ones has a provider of its own. What is registered already is left as it is otherwise. Throws at once what `parseDeployment` throws; the plan throws
 * `alias_exists` (param `model_name`) when another deployment has the name, and then nothing changes.
 */
export function planDeployment(draft: DeploymentDraft, birth: DeploymentBirth): CatalogPlan<ResolvedModel> {
  const deployment = parseDeployment(draft);
  return (current) => {
    const holder = current.findModel(deployment.alias);
    if (holder !== null && !isSame(holder, deployment)) {
      throw new ProxyError(
        "alias_exists",
        "Another deployment has this model_name. Delete it first, or take another name.",
        { param: "model_name" },
      );
    }
    // A plan for a provider results in that provider, whatever the catalog is afterwards.
    const provided = planProvider(current, holder, { deployment, birth });
    const model = holder?.model ?? toModel(provided.result(current), deployment, birth);
    const isNew = holder === null;
    return {
      writes: [
        ...provided.writes,
        ...(isNew ? [{ kind: "put_model", model } as const] : []),
        ...(isNew
          ? planPrices(current, { before: null, after: model, written: undefined, variants: undefined })
          : []),
      ],
      audit: [...provided.audit, ...(isNew ? toModelEntry(birth.actor, "model.create", model.alias) : [])],
      result: (after) => getDeployment(after, model.id),
    };
  };
}

/** The plan throws `model_not_found` (param `id`) and `model_in_use`. */
export function planDeploymentDelete(id: string, actor: Actor): CatalogPlan<void> {
  return (current) => {
    const found = current.findModelById(id);
    if (found === null) throw new ProxyError("model_not_found", "No model has this id.", { param: "id" });
    return planModelDelete(found.model.alias, actor)(current);
  };
}

/** A mode that was said and that the model cannot serve makes another deployment: a 200 would promise what is not so. */
function isSame({ provider, upstreamName, capabilities }: ResolvedModel, deployment: Deployment): boolean {
  const wanted = deployment.capabilities ?? [];
  const serves = (each: readonly Capability[]) =>
    each.every((capability) => capabilities.includes(capability));
  // Its mode counted as chat before it had an endpoint: what was bound so stays what it is.
  const countedAsChat = wanted.some((name) => isEndpoint(name) && toRow(name).isAlwaysOpen !== true);
  return (
    provider.baseUrl === deployment.baseUrl &&
    upstreamName === deployment.upstreamName &&
    (serves(wanted) || (countedAsChat && serves(CAPABILITIES_DEFAULT)))
  );
}

interface ProviderWish {
  readonly deployment: Deployment;
  readonly birth: DeploymentBirth;
}

/**
 * The provider as it will be, with the steps that make it so: none when it is there with the credential that was supplied, or
 * when none was.
 */
function planProvider(
  current: CatalogPicture,
  holder: ResolvedModel | null,
  { deployment: { baseUrl, apiKey }, birth }: ProviderWish,
): CatalogChange<Provider> {
  const provider = holder?.provider ?? findProviderFor(current, { baseUrl, apiKey }, birth.secrets);
  if (provider === null) {
    const draft = {
      name: toFreeProviderName(current, baseUrl),
      base_url: baseUrl,
      api_key: apiKey ?? "",
    };
    return planProviderCreate(draft, { ...birth, id: birth.providerId })(current);
  }
  if (apiKey !== null && apiKey !== findCredential(birth.secrets, provider)) {
    return planProviderChange(
      provider.name,
      { fields: {}, apiKey },
      { ...birth, nowUs: birth.createdAtUs },
    )(current);
  }
  return { writes: [], audit: [], result: () => provider };
}

function toModel(provider: Provider, deployment: Deployment, birth: DeploymentBirth): Model {
  return {
    id: birth.id,
    alias: deployment.alias,
    route: {
      kind: "binding",
      providerId: provider.id,
      upstreamName: deployment.upstreamName,
      capabilities: deployment.capabilities ?? CAPABILITIES_DEFAULT,
    },
    origin: "declared",
    hidden: false,
    createdAtUs: birth.createdAtUs,
  };
}

function getDeployment(after: CatalogPicture, id: string): ResolvedModel {
  const resolved = after.findModelById(id);
  if (resolved === null) throw new Error("a deployment that was just registered is not in the catalog");
  return resolved;
}

/**
 * The provider that a new name may share: one of this base URL that has this key, else one that has none and is given it, as
 * an import does it; without a key, any. Of several the first by name, an enabled one before those that are not. Null: the
 * key would take the place of another's.
 */
function findProviderFor(
  current: CatalogPicture,
  { baseUrl, apiKey }: Pick<Deployment, "baseUrl" | "apiKey">,
  secrets: SecretBox,
): Provider | null {
  const there = current.providers.filter((provider) => provider.baseUrl === baseUrl);
  const inOrder = [...there.filter(({ enabled }) => enabled), ...there.filter(({ enabled }) => !enabled)];
  if (apiKey === null) return inOrder[0] ?? null;
  return (
    inOrder.find((provider) => findCredential(secrets, provider) === apiKey) ??
    inOrder.find(({ sealedCredential }) => sealedCredential === null) ??
    null
  );
}

/**
 * A free name for a provider of this base URL (decisions, "Admin"): its host, `-8000` for a port that is not the scheme's,
 * and `-2`, `-3`, … while another provider has the name.
 */
export function toFreeProviderName(
  current: { findProvider(name: string): unknown },
  baseUrl: string,
): string {
  const name = toHostName(baseUrl);
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? "" : `-${number}`;
    const candidate = name.slice(0, NAME_LENGTH_MAX - suffix.length) + suffix;
    if (current.findProvider(candidate) === null) return candidate;
  }
}

/** `[2001:db8::1]:8000` → `2001-db8--1-8000`; `[::1]` is `0--1`, since a name begins with a letter or digit. */
function toHostName(baseUrl: string): string {
  const { hostname, port } = new URL(baseUrl);
  // The URL parser has made the host lower case and ASCII; a few signs pass it that a name does not have.
  const host = hostname
    .replace(/^\[:/, "0:")
    .replaceAll(/[[\]]/g, "")
    .replaceAll(/[^a-z0-9._-]/g, "-");
  const suffix = port === "" ? "" : `-${port}`;
  const name = host.slice(0, NAME_LENGTH_MAX - suffix.length) + suffix;
  return /^[a-z0-9]/.test(name) ? name : `0${name}`.slice(0, NAME_LENGTH_MAX);
}

/** A deployment as a client of the compatibility endpoints registers it (specification, section 4.7), with its JSON types already checked. */
export interface DeploymentDraft {
  readonly modelName: string;
  /** The request's name of the object of the next three: refusals name it, and LiteLLM's has a spelling of its own. */
  readonly paramsField: "compat_params" | "litellm_params";
  /** The upstream name. */
  readonly model: string;
  readonly apiBase: string;
  /** Empty is not supplied: what is stored stays. */
  readonly apiKey?: string | undefined;
  readonly mode?: string | undefined;
}

/** A draft, read. */
interface Deployment {
  readonly alias: string;
  readonly upstreamName: string;
  readonly baseUrl: string;
  /** Null when none was supplied. */
  readonly apiKey: string | null;
  /** Null when the request says nothing of it. */
  readonly capabilities: readonly Capability[] | null;
}

/** The meaning of LiteLLM's `mode` of a model here; its other modes name no endpoint of ours. */
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
