import { type AuditChange, parseAuditChange } from "#audit/change.ts";
import { type Capability, isCapability } from "#catalog/capability.ts";
import { type Endpoint, isEndpoint } from "#catalog/endpoint.ts";
import { type ScheduledChange, type ScheduledEntry, toPricePairs } from "#catalog/scheduled-prices.ts";
import type { EndpointOverrides } from "#catalog/provider.ts";
import type { PriceConditions, PriceVariant } from "#kernel/price-variants.ts";
import { normaliseTag } from "#kernel/tags.ts";
import { byUnit, isUnit, type PriceSet, type Unit, UNITS } from "#kernel/units.ts";
import type { LimitEach, NamedTarget } from "#limits/limit.ts";
import type { Codec } from "#storage/sql/table.ts";

/** Codecs: how values of the catalog stand in columns of text. */

/** One of a set that may grow: what a newer version writes cannot be read. */
export function oneOfWords<const Word extends string>(words: readonly Word[]): Codec<Word> {
  return { read: (text) => words.find((word) => word === text), write: (word) => word };
}

export const ENDPOINTS = jsonOf<EndpointOverrides>((json) => {
  const endpoints: { [endpoint in Endpoint]?: string } = {};
  for (const [endpoint, url] of Object.entries(json ?? {})) {
    if (!isEndpoint(endpoint) || typeof url !== "string") return undefined;
    endpoints[endpoint] = url;
  }
  return endpoints;
});

export const CAPABILITIES = jsonOf<readonly Capability[]>((json) =>
  Array.isArray(json) && json.every(isCapability) ? json : undefined,
);

export const ALIASES = jsonOf<ReadonlySet<string>>(
  (json) => (Array.isArray(json) && json.every(isText) ? new Set(json) : undefined),
  (aliases) => [...aliases],
);

export const AUDIT_CHANGE = jsonOf<AuditChange>((json) => parseAuditChange(json) ?? undefined);

const TAG_LIST = jsonOf<readonly string[]>((json) =>
  Array.isArray(json) && json.every(isPair) ? json : undefined,
);

/** Normalized `name:value` pairs; NULL where there are none. */
export const TAGS: Codec<readonly string[]> = {
  read: (text) => (text === null ? [] : TAG_LIST.read(text)),
  write: (tags) => (tags.length === 0 ? null : TAG_LIST.write(tags)),
};

/** Decimal digits. */
export const AMOUNT: Codec<bigint> = {
  read: (text) => (text !== null && /^\d+$/.test(text) ? BigInt(text) : undefined),
  write: String,
};

const TAG_EACH = "tag:";

/** `principal`, `key` or `tag:<key>`. */
export const EACH: Codec<LimitEach> = {
  read(text) {
    if (text === "principal" || text === "key") return { kind: text };
    return text?.startsWith(TAG_EACH) ? { kind: "tag", key: text.slice(TAG_EACH.length) } : undefined;
  },
  write: (each) => (each.kind === "tag" ? TAG_EACH + each.key : each.kind),
};

/** Names that a limit's model had before, and where other models go that took one of them over. */
export interface FormerModels {
  readonly names: readonly string[];
  readonly targets: readonly NamedTarget[];
}

/** An array of the names, and of `[name, provider, upstream name]` of each target. */
export const FORMER_MODELS = jsonOf<FormerModels>(
  (json) => {
    if (!Array.isArray(json)) return undefined;
    const list: readonly unknown[] = json;
    return { names: list.filter(isText), targets: list.flatMap(toTargets) };
  },
  ({ names, targets }) => [
    ...names,
    ...targets.map(({ name, providerId, upstreamName }) => [name, providerId, upstreamName]),
  ],
);

function toTargets(json: unknown): readonly NamedTarget[] {
  if (!Array.isArray(json) || !json.every(isText)) return [];
  const [name, providerId, upstreamName] = json;
  if (name === undefined || providerId === undefined || upstreamName === undefined) return [];
  return [{ name, providerId, upstreamName }];
}

/** An array of `{when, prices}`, prices in 10⁻¹² of the currency unit per unit. */
export const VARIANTS = jsonOf<readonly PriceVariant[]>(toVariants, toJsonVariants);

function toVariants(json: unknown): readonly PriceVariant[] | undefined {
  if (!Array.isArray(json)) return undefined;
  const list: readonly unknown[] = json;
  const variants = list.flatMap((each) => toVariant(each) ?? []);
  return variants.length === list.length ? variants : undefined;
}

function toJsonVariants(variants: readonly PriceVariant[]) {
  return variants.map(({ when, ...prices }) => ({ when: toJsonConditions(when), prices }));
}

