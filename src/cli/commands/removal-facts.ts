import { DAY_US, formatInstant } from "#kernel/clock.ts";
import { toCounted } from "#kernel/text.ts";
import type { Installation } from "#cli/installation/client.ts";
import {
  getPrincipal,
  listKeys,
  listLimits,
  listModels,
  listProviders,
  listRelayTokens,
  type LimitSubjectPair,
  toNamedKey,
  toNamedToken,
} from "#cli/installation/lists.ts";
import { requireNamed } from "#cli/installation/named.ts";
import { readReport } from "#cli/installation/report.ts";
import { toAmount, toMoment } from "#cli/screen/figures.ts";
import type { Removal } from "./removal.ts";
import { sumUsage } from "./usage-groups.ts";

/** Throws a `CommandError` when there is none of this id. */
export async function describeKey(installation: Installation, id: string): Promise<Removal> {
  const keys = await listKeys(installation.api, { principal: undefined });
  const key = requireNamed(
    keys.map((each) => Object.assign({}, each, toNamedKey(each))),
    id,
    "No such key. (key_not_found)",
  );
  const cost = await describeCost(installation, { key: id });
  const limits = await describeLimits(installation, "key", id);
  return {
    facts: `The key ${describeSecret(key.key_suffix, key)} ${cost}${limits}`,
    question: "Delete it?",
  };
}

/** Throws a `CommandError` when there is none of this id. */
export async function describeRelayToken(installation: Installation, id: string): Promise<Removal> {
  const tokens = await listRelayTokens(installation.api, { principal: undefined });
  const token = requireNamed(
    tokens.map((each) => Object.assign({}, each, toNamedToken(each))),
    id,
    "No such relay token. (relay_token_not_found)",
  );
  const limits = await describeLimits(installation, "relay_token", id);
  return {
    facts: `The relay token ${describeSecret(token.token_suffix, token)}${limits}`,
    question: "Delete it?",
  };
}

/** Throws a `CommandError` when no model has the alias. */
export async function describeModel(installation: Installation, alias: string): Promise<Removal> {
  const models = await listModels(installation.api);
  const { provider, upstream_name: upstreamName } = requireNamed(
    models.map((each) => Object.assign({}, each, { name: each.alias })),
    alias,
    "There is no model of this name. (model_not_found)",
  );
  const cost = await describeCost(installation, { model: alias });
  return {
    facts: `The model ${alias} is ${upstreamName} of ${provider}. ${cost}`,
    question: "Remove it?",
  };
}

/** Throws a `CommandError` when no provider has the name. */
export async function describeProvider({ api }: Installation, name: string): Promise<Removal> {
  const noun = `The provider ${name}`;
  requireNamed(await listProviders(api), name, "No such provider. (provider_not_found)");
  const aliases = (await listModels(api, { provider: name })).map(({ alias }) => alias);
  if (aliases.length === 0) return { facts: `${noun} serves no models.`, question: "Remove it?" };
  const models = aliases.length === 1 ? "a model that goes" : `${aliases.length} models that go`;
  return {
    facts: `${noun} serves ${models} with it: ${toShortList(aliases)}.`,
    question: "Remove them all?",
  };
}

/** Throws a `CommandError` when no principal has the name. */
export async function describePrincipal(installation: Installation, name: string): Promise<Removal> {
  const { api } = installation;
  const { role } = await getPrincipal(api, name);
  const keys = await listKeys(api, { principal: name });
  const tokens = await listRelayTokens(api, { principal: name });
  const cost = await describeCost(installation, { principal: name });
  const limits = await describeLimits(installation, "principal", name);
  const secrets = [
    ...keys.map(({ key_suffix: suffix, label }) => toName("key", suffix, label)),
    ...tokens.map(({ token_suffix: suffix, label }) => toName("relay token", suffix, label)),
  ];
  const owned =
    secrets.length === 0
      ? "has no keys"
      : `has ${toShortList(secrets)}, which ${secrets.length === 1 ? "stops" : "stop"} working at once`;
  return {
    facts: `The ${role} ${name} ${owned}. ${cost} What was used stays under the name.${limits}`,
    question: "Delete it with its keys and sessions?",
  };
}

interface SecretView {
  readonly label: string;
  readonly principal: string;
  readonly last_used_at: string | null;
}

/** `…x7Yz (laptop) of ada was last used 2026-03-11 12:00:00 UTC.` */
function describeSecret(suffix: string, { label, principal, last_used_at: at }: SecretView): string {
  const use = at === null ? "was never used" : `was last used ${toMoment(at)} UTC`;
  return `${toName("", suffix, label)} of ${principal} ${use}.`.trimStart();
}

function toName(kind: string, suffix: string, label: string): string {
  return `${kind} …${suffix}${label === "" ? "" : ` (${label})`}`;
}

const DAYS = 30;

type Used = { readonly key: string } | { readonly principal: string } | { readonly model: string };

/** `12 requests for $1.20 in the last 30 days.` */
async function describeCost(installation: Installation, used: Used): Promise<string> {
  const query = { ...used, since: formatInstant(installation.clock.nowUs() - DAYS * DAY_US) };
  const { body } = await readReport(installation, () =>
    installation.api.callWithHeaders("GET /stats/summary", { query }),
  );
  const { requests, cost } = sumUsage(body.usage);
  if (requests === 0) return `No requests in the last ${DAYS} days.`;
  const priced = cost === null ? "without a price" : `for ${toAmount(cost)}`;
  return `${toCounted(requests, "request")} ${priced} in the last ${DAYS} days.`;
}

/** The limits that go with what they are about; empty where there are none. */
async function describeLimits({ api }: Installation, ...of: LimitSubjectPair): Promise<string> {
  const limits = await listLimits(api, { of });
  if (limits.length === 0) return "";
  const count = limits.length === 1 ? "A limit goes" : `${limits.length} limits go`;
  return ` ${count} with it: ${toShortList(limits.map(({ name }) => name))}.`;
}

const NAMES_SHOWN_MAX = 10;

/** Names, of which the first ten are told and the others counted. */
function toShortList(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_SHOWN_MAX).join(", ");
  return names.length > NAMES_SHOWN_MAX ? `${shown} and ${names.length - NAMES_SHOWN_MAX} more` : shown;
}
