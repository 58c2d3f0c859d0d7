import { Document, isMap, isScalar, isSeq, visit, type Scalar } from "yaml";
import { toConditionWords } from "#kernel/price-variants.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import type { CatalogFile, FileModel, FilePrices } from "#views/catalog-file.ts";
import type { PeopleFile } from "#views/people-file.ts";

const TITLE = ` The catalog of a Lockport: providers, models and prices, and nothing of people, keys or usage.
 lockport apply FILE brings another installation to it and shows the difference first.`;

const TITLE_WITH_PEOPLE = ` A whole Lockport: providers, models and prices, people, keys and limits, and nothing of usage.
 lockport apply FILE brings an installation to it and shows the difference first. A section that is not in here is
 left alone.`;

const SECRETS = `

 No secret is in here. api_key_env names the environment variable that apply reads a provider's key from,
 where the provider has none yet; api_key_file: PATH reads it from a file. ca_pem_file works like that too.
 Prices are per million. What is left out has its default.`;

const PROVIDERS = ` Each serves the chat-completions dialect at its base URL.`;
const MODELS = ` By the name that callers use. A model with a target is another name for it.
 prices of a model is its complete list; without it the price lists below hold, by its name, then by its upstream name.
 price_variants are prices for requests that meet conditions; of those that hold, the one with the most conditions.`;
const FEEDS = ` Price lists as they were loaded, the newest last.`;

const PRICES_TO_COME = ` Prices that hold from a moment to come on, by a name: with a feed those of its price list, which leave all others,
 without one the model's own, whole.`;

const PRINCIPALS = ` By name. Those who come from single sign-on need not be here.`;
const KEYS = ` By id, or by a name: then it is the key of this principal with this label.
 secret_env: NAME, secret_file: PATH or secret_sha256: HEX gives a new key its secret, which is lp_ and 43 random
 letters and digits. A stored key keeps its secret without them.`;
const LIMITS = ` By name. key: of a subject is what the key is called above. A limit that changes goes on with what was used of it;
 subject, each, fixed and measure never change.`;

/** A catalog file as text: the same catalog is the same bytes. */
export function formatCatalog(file: CatalogFile & PeopleFile): string {
  const document = new Document(toFields(file));
  document.commentBefore = (file.principals === undefined ? TITLE : TITLE_WITH_PEOPLE) + SECRETS;
  visit(document, {
    Scalar(_, node) {
      // In double quotes anything can be told by escapes, for a screen that is not to act on it.
      if (typeof node.value === "string" && !PLAIN_PATTERN.test(node.value)) node.type = "QUOTE_DOUBLE";
    },
    Pair(_, { key, value }) {
      const name = isScalar(key) ? key.value : null;
      const isList = isMap(value) || isSeq(value);
      // One line each: a changed price is then one changed line.
      // A key's models, and not the map of all models.
      const isInline = typeof name === "string" && (INLINE.has(name) || (name === "models" && isSeq(value)));
      if (isList && isInline) value.flow = true;
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

/** `openai: gpt-5`, or `-> gpt-5` of a name. */
export function describeRoute({ target, provider, upstream_name: upstreamName }: FileModel): string {
  return target === undefined ? `${provider}: ${upstreamName}` : `-> ${target}`;
}

/** `input_tokens=1.25 output_tokens=10`. */
export function describePrices(prices: FilePrices): string {
  const pairs = Object.entries(prices).map(([unit, price]) => `${unit}=${String(price)}`);
  return pairs.length === 0 ? "no prices" : pairs.join(" ");
}

/** `flex, input over 200,000: input_tokens=0.625`, one behind another. */
export function describeVariants(
  variants: readonly { readonly when: object; readonly pricing: FilePrices }[],
): string {
  if (variants.length === 0) return "none";
  return variants
    .map(({ when, pricing }) => `${toConditionWords(when)}: ${describePrices(pricing)}`)
    .join("; ");
}

/** Names in one order: an object has those that look like numbers first. */
function toFields({ providers = {}, models = {}, feeds = [], ...others }: CatalogFile & PeopleFile) {
  const { prices_to_come: toCome, principals, keys, limits, ...rest } = others;
  return {
    ...rest,
    providers: byName(providers),
    models: byName(models),
    feeds: feeds.map(({ version, prices, variants }) => ({
      version,
      prices: byName(prices),
      ...(variants !== undefined && { variants: byName(variants) }),
    })),
    ...(toCome !== undefined && { prices_to_come: toCome }),
    ...(principals !== undefined && { principals: byName(principals) }),
    ...(keys !== undefined && { keys: byName(keys) }),
    ...(limits !== undefined && { limits: byName(limits) }),
  };
}

function byName<Value>(named: { readonly [name: string]: Value }): ReadonlyMap<string, Value> {
  return new Map(Object.entries(named).toSorted(([left], [right]) => compareCodeUnits(left, right)));
}

const PLAIN_PATTERN = /^[ -~]*$/;

/** Fields that are written on one line. */
const INLINE: ReadonlySet<string> = new Set(["capabilities", "endpoints", "tags", "subject", "when"]);

const EXPLANATIONS: ReadonlyMap<unknown, string> = new Map([
  ["providers", PROVIDERS],
  ["models", MODELS],
  ["feeds", FEEDS],
  ["prices_to_come", PRICES_TO_COME],
  ["principals", PRINCIPALS],
  ["keys", KEYS],
  ["limits", LIMITS],
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
