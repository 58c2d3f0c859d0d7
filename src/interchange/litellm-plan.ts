import { AUTH_STYLE_DEFAULT, PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { CATALOG_FORMAT } from "#catalog/catalog-draft.ts";
import { ALIAS_PATTERN } from "#kernel/text.ts";
import type { CatalogFile, FileModel, FileProvider } from "#views/catalog-file.ts";
import { describePrices, describeRoute } from "./catalog-text.ts";
import type { LitellmAlias, LitellmConfig } from "./litellm-config.ts";
import type { LitellmDeployment } from "./litellm-deployment.ts";
import { assignProviders, hasKey, isKnownKey, type MatchKey } from "./litellm-providers.ts";
import type { ImportNote } from "./litellm-values.ts";

export interface ImportPlan {
  /** What is to be added. Holds keys of providers: never shown. */
  readonly file: CatalogFile;
  readonly notes: readonly ImportNote[];
  /** Names that would go to another deployment than their first, which cannot be carried over; each as a sentence. */
  readonly takeovers: readonly string[];
  /** Where the key of a provider comes from, in words; only of those that the file has one for. */
  readonly keySources: ReadonlyMap<string, string>;
}

/**
 * What the config has and the installation, told as its own file, does not. An import only adds: a model that is there already
 * stays as it is, and so does a provider but for an API key that it lacks. A second run therefore changes nothing.
 */
export function planImport(
  { deployments, left, aliases, notes: read }: LitellmConfig,
  current: CatalogFile,
  matchKey: MatchKey,
): ImportPlan {
  const notes = [...read];
  const note: TakeNote = (line, sentence, isGap = false) => void notes.push({ line, sentence, isGap });
  const providers: { [name: string]: FileProvider } = {};
  const models: { [alias: string]: FileModel } = {};
  const keySources = new Map<string, string>();
  const takeovers: string[] = [];

  for (const { name, members, before } of assignProviders(keepFirst(deployments, note), current, matchKey)) {
    const added = members.filter((deployment) =>
      isNew(deployment, { provider: name, before: current.models?.[deployment.name], note }),
    );
    const [first] = members;
    if (first === undefined || (before === undefined && added.length === 0)) continue;
    const { apiKey } = first;
    const key = hasKey(before) ? null : (apiKey?.value ?? null);
    if (key !== null)
      keySources.set(name, apiKey === null || apiKey.variable === null ? "the file" : apiKey.variable);
    if (added.length > 0 || key !== null)
      providers[name] = {
        ...(before === undefined ? toNewProvider(first, members) : { base_url: before.base_url }),
        ...(key !== null && { api_key: key }),
      };
    const keepsOther = hasKey(before) && isKnownKey(first, { name, before, matchKey }) !== true;
    if (keepsOther && apiKey !== null && added.length > 0)
      note(
        first.line,
        `${first.name}: goes to the provider ${name}, which is there already and keeps its API key.`,
      );
    const seconds =
      before === undefined
        ? findTimeout(members)
        : (before.timeout_read ?? PROVIDER_SETTINGS.timeoutReadSeconds.initial);
    noteTimeouts(members, { seconds, note });
    for (const { name: alias, line, upstreamName, capabilities, prices } of added) {
      const passed = left.find((other) => other.name === alias && other.line < line);
      if (passed !== undefined) {
        const sentence = `${alias} now goes to ${name}: ${upstreamName}. Its first deployment, in line ${passed.line}, cannot be carried over.`;
        takeovers.push(sentence);
        note(line, sentence);
      }
      models[alias] = {
        provider: name,
        upstream_name: upstreamName,
        capabilities,
        ...(prices !== null && { prices }),
      };
    }
  }
  const named = aliases.flatMap((alias) => planAlias(alias, { all: { ...current.models, ...models }, note }));
  return {
    file: {
      lockport_catalog: CATALOG_FORMAT,
      providers,
      models: { ...models, ...Object.fromEntries(named) },
    },
    notes: notes.toSorted((one, other) => one.line - other.line),
    takeovers,
    keySources,
  };
}

type TakeNote = (line: number, sentence: string, isGap?: boolean) => void;

function keepFirst(deployments: readonly LitellmDeployment[], note: TakeNote): readonly LitellmDeployment[] {
  const first = new Map<string, LitellmDeployment>();
  for (const deployment of deployments) {
    const { name, line } = deployment;
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, deployment);
    else {
      const sentence = `${name}: is not carried over: a name has one provider, and line ${earlier.line} has this one already.`;
      note(line, sentence, true);
    }
  }
  return [...first.values()];
}

