import { compareCodeUnits } from "#kernel/text.ts";

/** `-2025-08-07`, `@20250929`, ` 2024-10-22`: the date of a snapshot; `-0613` and `-latest` as well. */
const SNAPSHOT = /[-@ ](?:20\d{2}-?\d{2}-?\d{2}|\d{4}|latest)$/;

/**
 * What names of one model have in common: `openai/gpt-5`, `gpt-5-2025-08-07` and `GPT 5` are one. Without publisher, snapshot
 * and variant, and without marks between letters and digits.
 */
export function toModelFamily(name: string): string {
  const bare = name
    .slice(name.lastIndexOf("/") + 1)
    .toLowerCase()
    .replace(/:[a-z]+$/, "");
  return bare.replace(SNAPSHOT, "").replace(/[^a-z0-9]/g, "");
}

/** The names of one side, each with its requests and units as a text; null where it has none. */
export type NamedQuantities = ReadonlyMap<string, string | null>;

/**
 * One name for each name of the bill and of the ledger that has to change. Names that both sides have stay; those of one family
 * are one where the sides name it differently, and so are two that remain and have the same quantities. Ours wins.
 */
export function pairNames(here: NamedQuantities, there: NamedQuantities): ReadonlyMap<string, string> {
  const paired = new Map<string, string>();
  const theirs = Map.groupBy(there.keys(), toModelFamily);
  for (const [family, ours] of Map.groupBy(here.keys(), toModelFamily)) {
    const others = theirs.get(family) ?? [];
    const isSame = ours.length === others.length && others.every((name) => here.has(name));
    const [first] = ours.toSorted(compareCodeUnits);
    if (first === undefined || others.length === 0 || isSame) continue;
    for (const name of [...ours, ...others]) paired.set(name, first);
  }
  const isAlone = (name: string) => !paired.has(name) && !(here.has(name) && there.has(name));
  const oursAlone = Map.groupBy([...here.keys()].filter(isAlone), (name) => here.get(name));
  for (const [name, quantities] of there) {
    const alike = quantities === null || !isAlone(name) ? [] : (oursAlone.get(quantities) ?? []);
    const [match] = alike;
    if (match !== undefined && alike.length === 1) paired.set(name, match);
  }
  return paired;
}
