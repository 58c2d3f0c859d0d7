import { ProxyError } from "#kernel/errors.ts";
import type { Fields as ResourceFields } from "#kernel/fields.ts";
import { findNearest } from "#kernel/nearest.ts";
import type { Problem, Source, SourceEntry, SourceMap } from "./source.ts";

/** What a field may hold, by the word that a shape has for it. */
interface Kinds {
  readonly text: string;
  readonly number: number;
  readonly boolean: boolean;
  readonly texts: readonly string[];
  readonly map: SourceMap;
  readonly list: readonly Source[];
}

type Shape = { readonly [field: string]: keyof Kinds };

/** The fields of one map of a file; what is wrong is collected, so that one look at a file tells all of it. */
export interface Fields<Of extends Shape> {
  /** Only those that are there and right; a null, like an empty value, is a field that is not there. */
  readonly values: { readonly [field in keyof Of]?: Kinds[Of[field]] };
  /** The line of a field, or of the map when it is not there. */
  readonly lineOf: (field: string) => number;
}

export interface FieldsOptions<Of extends Shape> {
  readonly problems: Problem[];
  /** Such as `A provider`. */
  readonly what: string;
  /** Every field that it may have; others are problems. */
  readonly shape: Of;
}

const EXPECTED: { readonly [kind in keyof Kinds]: string } = {
  text: "text (in quotes when it looks like a number)",
  number: "a number",
  boolean: "true or false",
  texts: "a list of words",
  map: "a map",
  list: "a list",
};

const KINDS = { number: "number", count: "number", switch: "boolean", choice: "text", pem: "text" } as const;

/** The shape of a resource's fields, under the names that a file has for them. */
export function toShape<const Of extends ResourceFields>(
  fields: Of,
): { readonly [Key in keyof Of as Of[Key]["wire"]]: (typeof KINDS)[Of[Key]["kind"]] };
export function toShape(fields: ResourceFields): Shape {
  return Object.fromEntries(Object.values(fields).map(({ wire, kind }) => [wire, KINDS[kind]]));
}

export function readFields<const Of extends Shape>(map: SourceMap, options: FieldsOptions<Of>): Fields<Of>;
export function readFields(map: SourceMap, { problems, what, shape }: FieldsOptions<Shape>): Fields<Shape> {
  const known = Object.keys(shape);
  const values: { [field: string]: Kinds[keyof Kinds] } = {};
  for (const [field, { line, value }] of map.entries) {
    const kind = Object.hasOwn(shape, field) ? shape[field] : undefined;
    if (kind === undefined) {
      const nearest = findNearest(field, known);
      const hint = nearest === null ? `It has ${known.join(", ")}.` : `Did you mean ${nearest}?`;
      problems.push({ line, sentence: `${what} has no field of this name. ${hint}` });
      continue;
    }
    if (value.kind === "scalar" && value.value === null) continue;
    const found = readKind(kind, value);
    if (found === undefined) problems.push({ line, sentence: `${field} must be ${EXPECTED[kind]}.` });
    else values[field] = found;
  }
  return { values, lineOf: (field) => map.entries.get(field)?.line ?? map.line };
}

function readKind(kind: keyof Kinds, source: Source): Kinds[keyof Kinds] | undefined {
  if (source.kind === "scalar") {
    const { value } = source;
    const type = typeof value;
    return value !== null && type === (kind === "text" ? "string" : kind) ? value : undefined;
  }
  if (kind === "map" && source.kind === "map") return source;
  if (source.kind === "map" || kind === "map") return undefined;
  if (kind === "list") return source.values;
  const texts = source.values.flatMap((value) => toText(value) ?? []);
  return kind === "texts" && texts.length === source.values.length ? texts : undefined;
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

/** POSIX (The Open Group Base Specifications, section 8.1) names; Lockport's own hold what no file must take out of them. */
const VARIABLE_PATTERN = /^(?!PROXY_|LOCKPORT_API_KEY$)[A-Za-z_][A-Za-z0-9_]*$/;

/** Refuses what cannot be the name of an environment variable that a secret is read from. */
export function refuseVariable(field: string, name: string, line: number, problems: Problem[]): void {
  if (VARIABLE_PATTERN.test(name)) return;
  const sentence = `${field} must be the name of an environment variable, and none of Lockport's own (PROXY_*, LOCKPORT_API_KEY).`;
  problems.push({ line, sentence });
}

/** Undefined for a field that is not there or empty. */
export function findEntry(map: SourceMap, field: string): SourceEntry | undefined {
  const entry = map.entries.get(field);
  return entry?.value.kind === "scalar" && entry.value.value === null ? undefined : entry;
}

/** The value as JSON, for what the catalog judges whole. */
export function toJson(source: Source): unknown {
  switch (source.kind) {
    case "scalar":
      return source.value;
    case "list":
      return source.values.map(toJson);
    default:
      return Object.fromEntries([...source.entries].map(([name, { value }]) => [name, toJson(value)]));
  }
}

export function toText(source: Source): string | undefined {
  return source.kind === "scalar" && typeof source.value === "string" ? source.value : undefined;
}
