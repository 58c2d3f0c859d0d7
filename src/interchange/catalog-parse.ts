import { CAPABILITIES_DEFAULT, ENDPOINTS } from "#catalog/capability.ts";
import { parseAlias, parseCapabilities, parseOrigin } from "#catalog/model-draft.ts";
import { parseDraftRoute } from "#catalog/model-route.ts";
import { parseProviderDraft } from "#catalog/provider-draft.ts";
import { findNearest } from "#kernel/nearest.ts";
import {
  FORMAT,
  type CatalogFile,
  type FileModel,
  type FileProvider,
  type ModelRoute,
  type Reference,
} from "./catalog-file.ts";
import { readFeeds, readPrices } from "./catalog-parse-prices.ts";
import { toCapabilitySet } from "./catalog-state.ts";
import { findEntry, readFields, readMaps, toText, tryParse, type Fields } from "./fields.ts";
import { parseSource, SourceError, type Problem, type SourceMap } from "./source.ts";

export type ParsedCatalog =
  | { readonly kind: "read"; readonly file: CatalogFile }
  /** At least one, by line. */
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

/** Reads what `formatCatalog` writes, also when a person has edited it. All of it is right, or it is refused with every problem. */
export function parseCatalog(text: string): ParsedCatalog {
  const problems: Problem[] = [];
  const file = readFile(text, problems);
  if (file !== undefined && problems.length === 0) return { kind: "read", file };
  return { kind: "refused", problems: problems.toSorted((left, right) => left.line - right.line) };
}

function readFile(text: string, problems: Problem[]): CatalogFile | undefined {
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
      sentence: `This is no catalog of Lockport's, which begins with lockport_catalog: ${FORMAT}.${hint}`,
    });
    return undefined;
  }
  if (format.value.kind !== "scalar" || format.value.value !== FORMAT) {
    problems.push({
      line: format.line,
      sentence: `Only lockport_catalog: ${FORMAT} can be read: export the catalog again with this version of lockport.`,
    });
    return undefined;
  }
  const known = ["lockport_catalog", "providers", "models", "feeds"];
  const fields = readFields(root, { problems, what: "A catalog file", known });
  const providers = readNamed(fields.map("providers"), problems, readProvider);
  const models = readNamed(fields.map("models"), problems, readModel);
  refuseUnknownNames(fields.map("models"), { providers, models, problems });
  return { providers, models, feeds: readFeeds(fields, problems) };
}

function readNamed<Value>(
  map: SourceMap | undefined,
  problems: Problem[],
  read: (name: string, map: SourceMap, problems: Problem[]) => Value | undefined,
): Map<string, Value> {
  const found = new Map<string, Value>();
  for (const [name, fields] of readMaps(map, problems)) {
    const value = read(name, fields, problems);
    if (value !== undefined) found.set(name, value);
  }
  return found;
}

const PROVIDER_FIELDS = [
  "base_url",
  "api_key_env",
  "api_key_file",
  "ca_pem_file",
  "verify_tls",
  "timeout_connect",
  "timeout_read",
  "max_concurrency",
  "endpoints",
  "enabled",
];

function readProvider(name: string, map: SourceMap, problems: Problem[]): FileProvider | undefined {
  const fields = readFields(map, { problems, what: "A provider", known: PROVIDER_FIELDS });
  const baseUrl = fields.text("base_url");
  if (baseUrl === undefined) {
    if (findEntry(map, "base_url") === undefined)
      problems.push({ line: fields.line, sentence: `The provider ${name} has no base_url.` });
    return undefined;
  }
  const endpoints = fields.map("endpoints");
  const draft = {
    name,
    baseUrl,
    verifyTls: fields.boolean("verify_tls"),
    timeoutConnectSeconds: fields.number("timeout_connect"),
    timeoutReadSeconds: fields.number("timeout_read"),
    maxConcurrency: fields.number("max_concurrency"),
    endpoints: endpoints === undefined ? undefined : readEndpoints(endpoints, problems),
  };
  const enabled = fields.boolean("enabled") ?? true;
  const apiKey = readReference(fields, problems);
  const caPath = fields.text("ca_pem_file") ?? null;
  const parsed = tryParse(
    problems,
    (param) => fields.lineOf(param?.split(".")[0] ?? ""),
    () => parseProviderDraft(draft).fields,
  );
  if (parsed === undefined) return undefined;
  return {
    baseUrl: parsed.baseUrl,
    verifyTls: parsed.verifyTls,
    timeoutConnectSeconds: parsed.timeoutConnectSeconds,
    timeoutReadSeconds: parsed.timeoutReadSeconds,
    maxConcurrency: parsed.maxConcurrency,
    endpoints: parsed.endpoints,
    enabled,
    apiKey,
    caPath,
  };
}

