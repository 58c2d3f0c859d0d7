import { PRICES_MAX } from "#catalog/feed-plan.ts";
import { parseFeedVersion } from "#catalog/feed.ts";
import { isUpstreamName } from "#catalog/model-draft.ts";
import { parsePricing } from "#catalog/price-plan.ts";
import { toPricePerMillion, UNITS } from "#kernel/units.ts";
import type { FileFeed, Prices } from "./catalog-file.ts";
import { toPrices } from "./catalog-state.ts";
import { readFields, readMaps, tryParse, type Fields } from "./fields.ts";
import type { Problem, SourceMap } from "./source.ts";

/** Prices per million by unit; what is wrong is a problem. */
export function readPrices(map: SourceMap, problems: Problem[]): Prices {
  const fields = readFields(map, { problems, what: "prices", known: UNITS });
  return toPrices((unit) => {
    const pricePerMillion = fields.number(unit);
    if (pricePerMillion === undefined) return null;
    const pico = tryParse(
      problems,
      () => fields.lineOf(unit),
      () => parsePricing({ [unit]: pricePerMillion }).get(unit),
    );
    return pico === undefined ? null : toPricePerMillion(pico);
  });
}

/** The field `feeds` of a catalog file; each price of a name stands in one of them. */
export function readFeeds(fields: Fields, problems: Problem[]): readonly FileFeed[] {
  const priced = new Set<string>();
  let entryCount = 0;
  return (fields.list("feeds") ?? []).flatMap((source): FileFeed[] => {
    if (source.kind !== "map") {
      problems.push({ line: source.line, sentence: "A feed must have a version and prices." });
      return [];
    }
    const feed = readFields(source, { problems, what: "A feed", known: ["version", "prices"] });
    const text = feed.text("version");
    const version = tryParse(
      problems,
      () => feed.lineOf("version"),
      () => parseFeedVersion(text),
    );
    const prices = new Map<string, Prices>();
    for (const [name, map] of readMaps(feed.map("prices"), problems)) {
      if (!isUpstreamName(name))
        problems.push({
          line: map.line,
          sentence: "Prices must stand under an alias or an upstream name, and this is neither.",
        });
      const ofName = readPrices(map, problems);
      prices.set(name, ofName);
      for (const unit of UNITS) {
        if (ofName[unit] === undefined) continue;
        entryCount += 1;
        const key = `${unit} ${name}`;
        if (priced.has(key))
          problems.push({
            line: map.line,
            sentence: `Another feed of this file has a price of ${unit} for it.`,
          });
        priced.add(key);
      }
    }
    if (entryCount > PRICES_MAX) {
      problems.push({ line: source.line, sentence: `The feeds have more than ${PRICES_MAX} prices.` });
    }
    return version === undefined ? [] : [{ version, prices }];
  });
}
