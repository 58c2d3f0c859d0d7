import { Document, isMap, isScalar, isSeq, visit, type Scalar } from "yaml";
import { TIMEOUT_CONNECT_SECONDS_DEFAULT, TIMEOUT_READ_SECONDS_DEFAULT } from "#catalog/provider.ts";
import { FORMAT, type CatalogFile, type FileModel, type FileProvider } from "./catalog-file.ts";

const HEAD = ` The catalog of a Lockport: providers, models and prices, and nothing of people, keys or usage.
 lockport apply FILE brings another installation to it and shows the difference first.

 No API key is in here. api_key_env names the environment variable that apply reads a provider's key from,
 where the provider has none yet; api_key_file: PATH reads it from a file. ca_pem_file works like that too.
 Prices are per million. What is left out has its default.`;

const PROVIDERS = ` Each serves the chat-completions dialect at its base URL.`;
const MODELS = ` By the name that callers use. A model with a target is another name for it.
 prices of a model is its complete list; without it the price lists below hold, by its name, then by its upstream name.`;
const FEEDS = ` Price lists as they were loaded, the newest last.`;

/** A catalog file as text: the same catalog is the same bytes. */
export function formatCatalog(file: CatalogFile): string {
  const document = new Document(toFields(file));
  document.commentBefore = HEAD;
  visit(document, {
    Scalar(_, node) {
      // In double quotes anything can be told by escapes, for a screen that is not to act on it.
      if (typeof node.value === "string" && !PLAIN_PATTERN.test(node.value)) node.type = "QUOTE_DOUBLE";
    },
    Pair(_, { key, value }) {
      const name = isScalar(key) ? key.value : null;
      const isList = isMap(value) || isSeq(value);
      // One line each: a changed price is then one changed line.
      if (isList && typeof name === "string" && INLINE.has(name)) value.flow = true;
    },
  });
  const root = document.contents;
  if (isMap(root)) {
    for (const { key, value } of root.items) {
      const name = isScalar(key) ? key.value : null;
      if (name === "feeds" && isSeq(value)) value.items.forEach(inlinePrices);
      if (isScalar(key)) explain(key);
    }
  }
  return document.toString({ lineWidth: 0 });
}

function toFields({ providers, models, feeds }: CatalogFile) {
  return {
    lockport_catalog: FORMAT,
    providers: new Map([...providers].map(([name, provider]) => [name, toProviderFields(provider)])),
    models: new Map([...models].map(([alias, model]) => [alias, toModelFields(model)])),
    feeds: feeds.map(({ version, prices }) => ({ version, prices })),
  };
}

const PLAIN_PATTERN = /^[ -~]*$/;

/** The same for programs: JSON, which `parseCatalog` reads too. */
export function toCatalogJson(file: CatalogFile): unknown {
  const { providers, models, feeds, ...rest } = toFields(file);
  return {
    ...rest,
    providers: Object.fromEntries(providers),
    models: Object.fromEntries(models),
    feeds: feeds.map(({ version, prices }) => ({ version, prices: Object.fromEntries(prices) })),
  };
}

/** Fields of a provider or a model that are written on one line. */
const INLINE: ReadonlySet<string> = new Set(["capabilities", "endpoints"]);

const EXPLANATIONS: ReadonlyMap<unknown, string> = new Map([
  ["providers", PROVIDERS],
  ["models", MODELS],
  ["feeds", FEEDS],
]);

function explain(key: Scalar): void {
  const text = EXPLANATIONS.get(key.value);
  if (text === undefined) return;
  key.commentBefore = text;
  key.spaceBefore = true;
}

function inlinePrices(feed: unknown): void {
  const prices = isMap(feed) ? feed.get("prices", true) : null;
  if (!isMap(prices)) return;
  for (const { value } of prices.items) if (isMap(value)) value.flow = true;
}

function toProviderFields(provider: FileProvider) {
  const { apiKey } = provider;
  return withoutDefaults({
    base_url: provider.baseUrl,
    api_key_env: apiKey?.kind === "env" ? apiKey.name : undefined,
    api_key_file: apiKey?.kind === "file" ? apiKey.path : undefined,
    ca_pem_file: provider.caPath ?? undefined,
    verify_tls: provider.verifyTls ? undefined : false,
    timeout_connect:
      provider.timeoutConnectSeconds === TIMEOUT_CONNECT_SECONDS_DEFAULT
        ? undefined
        : provider.timeoutConnectSeconds,
    timeout_read:
      provider.timeoutReadSeconds === TIMEOUT_READ_SECONDS_DEFAULT ? undefined : provider.timeoutReadSeconds,
    max_concurrency: provider.maxConcurrency ?? undefined,
    endpoints: Object.keys(provider.endpoints).length === 0 ? undefined : sortFields(provider.endpoints),
    enabled: provider.enabled ? undefined : false,
  });
}

function toModelFields({ route, origin, hidden, prices }: FileModel) {
  return withoutDefaults({
    ...(route.kind === "name"
      ? { target: route.target }
      : {
          provider: route.provider,
          upstream_name: route.upstreamName,
          capabilities: route.capabilities,
        }),
    prices: prices ?? undefined,
    hidden: hidden ? true : undefined,
    origin: origin === "declared" ? undefined : origin,
  });
}

function withoutDefaults(fields: { readonly [field: string]: unknown }) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function sortFields(fields: { readonly [field: string]: unknown }) {
  return Object.fromEntries(Object.entries(fields).toSorted(([left], [right]) => (left < right ? -1 : 1)));
}