interface ModelContext {
  readonly provider: string;
  readonly before: FileModel | undefined;
  readonly note: TakeNote;
}

function isNew(
  { name, line, upstreamName, prices, capabilities }: LitellmDeployment,
  { provider, before, note }: ModelContext,
): boolean {
  if (before === undefined) return true;
  const kept = before.capabilities?.join(", ") ?? "";
  if (before.provider !== provider || before.upstream_name !== upstreamName) {
    const sentence = `${name}: is not carried over: a model of this name is there already (${describeRoute(before)}).`;
    note(line, sentence, true);
  } else if (prices !== null && describePrices(before.prices ?? {}) !== describePrices(prices)) {
    const own = before.prices === undefined ? "none of its own" : describePrices(before.prices);
    note(line, `${name}: is there already and keeps its prices (${own}).`);
  } else if (kept !== capabilities.join(", ")) {
    note(line, `${name}: is there already and keeps its capabilities (${kept}).`);
  }
  return false;
}

function toNewProvider(
  { baseUrl, endpoints, authStyle }: LitellmDeployment,
  members: readonly LitellmDeployment[],
): FileProvider {
  const seconds = findTimeout(members);
  return {
    base_url: baseUrl,
    ...(endpoints !== null && { endpoints }),
    ...(authStyle !== AUTH_STYLE_DEFAULT && { auth_style: authStyle }),
    ...(members.some(({ verifyTls }) => verifyTls === false) && { verify_tls: false }),
    ...(seconds !== undefined && { timeout_read: seconds }),
  };
}

/** The longest that any of them asks for: a provider has one. */
function findTimeout(members: readonly LitellmDeployment[]): number | undefined {
  const asked = members.flatMap(({ timeoutReadSeconds }) => timeoutReadSeconds ?? []);
  return asked.length === 0 ? undefined : Math.max(...asked);
}

function noteTimeouts(
  members: readonly LitellmDeployment[],
  { seconds, note }: { readonly seconds: number | undefined; readonly note: TakeNote },
): void {
  for (const { name, line, timeoutReadSeconds } of members) {
    if (timeoutReadSeconds === null || timeoutReadSeconds === seconds) continue;
    note(line, `${name}: litellm_params.timeout: its provider has one timeout for all models, ${seconds} s.`);
  }
}

interface AliasContext {
  /** What is there already and what is added, but for other names of the config. */
  readonly all: { readonly [alias: string]: FileModel };
  readonly note: TakeNote;
}

function planAlias(
  { line, name, target, hidden }: LitellmAlias,
  { all, note }: AliasContext,
): readonly [alias: string, model: FileModel][] {
  const there = all[name];
  if (there?.target === target) return [];
  const leadsToBinding = all[target] !== undefined && all[target].target === undefined;
  const obstacle =
    there !== undefined
      ? "a model of this name is there already"
      : !leadsToBinding
        ? `${target} is no model that is carried over`
        : ALIAS_PATTERN.test(name)
          ? null
          : "a name here is letters, digits and . _ : / -, and starts with a letter or digit";
  if (obstacle === null) return [[name, { target, ...(hidden && { hidden }) }]];
  note(line, `${name}: is not carried over: ${obstacle}.`, true);
  return [];
}
