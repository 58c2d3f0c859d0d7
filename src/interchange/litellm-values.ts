import { parsePricePerUnit } from "#catalog/feed.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toPricePerMillion, type Unit } from "#kernel/units.ts";
import { findEntry, toText } from "./fields.ts";
import { UNIT_OF_FIELD } from "./price-map.ts";
import type { Note, Source, SourceMap } from "./source.ts";

/** Variables of a process, as far as a config refers to them. */
export type Variables = { readonly [name: string]: string | undefined };

/** A note of the import; a gap is a model or a key that is missing afterwards. */
export interface ImportNote extends Note {
  readonly isGap: boolean;
}

/** A value that may be read from the environment. */
export interface Referred {
  /** Null when it is written in the file itself. */
  readonly variable: string | null;
  /** Null for a variable that is not set. */
  readonly value: string | null;
}

const REFERENCE = "os.environ/";
/** What no provider gets: among them is the API key of the person who imports. */
const OWN_VARIABLE_PATTERN = /^(?:PROXY_|LOCKPORT_API_KEY$)/;

/** Text, or what `os.environ/NAME` stands for. Undefined when the field is not there or no text. */
export function readReferred(map: SourceMap, field: string, variables: Variables): Referred | undefined {
  const entry = findEntry(map, field);
  const text = entry === undefined ? undefined : toText(entry.value);
  if (text === undefined) return undefined;
  if (!text.startsWith(REFERENCE)) return { variable: null, value: text.trim() };
  return readVariable(text.slice(REFERENCE.length), variables);
}

/** An empty variable is one that is not set. */
export function readVariable(variable: string, variables: Variables): Referred {
  const value = OWN_VARIABLE_PATTERN.test(variable) ? "" : (variables[variable]?.trim() ?? "");
  return { variable, value: value === "" ? null : value };
}

/** A number, also one that is written as text: a YAML reader of version 1.1 takes `1e-6` for text, and LiteLLM converts it. */
export function readAmount(source: Source | undefined): number | undefined {
  if (source?.kind !== "scalar") return undefined;
  const { value } = source;
  if (typeof value === "number") return value;
  if (typeof value !== "string" || value.trim() === "") return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/** A flag, also in the words of YAML 1.1. */
export function readFlag(source: Source | undefined): boolean | undefined {
  if (source?.kind !== "scalar") return undefined;
  const { value } = source;
  if (typeof value === "boolean") return value;
  const word = typeof value === "string" ? value.toLowerCase() : "";
  if (["true", "yes", "on"].includes(word)) return true;
  return ["false", "no", "off"].includes(word) ? false : undefined;
}

export function isPriceField(field: string): boolean {
  return Object.hasOwn(UNIT_OF_FIELD, field);
}

/** Prices per million by unit. */
export type Prices = { readonly [unit in Unit]?: number };

/** The prices of a deployment, from the first of these maps that has each; null when it has none at all. */
export function readLitellmPrices(
  maps: readonly SourceMap[],
  { name, notes }: { readonly name: string; readonly notes: ImportNote[] },
): Prices | null {
  const prices: { [unit in Unit]?: number } = {};
  for (const [field, unit] of Object.entries(UNIT_OF_FIELD)) {
    const entry = maps.map((map) => findEntry(map, field)).find((each) => each !== undefined);
    if (entry === undefined) continue;
    try {
      prices[unit] = toPricePerMillion(parsePricePerUnit(readAmount(entry.value), field));
    } catch (cause) {
      if (!(cause instanceof ProxyError)) throw cause;
      notes.push({ line: entry.line, sentence: `${name}: ${field}: ${cause.message}`, isGap: false });
    }
  }
  return Object.keys(prices).length === 0 ? null : prices;
}
