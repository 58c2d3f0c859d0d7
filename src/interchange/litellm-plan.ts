import { ALIAS_PATTERN } from "#kernel/text.ts";
import { isSamePrices, type CatalogState, type StateProvider } from "./catalog-state.ts";
import type { LitellmAlias, LitellmConfig } from "./litellm-config.ts";
import type { LitellmDeployment } from "./litellm-deployment.ts";
import { assignProviders, isKnownKey, type MatchKey } from "./litellm-providers.ts";
import type { Referred } from "./litellm-values.ts";
import { describePrices, describeRoute, type Change, type Plan } from "./plan.ts";

export interface ImportPlan extends Plan {
  /** Models that are not carried over, and keys that are missing. */
  readonly gapCount: number;
}

/**
 * What the config has and the installation does not. An import only adds: a model that is there already stays as it is, and
 * so does a provider but for an API key that it lacks. What was imported once is there, so that a second run changes nothing.
 */
export function planImport(
  { deployments, aliases, notes: read }: LitellmConfig,
  state: CatalogState,
  matchKey: MatchKey,
): ImportPlan {
  const notes = [...read];
  const note = (line: number, sentence: string, isGap = false) => void notes.push({ line, sentence, isGap });
  const kept = keepFirst(deployments, note);
  const providers = assignProviders(kept, state, matchKey);

  const providerChanges: Change[] = [];
  const modelChanges: Change[] = [];
  for (const { name, members, before } of providers) {
    const added = members.filter((deployment) => isNew(deployment, { name, state, note }));
    const [first] = members;
    if (first === undefined || (before === undefined && added.length === 0)) continue;
    const change = before === undefined ? toNewProvider(name, members) : toKeyChange(name, first, before);
    if (change !== null) providerChanges.push(change);
    const keepsOther =
      before?.hasCredential === true && isKnownKey(first, { name, state, matchKey }) !== true;
    if (keepsOther && first.apiKey !== null && added.length > 0)
      note(
        first.line,
        `${first.name}: goes to the provider ${name}, which is there already and keeps its API key.`,
      );
    noteTimeouts(members, { seconds: before?.timeoutReadSeconds ?? findTimeout(members), note });
    modelChanges.push(...added.map((deployment) => toNewModel(name, deployment)));
  }
  const bindings = new Set([
    ...modelChanges.map(({ name }) => name),
    ...[...state.models].flatMap(([alias, { route }]) => (route.kind === "binding" ? [alias] : [])),
  ]);
  const nameChanges = aliases.flatMap((alias) => planAlias(alias, { bindings, state, note }));
  return {
    changes: [...providerChanges, ...modelChanges, ...nameChanges],
    notes: notes.toSorted((left, right) => left.line - right.line),
    gapCount: notes.filter(({ isGap }) => isGap).length,
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
  readonly name: string;
  readonly state: CatalogState;
  readonly note: TakeNote;
}

function isNew(deployment: LitellmDeployment, { name, state, note }: ModelContext): boolean {
  const before = state.models.get(deployment.name);
  if (before === undefined) return true;
  const { route, prices } = before;
  const isSameRoute =
    route.kind === "binding" && route.provider === name && route.upstreamName === deployment.upstreamName;
  if (!isSameRoute) {
    const sentence = `${deployment.name}: is not carried over: a model of this name is there already (${describeRoute(route)}).`;
    note(deployment.line, sentence, true);
  } else if (deployment.prices !== null && !isSamePrices(prices, deployment.prices)) {
    note(
      deployment.line,
      `${deployment.name}: is there already and keeps its prices (${describePrices(prices)}).`,
    );
  } else if (route.capabilities.join() !== deployment.capabilities.join()) {
    const capabilities = route.capabilities.join(", ");
    note(
      deployment.line,
      `${deployment.name}: is there already and keeps its capabilities (${capabilities}).`,
    );
  }
  return false;
}

function toNewProvider(name: string, members: readonly LitellmDeployment[]): Change | null {
  const [first] = members;
  if (first === undefined) return null;
  const { baseUrl, apiKey } = first;
  const timeoutReadSeconds = findTimeout(members);
  const verifyTls = members.every((each) => each.verifyTls !== false);
  const draft = { name, baseUrl, verifyTls, timeoutReadSeconds, apiKey: apiKey?.value ?? undefined };
  const details = [
    baseUrl,
    describeKey(apiKey),
    ...(timeoutReadSeconds === undefined ? [] : [`timeout_read: ${timeoutReadSeconds}`]),
    ...(verifyTls ? [] : ["verify_tls: false"]),
  ];
  const steps = [{ kind: "create_provider", draft }] as const;
  return { action: "add", subject: "provider", name, details, steps };
}

function toKeyChange(name: string, { apiKey }: LitellmDeployment, before: StateProvider): Change | null {
  if (before.hasCredential || apiKey === null || apiKey.value === null) return null;
  const steps = [{ kind: "update_provider", name, patch: { apiKey: apiKey.value } }] as const;
  return { action: "change", subject: "provider", name, details: [describeKey(apiKey)], steps };
}

function toNewModel(provider: string, deployment: LitellmDeployment): Change {
  const { name, upstreamName, capabilities, prices } = deployment;
  const draft = { alias: name, provider, upstreamName, capabilities, pricing: prices ?? undefined };
  const details = [
    describeRoute({ kind: "binding", provider, upstreamName, capabilities }),
    capabilities.join(", "),
    ...(prices === null ? [] : [describePrices(prices)]),
  ];
  return { action: "add", subject: "model", name, details, steps: [{ kind: "create_model", draft }] };
}

function describeKey(apiKey: Referred | null): string {
  if (apiKey === null || apiKey.value === null) return "no API key";
  return apiKey.variable === null ? "API key from the file" : `API key from ${apiKey.variable}`;
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
  readonly bindings: ReadonlySet<string>;
  readonly state: CatalogState;
  readonly note: TakeNote;
}

function planAlias(
  { line, name, target, hidden }: LitellmAlias,
  { bindings, state, note }: AliasContext,
): readonly Change[] {
  const route = state.models.get(name)?.route;
  if (route?.kind === "name" && route.target === target) return [];
  const obstacle =
    route !== undefined || bindings.has(name)
      ? "a model of this name is there already"
      : bindings.has(target)
        ? ALIAS_PATTERN.test(name)
          ? null
          : "a name here is letters, digits and . _ : / -, and starts with a letter or digit"
        : `${target} is no model that is carried over`;
  if (obstacle !== null) {
    note(line, `${name}: is not carried over: ${obstacle}.`, true);
    return [];
  }
  const details = [describeRoute({ kind: "name", target }), ...(hidden ? ["hidden"] : [])];
  const steps = [{ kind: "create_model", draft: { alias: name, target, hidden } }] as const;
  return [{ action: "add", subject: "model", name, details, steps }];
}