/** Units of a newer version are left out. */
export const OWN_UNITS = jsonOf<readonly Unit[]>((json) =>
  Array.isArray(json) ? json.filter(isUnit) : undefined,
);

/** Prices to come: `{model, prices, variants}`, of which null is left as it is, or `{feed, entries}`. */
export const SCHEDULE = jsonOf<ScheduledChange>(
  (json) => {
    if (!isFields(json)) return undefined;
    const { model: modelId, feed: version, prices: set, variants: list } = json;
    if (isText(version)) {
      const entries = toEntries(json["entries"]);
      return entries && { kind: "feed", version, entries };
    }
    if (!isText(modelId)) return undefined;
    const prices = set === null ? null : toPrices(set);
    const variants = list === null ? null : toVariants(list);
    if (prices === undefined || variants === undefined) return undefined;
    return { kind: "model", modelId, prices: prices && toPricePairs(prices), variants };
  },
  (change) =>
    change.kind === "feed"
      ? { feed: change.version, entries: change.entries.map(toJsonEntry) }
      : {
          model: change.modelId,
          prices: change.prices && Object.fromEntries(change.prices),
          variants: change.variants && toJsonVariants(change.variants),
        },
);

function toJsonEntry({ name, unit, pricePico, when }: ScheduledEntry) {
  return { name, unit, price: pricePico, when: when && toJsonConditions(when) };
}

function toEntries(json: unknown): readonly ScheduledEntry[] | undefined {
  if (!Array.isArray(json)) return undefined;
  const list: readonly unknown[] = json;
  const entries = list.flatMap((each): ScheduledEntry[] => {
    if (!isFields(each)) return [];
    const { name, unit, price: pricePico, when: told } = each;
    const when = told === undefined ? undefined : toConditions(told);
    if (!isText(name) || !isUnit(unit) || typeof pricePico !== "number") return [];
    if (told !== undefined && when === undefined) return [];
    return [{ name, unit, pricePico, ...(when !== undefined && { when }) }];
  });
  return entries.length === list.length ? entries : undefined;
}

/** Conditions as JSON; an empty text for none, which no NULL has to be compared with. */
export const CONDITIONS: Codec<PriceConditions | null> = {
  read(text) {
    if (text === "" || text === null) return text === "" ? null : undefined;
    try {
      return toConditions(JSON.parse(text));
    } catch {
      return undefined;
    }
  },
  write: toStoredConditions,
};

export function toStoredConditions(when: PriceConditions | null): string {
  return when === null ? "" : JSON.stringify(toJsonConditions(when));
}

function toJsonConditions({ tier, inputOver, geo, hours }: PriceConditions) {
  return { tier, input_over: inputOver, geo, hours };
}

function toVariant(json: unknown): PriceVariant | undefined {
  if (!isFields(json)) return undefined;
  const when = toConditions(json["when"]);
  const prices = toPrices(json["prices"]);
  return when === undefined || prices === undefined ? undefined : { when, ...prices };
}

/** One more condition than this version knows would make the prices hold for more requests than they do. */
function toConditions(json: unknown): PriceConditions | undefined {
  if (!isFields(json)) return undefined;
  const { tier, input_over: inputOver, geo, hours, ...others } = json;
  if (Object.keys(others).length > 0 || Object.keys(json).length === 0) return undefined;
  if (inputOver !== undefined && typeof inputOver !== "number") return undefined;
  const isTextOrAbsent = (value: unknown) => value === undefined || isText(value);
  if (!isTextOrAbsent(tier) || !isTextOrAbsent(geo) || !isTextOrAbsent(hours)) return undefined;
  return {
    ...(isText(tier) && { tier }),
    ...(inputOver !== undefined && { inputOver }),
    ...(isText(geo) && { geo }),
    ...(isText(hours) && { hours }),
  };
}

function toPrices(json: unknown): PriceSet | undefined {
  if (!isFields(json) || !Object.keys(json).every(isUnit)) return undefined;
  const prices = byUnit(UNITS, (unit) => {
    const price = json[unit];
    return typeof price === "number" ? price : undefined;
  });
  return Object.keys(prices).length === Object.keys(json).length ? prices : undefined;
}

function isFields(json: unknown): json is { readonly [field: string]: unknown } {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

function isText(json: unknown): json is string {
  return typeof json === "string";
}

function isPair(json: unknown): json is string {
  return isText(json) && normaliseTag(json) === json;
}

function jsonOf<Value>(
  parse: (json: unknown) => Value | undefined,
  toJson: (value: Value) => unknown = (value) => value,
): Codec<Value> {
  return {
    read(text) {
      try {
        return parse(JSON.parse(text ?? "null"));
      } catch {
        return undefined;
      }
    },
    write: (value) => JSON.stringify(toJson(value)),
  };
}
