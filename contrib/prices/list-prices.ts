/**
 * `bun contrib/prices/list-prices.ts MAP [VERSION DAY]`: compares the bundled list prices with LiteLLM's
 * `model_prices_and_context_window.json`, and prints what differs. With the version that the map came with and the day on which
 * it was published it writes both: the list, and the part of the map that tests compare it with. Which models are listed says
 * the list itself: a new one is added there by its name, with no price.
 */
import { join } from "node:path";
import list from "#catalog/list-prices.json" with { type: "json" };
import type { FeedEntry } from "#catalog/feed.ts";
import { readListPrices } from "#catalog/list-prices.ts";
import { createPriceMapReader } from "#interchange/price-map.ts";
import { isJsonObject, type JsonObject } from "#kernel/json.ts";
import type { PriceConditions } from "#kernel/price-variants.ts";
import { isReportUnit, toPricePerMillion, toReportUnit, type Unit, UNITS } from "#kernel/units.ts";

/** What LiteLLM puts before the names of a maker whose models others sell, too. */
const MAKERS = ["gemini/", "", "mistral/", "xai/", "moonshot/", "zai/", "cohere/"];
/** What prices are read from; of batches none is. */
const FIELD_PATTERN =
  /^(?:.*(?:cost|pricing|multiplier).*(?<!_batches)|provider_specific_entry|mode|litellm_provider|source)$/;
const LIST_PATH = join(import.meta.dir, "../../src/catalog/list-prices.json");
const EXCERPT_PATH = join(import.meta.dir, "../../tests/catalog/price-map.json");

if (import.meta.main) await main(process.argv.slice(2));

async function main([path, version, day]: readonly string[]): Promise<void> {
  if (path === undefined) throw new Error("Name LiteLLM's model_prices_and_context_window.json.");
  const map: unknown = await Bun.file(path).json();
  if (!isJsonObject(map)) throw new Error(`${path} is no price map.`);
  for (const line of findDifferences(map)) console.log(line);
  if (version === undefined || day === undefined) return;
  await Bun.write(LIST_PATH, JSON.stringify(toList(map, { version, day })));
  await Bun.write(EXCERPT_PATH, JSON.stringify(toExcerpt(map)));
  // One line for each object that fits on one.
  await Bun.$`${process.execPath} x oxfmt ${LIST_PATH} ${EXCERPT_PATH}`;
}

/** A line for each price in which the bundled list and the map differ. */
export function findDifferences(map: JsonObject): readonly string[] {
  const listed = toLines(readListPrices().entries);
  const mapped = toLines(Object.keys(list.models).flatMap((name) => readModel(map, name)));
  return [...new Set([...listed.keys(), ...mapped.keys()])].flatMap((key) => {
    const [here, there] = [listed.get(key) ?? "none", mapped.get(key) ?? "none"];
    return here === there ? [] : [`${key}: ${here} in the list, ${there} in the map`];
  });
}

function toLines(entries: readonly FeedEntry[]): ReadonlyMap<string, number> {
  return new Map(
    entries.map(({ name, unit, when, pricePico }) => [
      [name, ...(when === undefined ? [] : [JSON.stringify(when)]), unit].join(" "),
      toPricePerMillion(pricePico),
    ]),
  );
}

function readModel(map: JsonObject, name: string): readonly FeedEntry[] {
  const reader = createPriceMapReader();
  reader.read(name, map[findKey(map, name)]);
  const sets = Map.groupBy(reader.finish().entries, ({ when }) => JSON.stringify(when));
  return [...sets.values()].flatMap((entries) => entries.filter((entry) => isListed(entry, entries)));
}

function isListed({ unit, pricePico }: FeedEntry, set: readonly FeedEntry[]): boolean {
  const priceOf = (each: Unit) => set.find((entry) => entry.unit === each)?.pricePico;
  // No model of the list has anything for nothing: the map says 0 of what a model does not have.
  if (pricePico === 0) return false;
  // Audio and images without a price cost what their whole costs.
  if (!isReportUnit(unit) && !unit.startsWith("cache_write"))
    return pricePico !== priceOf(toReportUnit(unit));
  // Where tokens are billed, a price by the second is an estimate.
  if (unit === "audio_seconds") return priceOf("input_tokens") === undefined;
  // Cached text and cached images have two prices, and answers tell their sum.
  if (unit === "cached_input_tokens")
    return (
      priceOf("input_image_tokens") === undefined || priceOf("input_image_tokens") === priceOf("input_tokens")
    );
  return true;
}

/** Google lists its models below `models/`. Throws for a name that the map does not have. */
function findKey(map: JsonObject, name: string): string {
  const plain = name.replace(/^models\//, "");
  const key = MAKERS.map((maker) => maker + plain).find((each) => Object.hasOwn(map, each));
  if (key === undefined) throw new Error(`The map has no ${name}.`);
  return key;
}

function toList(map: JsonObject, { version, day }: { readonly version: string; readonly day: string }) {
  return {
    source: `LiteLLM ${version}, model_prices_and_context_window.json`,
    source_url: `https://pypi.org/project/litellm/${version}/`,
    as_of: day,
    currency: list.currency,
    models: Object.fromEntries(Object.keys(list.models).map((name) => [name, toModel(map, name)])),
  };
}

function toModel(map: JsonObject, name: string) {
  const spec = map[findKey(map, name)];
  const sets = Map.groupBy(readModel(map, name), ({ when }) => JSON.stringify(when));
  const variants = [...sets.values()].flatMap((entries) => {
    const when = entries[0]?.when;
    return when === undefined ? [] : [{ when: toWireConditions(when), pricing: toPricing(entries) }];
  });
  return {
    // The vendor's own page, as the map names it.
    ...(isJsonObject(spec) && typeof spec["source"] === "string" && { source: spec["source"] }),
    ...toPricing([...sets.values()].flat().filter(({ when }) => when === undefined)),
    ...(variants.length > 0 && { price_variants: variants }),
  };
}

function toPricing(entries: readonly FeedEntry[]) {
  return Object.fromEntries(
    UNITS.flatMap((unit) => {
      const entry = entries.find((each) => each.unit === unit);
      return entry === undefined ? [] : [[unit, toPricePerMillion(entry.pricePico)]];
    }),
  );
}

function toWireConditions({ tier, inputOver, geo }: PriceConditions) {
  return {
    ...(tier !== undefined && { tier }),
    ...(inputOver !== undefined && { input_over: inputOver }),
    ...(geo !== undefined && { geo }),
  };
}

function toExcerpt(map: JsonObject) {
  const keys = new Set(Object.keys(list.models).map((name) => findKey(map, name)));
  return Object.fromEntries(
    [...keys].map((key) => {
      const spec = map[key];
      const fields = isJsonObject(spec) ? Object.entries(spec) : [];
      return [key, Object.fromEntries(fields.filter(([field]) => FIELD_PATTERN.test(field)))];
    }),
  );
}
