import { ENDPOINTS } from "#catalog/endpoint.ts";
import { CATALOG_FORMAT, parsePricesToCome } from "#catalog/catalog-draft.ts";
import { parseFeedVersion } from "#catalog/feed.ts";
import { PRICES_MAX } from "#catalog/pricing.ts";
import { isUpstreamName, parseAlias, parseOrigin } from "#catalog/model.ts";
import { parseDraftRoute } from "#catalog/model-plan.ts";
import { parsePricing } from "#catalog/price-plan.ts";
import { parsePriceVariants } from "#catalog/variant-list.ts";
import { parseProviderDraft } from "#catalog/provider.ts";
import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { findNearest } from "#kernel/nearest.ts";
import { UNITS } from "#kernel/units.ts";
import {
  toModelDraft,
  toPricesToComeDraft,
  toProviderDraft,
  type CatalogFile,
  type FileModel,
  type FilePrices,
  type FilePricesToCome,
  type FileProvider,
  type FileVariants,
  type WholeCatalogFile,
} from "#views/catalog-file.ts";
import type { PeopleFile } from "#views/people-file.ts";
import {
  findEntry,
  readFields,
  toJson,
  readMaps,
  refuseVariable,
  toShape,
  tryParse,
  type Fields,
} from "./fields.ts";
import { readPeople } from "./people-parse.ts";
import { parseSource, SourceError, type Problem, type Source, type SourceMap } from "./source.ts";

export type ParsedCatalog =
  | { readonly kind: "read"; readonly file: CatalogFile & PeopleFile }
  /** At least one, by line. */
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

/** Reads what `formatCatalog` writes, also when a person has edited it. All of it is right, or it is refused with every problem. */
export function parseCatalog(text: string): ParsedCatalog {
  const problems: Problem[] = [];
  const file = readFile(text, problems);
  if (file !== undefined && problems.length === 0) return { kind: "read", file };
  return { kind: "refused", problems: problems.toSorted((left, right) => left.line - right.line) };
}

function readFile(text: string, problems: Problem[]): (CatalogFile & PeopleFile) | undefined {
  let root;
  try {
    root = parseSource(text);
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause;
    problems.push(cause.problem);
    return undefined;
  }
  const format = root.kind === "map" ? findEntry(root, "lockport_catalog") : undefined;
  if (root.kind !== "map" || format === undefined) {
    const isLitellm = root.kind === "map" && root.entries.has("model_list");
    const hint = isLitellm ? " It looks like a LiteLLM config: lockport import litellm-config FILE." : "";
    problems.push({
      line: 1,
      sentence: `This is no catalog of Lockport's, which begins with lockport_catalog: ${CATALOG_FORMAT}.${hint}`,
    });
    return undefined;
  }
  if (format.value.kind !== "scalar" || format.value.value !== CATALOG_FORMAT) {
    problems.push({
      line: format.line,
      sentence: `Only lockport_catalog: ${CATALOG_FORMAT} can be read: export the catalog again with this version of lockport.`,
    });
    return undefined;
  }
  const shape = {
    lockport_catalog: "number",
    providers: "map",
    models: "map",
    feeds: "list",
    prices_to_come: "list",
    principals: "map",
    keys: "map",
    limits: "map",
  } as const;
  const fields = readFields(root, { problems, what: "A catalog file", shape });
  const { providers, models, feeds, prices_to_come: toCome } = fields.values;
  const people = readPeople(fields.values, problems);
  const isOfPeople = Object.keys(people).length > 0;
  const format1 = { lockport_catalog: CATALOG_FORMAT } as const;
  // A file of people alone leaves the catalog alone, as one of the catalog alone leaves the people.
  if (isOfPeople && (providers ?? models ?? feeds ?? toCome) === undefined) return { ...format1, ...people };
  const readModels = readNamed(models, problems, readModel);
  const catalog = {
    ...format1,
    providers: readNamed(providers, problems, readProvider),
    models: readModels,
    feeds: readFeeds(feeds ?? [], problems),
    ...(toCome !== undefined && { prices_to_come: readPricesToCome(toCome, readModels, problems) }),
  };
  if (models !== undefined) refuseUnknownNames(models, catalog, problems);
  return { ...catalog, ...people };
}

