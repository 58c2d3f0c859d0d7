import type { ModelRemoval } from "#catalog/model-plan.ts";
import type { ProviderRemoval } from "#catalog/provider-plan.ts";
import type { PrincipalRemoval, RemovedSecret, SecretRemoval } from "#identity/store.ts";
import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { toCounted } from "#kernel/text.ts";
import type { Limit } from "#limits/limit.ts";
import { toLimitSentence } from "./limits.ts";

/** Removals that are only asked for → wire JSON: facts as fields, and the same in sentences for a person. */

export function toProviderRemovalView({ provider, models: all }: ProviderRemoval) {
  const models = all.filter(({ route }) => route.kind === "binding").map(({ alias }) => alias);
  const names = all.filter(({ route }) => route.kind === "name").map(({ alias }) => alias);
  const told =
    models.length === 0
      ? `The provider ${provider.name} serves no models.`
      : `The provider ${provider.name} serves ${toCounted(models.length, "model")} that ${toVerb(models, "go")} with it: ${toShortList(models)}.`;
  const named =
    names.length === 0
      ? ""
      : ` ${toCounted(names.length, "other name")} of them ${toVerb(names, "go")} too: ${toShortList(names)}.`;
  return { ...toDryRun(provider.name, told + named), models, names };
}

export function toModelRemovalView({ resolved, prices }: ModelRemoval) {
  const { model, bound, provider, upstreamName } = resolved;
  const leadsTo = model.id === bound.id ? `${upstreamName} of ${provider.name}` : `a name for ${bound.alias}`;
  // A complete write of prices has a row, without a price, for each unit that it left out.
  const units = prices.flatMap((step) =>
    step.kind === "delete_price" && (resolved.prices[step.unit] ?? null) !== null ? [step.unit] : [],
  );
  const hasVariants = resolved.variants.length > 0 && prices.some(({ kind }) => kind === "delete_variants");
  const priced = units.length === 0 && !hasVariants ? "" : " The prices that were set with it go with it.";
  return {
    ...toDryRun(model.alias, `The model ${model.alias} is ${leadsTo}.${priced}`),
    prices: units,
  };
}

export function toPrincipalRemovalView({ principal, keys, relayTokens, sessions, limits }: PrincipalRemoval) {
  const secrets = [
    ...keys.map((key) => `key ${toSecretName(key)}`),
    ...relayTokens.map((token) => `relay token ${toSecretName(token)}`),
  ];
  const owned =
    secrets.length === 0
      ? "has no keys"
      : `has ${toShortList(secrets)}, which ${toVerb(secrets, "stop")} working at once`;
  const signedIn =
    sessions === 0 ? "" : ` ${toCounted(sessions, "browser session")} ${sessions === 1 ? "ends" : "end"}.`;
  const sentence = `The ${principal.role} ${principal.name} ${owned}.${signedIn} What was used stays under the name.${toLimitWords(limits)}`;
  return {
    ...toDryRun(principal.id, sentence),
    name: principal.name,
    keys: keys.map(({ id, label, suffix }) => ({ id, key_suffix: suffix, label })),
    relay_tokens: relayTokens.map(({ id, label, suffix }) => ({ id, token_suffix: suffix, label })),
    sessions,
    limits: limits.map(({ id, name }) => ({ id, name })),
  };
}

export function toSecretRemovalView(
  noun: string,
  { secret, limits }: SecretRemoval,
  lastUsedAtUs: InstantUs | null,
) {
  const use = lastUsedAtUs === null ? "was never used" : `was last used ${toMoment(lastUsedAtUs)} UTC`;
  const sentence = `The ${noun} ${toSecretName(secret)} of ${secret.principalName} ${use}.${toLimitWords(limits)}`;
  return {
    ...toDryRun(secret.id, sentence),
    last_used_at: lastUsedAtUs === null ? null : formatInstant(lastUsedAtUs),
    limits: limits.map(({ id, name }) => ({ id, name })),
  };
}

export function toLimitRemovalView(limit: Limit) {
  return { ...toDryRun(limit.id, `The limit ${limit.name}: ${toLimitSentence(limit)}`), name: limit.name };
}

function toDryRun(deleted: string, sentence: string) {
  return { deleted, applied: false as const, sentence };
}

/** `…x7Yz (laptop)`. */
function toSecretName({ suffix, label }: Pick<RemovedSecret, "suffix" | "label">): string {
  return `…${suffix}${label === "" ? "" : ` (${label})`}`;
}

function toLimitWords(limits: readonly { readonly name: string }[]): string {
  if (limits.length === 0) return "";
  const names = limits.map(({ name }) => name);
  const count = names.length === 1 ? "A limit goes" : `${names.length} limits go`;
  return ` ${count} with it: ${toShortList(names)}.`;
}

/** The verb as it goes with so many: `go`, of one `goes`. */
function toVerb({ length }: readonly string[], verb: "go" | "stop"): string {
  return length === 1 ? { go: "goes", stop: "stops" }[verb] : verb;
}

const NAMES_SHOWN_MAX = 10;

/** The first ten names, and how many more there are. */
function toShortList(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_SHOWN_MAX).join(", ");
  return names.length > NAMES_SHOWN_MAX ? `${shown} and ${names.length - NAMES_SHOWN_MAX} more` : shown;
}

/** `2026-03-11 12:00:00`. */
function toMoment(instantUs: InstantUs): string {
  return formatInstant(instantUs).slice(0, "2026-03-11T12:00:00".length).replace("T", " ");
}