function readEndpoints(map: SourceMap, problems: Problem[]): { readonly [endpoint: string]: string } {
  const fields = readFields(map, { problems, what: "endpoints", known: ENDPOINTS });
  return Object.fromEntries(
    ENDPOINTS.flatMap((endpoint): [string, string][] => {
      const url = fields.text(endpoint);
      return url === undefined ? [] : [[endpoint, url]];
    }),
  );
}

/** POSIX (The Open Group Base Specifications, section 8.1) names; Lockport's own hold what no provider must get. */
const VARIABLE_PATTERN = /^(?!PROXY_)[A-Za-z_][A-Za-z0-9_]*$/;

function readReference(fields: Fields, problems: Problem[]): Reference | null {
  const name = fields.text("api_key_env");
  const path = fields.text("api_key_file");
  if (name !== undefined && path !== undefined) {
    const sentence = "A provider has api_key_env or api_key_file, not both.";
    problems.push({ line: fields.lineOf("api_key_file"), sentence });
  }
  if (name !== undefined && !VARIABLE_PATTERN.test(name)) {
    problems.push({
      line: fields.lineOf("api_key_env"),
      sentence:
        "api_key_env must be the name of an environment variable, and none of Lockport's own (PROXY_*).",
    });
  }
  if (name !== undefined) return { kind: "env", name };
  return path === undefined ? null : { kind: "file", path };
}

const MODEL_FIELDS = ["provider", "upstream_name", "capabilities", "target", "prices", "hidden", "origin"];

function readModel(alias: string, map: SourceMap, problems: Problem[]): FileModel | undefined {
  const fields = readFields(map, { problems, what: "A model", known: MODEL_FIELDS });
  const draft = {
    alias,
    provider: fields.text("provider"),
    upstreamName: fields.text("upstream_name"),
    target: fields.text("target"),
    capabilities: fields.texts("capabilities"),
  };
  const hidden = fields.boolean("hidden") ?? false;
  const origin = fields.text("origin") ?? "declared";
  const prices = fields.map("prices");
  const lineOf = (param: string | null) => fields.lineOf(param?.split(/[.[]/)[0] ?? "");
  const read = tryParse(problems, lineOf, () => {
    parseAlias(alias);
    parseDraftRoute(draft);
    return { origin: parseOrigin(origin), route: toRoute(draft) };
  });
  const parsedPrices = prices === undefined ? null : readPrices(prices, problems);
  return read === undefined ? undefined : { ...read, hidden, prices: parsedPrices };
}

/** Of a draft that was found to be right. */
function toRoute(draft: {
  readonly provider: string | undefined;
  readonly upstreamName: string | undefined;
  readonly target: string | undefined;
  readonly capabilities: readonly string[] | undefined;
}): ModelRoute {
  const { provider = "", upstreamName = "", target = "", capabilities = CAPABILITIES_DEFAULT } = draft;
  if (target !== "") return { kind: "name", target };
  return {
    kind: "binding",
    provider,
    upstreamName,
    capabilities: toCapabilitySet(parseCapabilities(capabilities)),
  };
}

interface KnownNames {
  readonly providers: ReadonlyMap<string, FileProvider>;
  readonly models: ReadonlyMap<string, FileModel>;
  readonly problems: Problem[];
}

/** The file stands on its own: what it names is in it, so that a typo is found before anything is changed. */
function refuseUnknownNames(map: SourceMap | undefined, { providers, models, problems }: KnownNames): void {
  for (const [, { value }] of map?.entries ?? []) {
    if (value.kind !== "map") continue;
    const refuseUnless = (field: string, names: ReadonlyMap<string, unknown>, kind: string) => {
      const entry = findEntry(value, field);
      const name = entry === undefined ? undefined : toText(entry.value);
      if (entry === undefined || name === undefined || name === "" || names.has(name)) return undefined;
      const nearest = findNearest(name, [...names.keys()]);
      const hint = nearest === null ? "" : ` Did you mean ${nearest}?`;
      problems.push({ line: entry.line, sentence: `The file has no ${kind} of this name.${hint}` });
      return undefined;
    };
    refuseUnless("provider", providers, "provider");
    refuseUnless("target", models, "model");
    const target = findEntry(value, "target");
    const targeted = target === undefined ? undefined : models.get(toText(target.value) ?? "");
    if (target !== undefined && targeted?.route.kind === "name") {
      problems.push({
        line: target.line,
        sentence: "The target is itself a name. Point at the model that routes to a provider.",
      });
    }
  }
}