function readNamed<Value>(
  map: SourceMap | undefined,
  problems: Problem[],
  read: (name: string, map: SourceMap, problems: Problem[]) => Value | undefined,
): { readonly [name: string]: Value } {
  const named = readMaps(map, problems).flatMap(([name, fields]): [string, Value][] => {
    const value = read(name, fields, problems);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(named);
}

/** Every field of a provider but the secrets themselves, which no file holds. */
const { ca_pem: _, ...SETTINGS } = toShape(PROVIDER_SETTINGS);
const PROVIDER_SHAPE = {
  base_url: "text",
  api_key_env: "text",
  api_key_file: "text",
  ca_pem_file: "text",
  ...SETTINGS,
  endpoints: "map",
  enabled: "boolean",
} as const satisfies { [field in Exclude<keyof FileProvider, "api_key" | "ca_pem">]-?: string };

function readProvider(name: string, map: SourceMap, problems: Problem[]): FileProvider | undefined {
  const fields = readFields(map, { problems, what: "A provider", shape: PROVIDER_SHAPE });
  const { endpoints, base_url: baseUrl, ...rest } = fields.values;
  refuseReferences(fields, problems);
  if (baseUrl === undefined) {
    if (findEntry(map, "base_url") === undefined)
      problems.push({ line: map.line, sentence: `The provider ${name} has no base_url.` });
    return undefined;
  }
  const provider = {
    base_url: baseUrl,
    ...rest,
    ...(endpoints !== undefined && { endpoints: readEndpoints(endpoints, problems) }),
  };
  const lineOf = (param: string | null) => fields.lineOf(param?.split(".")[0] ?? "");
  tryParse(problems, lineOf, () => parseProviderDraft(toProviderDraft(name, provider)));
  return provider;
}

function readEndpoints(map: SourceMap, problems: Problem[]): { readonly [endpoint: string]: string } {
  const shape = Object.fromEntries(ENDPOINTS.map((endpoint) => [endpoint, "text" as const]));
  const { values } = readFields(map, { problems, what: "endpoints", shape });
  return Object.fromEntries(
    Object.entries(values).flatMap(([endpoint, url]) => (url === undefined ? [] : [[endpoint, url]])),
  );
}

function refuseReferences({ values, lineOf }: Fields<typeof PROVIDER_SHAPE>, problems: Problem[]): void {
  if (values.api_key_env === undefined) return;
  if (values.api_key_file !== undefined) {
    const sentence = "A provider has api_key_env or api_key_file, not both.";
    problems.push({ line: lineOf("api_key_file"), sentence });
  }
  refuseVariable("api_key_env", values.api_key_env, lineOf("api_key_env"), problems);
}

const MODEL_SHAPE = {
  provider: "text",
  upstream_name: "text",
  capabilities: "texts",
  target: "text",
  prices: "map",
  price_variants: "list",
  hidden: "boolean",
  origin: "text",
} as const satisfies { [field in keyof FileModel]-?: string };

function readModel(alias: string, map: SourceMap, problems: Problem[]): FileModel | undefined {
  const fields = readFields(map, { problems, what: "A model", shape: MODEL_SHAPE });
  const { prices, price_variants: variants, ...rest } = fields.values;
  const model = {
    ...rest,
    ...(prices !== undefined && { prices: readPrices(prices, problems) }),
    ...(variants !== undefined && {
      price_variants: readVariants(variants, problems, fields.lineOf("price_variants")),
    }),
  };
  const lineOf = (param: string | null) => fields.lineOf(param?.split(/[.[]/)[0] ?? "");
  tryParse(problems, lineOf, () => {
    parseAlias(alias);
    parseDraftRoute(toModelDraft(alias, model));
    parseOrigin(model.origin ?? "declared");
  });
  return model;
}

/** Prices per million by unit. */
function readPrices(map: SourceMap, problems: Problem[]): FilePrices {
  const shape = Object.fromEntries(UNITS.map((unit) => [unit, "number" as const]));
  const { values, lineOf } = readFields(map, { problems, what: "prices", shape });
  for (const [unit, price] of Object.entries(values))
    tryParse(
      problems,
      () => lineOf(unit),
      () => parsePricing({ [unit]: price }),
    );
  return values;
}

/** A list of `{when, pricing}`, judged as a request's is. */
function readVariants(sources: readonly Source[], problems: Problem[], line: number): FileVariants {
  const variants = sources.map(toJson);
  const lineOf = (param: string | null) => sources[Number(/\[(\d+)\]/.exec(param ?? "")?.[1])]?.line ?? line;
  tryParse(problems, lineOf, () => parsePriceVariants(variants));
  return variants;
}

/** Each price of a name stands in one of them. */
function readFeeds(sources: readonly Source[], problems: Problem[]): WholeCatalogFile["feeds"] {
  const priced = new Set<string>();
  const listed = new Set<string>();
  return sources.flatMap((source) => {
    if (source.kind !== "map") {
      problems.push({ line: source.line, sentence: "A feed must have a version and prices." });
      return [];
    }
    const shape = { version: "text", prices: "map", variants: "map" } as const;
    const { values, lineOf } = readFields(source, { problems, what: "A feed", shape });
    const version = tryParse(
      problems,
      () => lineOf("version"),
      () => parseFeedVersion(values.version),
    );
    const prices = readNamed(values.prices, problems, (name, map) => {
      if (!isUpstreamName(name))
        problems.push({
          line: map.line,
          sentence: "Prices must stand under an alias or an upstream name, and this is neither.",
        });
      const ofName = readPrices(map, problems);
      for (const unit of Object.keys(ofName)) {
        const key = `${unit} ${name}`;
        if (priced.has(key))
          problems.push({
            line: map.line,
            sentence: `Another feed of this file has a price of ${unit} for it.`,
          });
        priced.add(key);
      }
      return ofName;
    });
    if (priced.size > PRICES_MAX)
      problems.push({ line: source.line, sentence: `The feeds have more than ${PRICES_MAX} prices.` });
    const lists = readFeedLists(values.variants, listed, problems);
    return version === undefined
      ? []
      : [{ version, prices, ...(Object.keys(lists).length > 0 && { variants: lists }) }];
  });
}

function readFeedLists(
  map: SourceMap | undefined,
  listed: Set<string>,
  problems: Problem[],
): { readonly [name: string]: FileVariants } {
  const lists: [string, FileVariants][] = [];
  for (const [name, { line, value }] of map?.entries ?? []) {
    const refuse = (sentence: string) => void problems.push({ line, sentence });
    if (value.kind !== "list") {
      refuse("This must be a list of variants.");
      continue;
    }
    if (!isUpstreamName(name))
      refuse("Prices must stand under an alias or an upstream name, and this is neither.");
    if (listed.has(name)) refuse("Another feed of this file has variants of it.");
    listed.add(name);
    lists.push([name, readVariants(value.values, problems, line)]);
  }
  return Object.fromEntries(lists);
}

const TO_COME_SHAPE = {
  effective_from: "text",
  model: "text",
  feed: "text",
  prices: "map",
  price_variants: "list",
} as const satisfies { [field in keyof FilePricesToCome]-?: string };

/** The moment of an entry is the installation's to judge, whose clock tells whether it has passed. */
function readPricesToCome(
  sources: readonly Source[],
  models: WholeCatalogFile["models"],
  problems: Problem[],
): readonly FilePricesToCome[] {
  return sources.flatMap((source): readonly FilePricesToCome[] => {
    if (source.kind !== "map") {
      problems.push({ line: source.line, sentence: "Prices to come must be a map of fields (name: value)." });
      return [];
    }
    const what = "An entry of prices_to_come";
    const problemCount = problems.length;
    const { values, lineOf } = readFields(source, { problems, what, shape: TO_COME_SHAPE });
    const { effective_from: effectiveFrom, model, feed, prices, price_variants: variants } = values;
    if (effectiveFrom === undefined || model === undefined) {
      problems.push({ line: source.line, sentence: `${what} has an effective_from and a model.` });
      return [];
    }
    const toCome = {
      effective_from: effectiveFrom,
      model,
      ...(feed !== undefined && { feed }),
      ...(prices !== undefined && { prices: readPrices(prices, problems) }),
      ...(variants !== undefined && {
        price_variants: readVariants(variants, problems, lineOf("price_variants")),
      }),
    };
    if (feed === undefined && !Object.hasOwn(models, model))
      problems.push({ line: lineOf("model"), sentence: toUnknown("model", model, models) });
    if (problems.length > problemCount) return [];
    tryParse(
      problems,
      (param) => lineOf(param ?? ""),
      () => parsePricesToCome(toPricesToComeDraft(toCome), -Infinity),
    );
    return [toCome];
  });
}

/** The file stands on its own: what it names is in it, so that a typo is found before anything is changed. */
function refuseUnknownNames(
  map: SourceMap,
  { providers, models }: Pick<WholeCatalogFile, "providers" | "models">,
  problems: Problem[],
): void {
  for (const [alias, entry] of map.entries) {
    const { provider = "", target = "" } = models[alias] ?? {};
    const lineOf = (field: string) =>
      (entry.value.kind === "map" ? entry.value.entries.get(field)?.line : undefined) ?? entry.line;
    const refuse = (field: string, sentence: string) => void problems.push({ line: lineOf(field), sentence });
    if (provider !== "" && !Object.hasOwn(providers, provider))
      refuse("provider", toUnknown("provider", provider, providers));
    if (target !== "" && !Object.hasOwn(models, target)) refuse("target", toUnknown("model", target, models));
    if ((models[target]?.target ?? "") !== "")
      refuse("target", "The target is itself a name. Point at the model that routes to a provider.");
  }
}

function toUnknown(kind: string, name: string, names: object): string {
  const nearest = findNearest(name, Object.keys(names));
  return `The file has no ${kind} of this name.${nearest === null ? "" : ` Did you mean ${nearest}?`}`;
}
