import { ProxyError } from "#kernel/errors.ts";
import { findNearest } from "#kernel/nearest.ts";
import type { Problem, Source, SourceEntry, SourceMap } from "./source.ts";

/** The fields of one map of a file, read by name; what is wrong is collected, so that one look at a file tells all of it. */
export interface Fields {
  readonly line: number;
  /** The line of a field, or of the map when it is not there. */
  lineOf(field: string): number;
  text(field: string): string | undefined;
  number(field: string): number | undefined;
  boolean(field: string): boolean | undefined;
  texts(field: string): readonly string[] | undefined;
  map(field: string): SourceMap | undefined;
  list(field: string): readonly Source[] | undefined;
}

export interface FieldsOptions {
  readonly problems: Problem[];
  /** Such as `provider openai`. */
  readonly what: string;
  /** Every field that it may have; others are problems. */
  readonly known: readonly string[];
}

/** A null, like an empty value, is a field that is not there. */
export function readFields(map: SourceMap, { problems, what, known }: FieldsOptions): Fields {
  for (const [field, { line }] of map.entries) {
    if (known.includes(field)) continue;
    const nearest = findNearest(field, known);
    const hint = nearest === null ? `It has ${known.join(", ")}.` : `Did you mean ${nearest}?`;
    problems.push({ line, sentence: `${what} has no field of this name. ${hint}` });
  }
  function read<Value>(
    field: string,
    expected: string,
    parse: (source: Source) => Value | undefined,
  ): Value | undefined {
    const entry = findEntry(map, field);
    if (entry === undefined) return undefined;
    const value = parse(entry.value);
    if (value === undefined) problems.push({ line: entry.line, sentence: `${field} must be ${expected}.` });
    return value;
  }
  return {
    line: map.line,
    lineOf: (field) => map.entries.get(field)?.line ?? map.line,
    text: (field) => read(field, "text (in quotes when it looks like a number)", toText),
    number: (field) =>
      read(field, "a number", ({ kind, ...rest }) =>
        kind === "scalar" && "value" in rest && typeof rest.value === "number" ? rest.value : undefined,
      ),
    boolean: (field) =>
      read(field, "true or false", (source) =>
        source.kind === "scalar" && typeof source.value === "boolean" ? source.value : undefined,
      ),
    texts: (field) =>
      read(field, "a list of words", (source) => {
        if (source.kind !== "list") return undefined;
        const texts = source.values.flatMap((value) => toText(value) ?? []);
        return texts.length === source.values.length ? texts : undefined;
      }),
    map: (field) => read(field, "a map", (source) => (source.kind === "map" ? source : undefined)),
    list: (field) => read(field, "a list", (source) => (source.kind === "list" ? source.values : undefined)),
  };
}

/** The maps under the keys of a map; what is no map is a problem. */
export function readMaps(
  map: SourceMap | undefined,
  problems: Problem[],
): readonly (readonly [name: string, map: SourceMap])[] {
  return [...(map?.entries ?? [])].flatMap(([name, { line, value }]) => {
    if (value.kind === "map") return [[name, value] as const];
    problems.push({ line, sentence: "This must be a map of fields (name: value)." });
    return [];
  });
}

/** What a parser of the catalog makes of it, or undefined and its refusal as a problem of the line that `lineOf` has for its param. */
export function tryParse<Value>(
  problems: Problem[],
  lineOf: (param: string | null) => number,
  parse: () => Value,
): Value | undefined {
  try {
    return parse();
  } catch (cause) {
    if (!(cause instanceof ProxyError)) throw cause;
    problems.push({ line: lineOf(cause.param), sentence: cause.message });
    return undefined;
  }
}

/** Undefined for a field that is not there or empty. */
export function findEntry(map: SourceMap, field: string): SourceEntry | undefined {
  const entry = map.entries.get(field);
  return entry?.value.kind === "scalar" && entry.value.value === null ? undefined : entry;
}

export function toText(source: Source): string | undefined {
  return source.kind === "scalar" && typeof source.value === "string" ? source.value : undefined;
}
