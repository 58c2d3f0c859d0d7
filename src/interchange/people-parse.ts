import { parseKey, parseLimit, parsePrincipal } from "#people/people-draft.ts";
import {
  type FileKey,
  type FileLimit,
  type FilePrincipal,
  type PeopleFile,
  toKeyEntry,
  toLimitEntry,
  toPrincipalEntry,
} from "#views/people-file.ts";
import { type Fields, readFields, readMaps, refuseVariable, tryParse } from "./fields.ts";
import type { Problem, SourceMap } from "./source.ts";

/** Principals, keys and limits of a catalog file. A section that is not there is not in what is read. */
export function readPeople(
  sections: { readonly [section in keyof PeopleFile]?: SourceMap | undefined },
  problems: Problem[],
): PeopleFile {
  const { principals, keys, limits } = sections;
  return {
    ...(principals !== undefined && {
      principals: readSection("principals", principals, problems, readPrincipal),
    }),
    ...(keys !== undefined && { keys: readSection("keys", keys, problems, readKey) }),
    ...(limits !== undefined && { limits: readSection("limits", limits, problems, readLimit) }),
  };
}

interface Entry {
  readonly name: string;
  readonly map: SourceMap;
  readonly problems: Problem[];
  /** Tells what the rules of the entry refuse, at the line of the field that they name. */
  readonly judge: (fields: Pick<Fields<{}>, "lineOf">, parse: () => unknown) => void;
}

function readSection<Value>(
  section: keyof PeopleFile,
  map: SourceMap,
  problems: Problem[],
  read: (entry: Entry) => Value | undefined,
): { readonly [name: string]: Value } {
  const named = readMaps(map, problems).flatMap(([name, fields]): [string, Value][] => {
    const toField = (param: string | null) => param?.slice(`${section}.${name}.`.length).split(".")[0] ?? "";
    const value = read({
      name,
      map: fields,
      problems,
      judge: ({ lineOf }, parse) => void tryParse(problems, (param) => lineOf(toField(param)), parse),
    });
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(named);
}

const PRINCIPAL_SHAPE = {
  kind: "text",
  role: "text",
  enabled: "boolean",
  tags: "texts",
} as const satisfies { [field in keyof FilePrincipal]-?: string };

function readPrincipal({ name, map, problems, judge }: Entry): FilePrincipal {
  const fields = readFields(map, { problems, what: "A principal", shape: PRINCIPAL_SHAPE });
  judge(fields, () => parsePrincipal(toPrincipalEntry([name, fields.values])));
  return fields.values;
}

const KEY_SHAPE = {
  principal: "text",
  label: "text",
  enabled: "boolean",
  expires_at: "text",
  scope: "text",
  models: "texts",
  tags: "texts",
  secret_env: "text",
  secret_file: "text",
  secret_sha256: "text",
} as const satisfies { [field in Exclude<keyof FileKey, "secret">]-?: string };

const SECRET_SOURCES = ["secret_env", "secret_file", "secret_sha256"] as const;

function readKey({ name, map, problems, judge }: Entry): FileKey | undefined {
  const fields = readFields(map, { problems, what: "A key", shape: KEY_SHAPE });
  const { values, lineOf } = fields;
  const { principal, secret_env: variable } = values;
  if (variable !== undefined) refuseVariable("secret_env", variable, lineOf("secret_env"), problems);
  const [, second] = SECRET_SOURCES.filter((field) => values[field] !== undefined);
  if (second !== undefined)
    problems.push({
      line: lineOf(second),
      sentence: `A key has one of ${SECRET_SOURCES.join(", ")}, not several.`,
    });
  if (principal === undefined) {
    problems.push({ line: map.line, sentence: "A key must have a principal: the name of its owner." });
    return undefined;
  }
  const key = { ...values, principal };
  judge(fields, () => parseKey(toKeyEntry([name, key])));
  return key;
}

const SUBJECT_SHAPE = {
  principal: "text",
  key: "text",
  relay_token: "text",
  tag: "text",
  model: "text",
} as const satisfies { [field in keyof NonNullable<FileLimit["subject"]>]-?: string };

const LIMIT_SHAPE = {
  subject: "map",
  each: "text",
  fixed: "boolean",
  measure: "text",
  amount: "number",
  window: "text",
  action: "text",
  unpriced: "text",
  unknown: "number",
  enabled: "boolean",
} as const satisfies { [field in keyof FileLimit]-?: string };

function readLimit({ name, map, problems, judge }: Entry): FileLimit | undefined {
  const fields = readFields(map, { problems, what: "A limit", shape: LIMIT_SHAPE });
  const { subject, measure, amount, ...rest } = fields.values;
  if (measure === undefined || amount === undefined) {
    problems.push({ line: map.line, sentence: "A limit must have a measure and an amount." });
    return undefined;
  }
  const whom =
    subject === undefined
      ? undefined
      : readFields(subject, { problems, what: "A subject", shape: SUBJECT_SHAPE }).values;
  const limit = { ...(whom !== undefined && { subject: whom }), measure, amount, ...rest };
  judge(fields, () => parseLimit(toLimitEntry([name, limit])));
  return limit;
}
