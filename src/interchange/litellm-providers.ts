import { AUTH_STYLE_DEFAULT } from "#catalog/provider-fields.ts";
import { toFreeProviderName } from "#catalog/deployment.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import type { CatalogFile, FileProvider } from "#views/catalog-file.ts";
import type { LitellmDeployment } from "./litellm-deployment.ts";
import type { Referred } from "./litellm-values.ts";

/** Models of the config that share a provider. */
export interface Assigned {
  readonly name: string;
  /** In the order of the file, at least one. */
  readonly members: readonly LitellmDeployment[];
  /** Undefined for one that is to be made. */
  readonly before: FileProvider | undefined;
}

/** Whether the stored key of this provider is this one; null when that cannot be told here. */
export type MatchKey = (provider: string, apiKey: string) => boolean | null;

/**
 * One provider for each base URL, key and way to send it: the one that has the models already, else one that is free and has this key or
 * one that cannot be compared, else a new one.
 */
export function assignProviders(
  deployments: readonly LitellmDeployment[],
  { providers = {}, models = {} }: CatalogFile,
  matchKey: MatchKey,
): readonly Assigned[] {
  const groups = Map.groupBy(
    deployments,
    ({ baseUrl, endpoints, authStyle, apiKey }) =>
      `${baseUrl} ${toOverrides(endpoints)} ${authStyle} ${toIdentity(apiKey)}`,
  );
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const take = (group: string, name: string | undefined) => {
    if (name === undefined || taken.has(name) || names.has(group)) return;
    names.set(group, name);
    taken.add(name);
  };
  for (const [group, members] of groups) {
    for (const deployment of members) {
      const holder = models[deployment.name]?.provider;
      if (holder !== undefined && isAt(providers[holder], deployment)) take(group, holder);
    }
  }
  for (const [group, [first]] of groups) {
    if (first === undefined) continue;
    const free = findAt(providers, first).filter((name) => !taken.has(name));
    const isMatch = (name: string) => isKnownKey(first, { name, before: providers[name], matchKey });
    take(group, free.find((name) => isMatch(name) === true) ?? free.find((name) => isMatch(name) !== false));
    const findProvider = (name: string) => (Object.hasOwn(providers, name) || taken.has(name) ? name : null);
    take(group, toFreeProviderName({ findProvider }, first.baseUrl));
  }
  return [...groups].map(([group, members]) => {
    const name = names.get(group) ?? "";
    return { name, members, before: providers[name] };
  });
}

interface Compared {
  readonly name: string;
  readonly before: FileProvider | undefined;
  readonly matchKey: MatchKey;
}

/** Whether the provider has the key of the deployment; null when either has none, or it cannot be told. */
export function isKnownKey(
  { apiKey }: LitellmDeployment,
  { name, before, matchKey }: Compared,
): boolean | null {
  if (apiKey === null || apiKey.value === null) return null;
  return hasKey(before) ? matchKey(name, apiKey.value) : null;
}

/** An installation's own file names a variable for each stored key. */
export function hasKey(provider: FileProvider | undefined): boolean {
  return provider?.api_key_env !== undefined;
}

/** Enabled ones first, then by name, as `/model/new` chooses. */
function findAt(
  providers: NonNullable<CatalogFile["providers"]>,
  deployment: LitellmDeployment,
): readonly string[] {
  return Object.entries(providers)
    .filter(
      ([, provider]) =>
        isAt(provider, deployment) && (provider.auth_style ?? AUTH_STYLE_DEFAULT) === deployment.authStyle,
    )
    .toSorted(
      ([left, { enabled: isLeft = true }], [right, { enabled: isRight = true }]) =>
        Number(isRight) - Number(isLeft) || compareCodeUnits(left, right),
    )
    .map(([name]) => name);
}

/** A provider that has more overrides than the file knows of is the same where the file knows of none. */
function isAt(provider: FileProvider | undefined, { baseUrl, endpoints }: LitellmDeployment): boolean {
  if (provider === undefined || provider.base_url !== baseUrl) return false;
  return endpoints === null || toOverrides(provider.endpoints ?? null) === toOverrides(endpoints);
}

function toOverrides(endpoints: { readonly [endpoint: string]: string } | null): string {
  return Object.entries(endpoints ?? {})
    .map(([endpoint, url]) => `${endpoint}=${url}`)
    .toSorted()
    .join(" ");
}

/** By the variable, not its value: what is set today must not regroup what was imported yesterday. */
function toIdentity(apiKey: Referred | null): string {
  if (apiKey === null) return "none";
  return apiKey.variable === null ? `key ${apiKey.value ?? ""}` : `variable ${apiKey.variable}`;
}
