import { isJsonObject } from "#kernel/json.ts";
import { InvalidArgumentError, Option, type Command } from "commander";
import { suggest, CommandError } from "#cli/screen/failure.ts";
import { collectPairs, collectPrices, readNumber } from "#cli/input/input.ts";
import { INSTANT_FORMS, readInstant, readMonth } from "#cli/input/report.ts";
import type { Json } from "#cli/installation/client.ts";
import type { Route } from "#http/door/route.ts";
import { pairsOption } from "#cli/input/options.ts";

/** An option of a command, and the field of the request that it says. */
export interface Flag {
  /** As commander writes it: `--label <text>`. */
  readonly flags: string;
  readonly text: string;
  /** The field of the body, or of the query where the request has no body. */
  readonly field: string;
  /** The value that a switch stands for; absent: what was typed. */
  readonly value?: unknown;
  /** Words that may be typed. */
  readonly choices?: readonly string[];
  /** It may be given again, and its value is a list. */
  readonly isList?: true;
  /** `key=value`, given again for each of these keys. */
  readonly pairs?: { readonly keys: readonly string[]; readonly areNumbers?: true };
  readonly isRequired?: boolean;
  readonly standard?: unknown;
  /** Attributes of options that it excludes, as commander calls them. */
  readonly conflicts?: readonly string[];
  /** Turns what was typed into what the interface takes; throws commander's `InvalidArgumentError`. */
  readonly parse?: (text: string) => unknown;
}

export function addFlags(command: Command, flags: readonly Flag[]): void {
  for (const flag of flags) command.addOption(toOption(flag));
}

function toOption(flag: Flag): Option {
  const { flags, text, choices, isList, pairs, isRequired, standard, conflicts, parse } = flag;
  if (pairs !== undefined) {
    const collect = pairs.areNumbers === true ? collectPrices : collectPairs;
    return pairsOption<string | number | null>({ flags, description: text, keys: pairs.keys, collect });
  }
  const option = new Option(flags, text);
  if (conflicts !== undefined) option.conflicts([...conflicts]);
  if (choices !== undefined) option.choices(choices);
  if (standard !== undefined) option.default(standard);
  if (isRequired === true) option.makeOptionMandatory();
  const read = (typed: string) => {
    if (choices === undefined || choices.includes(typed)) return parse === undefined ? typed : parse(typed);
    throw new InvalidArgumentError(`Allowed choices are ${choices.join(", ")}.${suggest(typed, choices)}`);
  };
  if (option.required || option.optional)
    option.argParser((typed: string, before: unknown) =>
      isList === true ? [...toList(before), read(typed)] : read(typed),
    );
  return option;
}

function toList(before: unknown): readonly unknown[] {
  return Array.isArray(before) ? before : [];
}

/** The fields that were said. Throws a `CommandError` where two options say the same one. */
export function readFlags(command: Command, flags: readonly Flag[]): { readonly [field: string]: unknown } {
  const said = new Map<string, { readonly flag: string; readonly value: unknown }>();
  for (const flag of flags) {
    const option = command.options.find((each) => each.flags === flag.flags);
    const typed: unknown = option === undefined ? undefined : command.getOptionValue(option.attributeName());
    const isSaid = option?.negate === true ? typed === false : typed !== undefined && typed !== false;
    if (option === undefined || !isSaid) continue;
    const before = said.get(flag.field);
    const name = option.long ?? flag.flags;
    if (before !== undefined)
      throw new CommandError("usage", `${before.flag} and ${name} exclude each other: leave one out.`);
    said.set(flag.field, { flag: name, value: "value" in flag ? flag.value : typed });
  }
  return Object.fromEntries([...said].map(([field, { value }]) => [field, value]));
}

type Schema = { readonly [keyword: string]: unknown };

/** The flags of a route's query and body, as its declaration has them. */
export function toRouteFlags({ query = [], body }: Pick<Route, "query" | "body">): readonly Flag[] {
  const fields =
    isJsonObject(body) && isJsonObject(body["properties"]) ? Object.entries(body["properties"]) : [];
  const required: unknown = isJsonObject(body) ? body["required"] : [];
  return [
    // A command asks for a dry run by itself, before it removes something.
    ...query
      .filter(({ name }) => name !== "dry_run")
      .flatMap(({ name, schema, description }) => toFlags(name, { ...schema, description })),
    ...fields.flatMap(([name, schema]) => {
      if (!isJsonObject(schema)) return [];
      const flags = toFlags(name, schema);
      const [first] = flags;
      const isRequired = Array.isArray(required) && required.includes(name);
      return first !== undefined && isRequired ? flags.with(0, { ...first, isRequired }) : flags;
    }),
  ];
}

/** Placeholders of values whose type says less than their name. */
const VALUE_NAMES: { readonly [field: string]: string } = {
  principal: "name",
  provider: "name",
  model: "alias",
  key: "id",
  client: "prefix",
  client_version: "name",
  tag: "key:value",
  tags: "key:value",
  models: "alias",
  status: "code",
  error_kind: "kind",
  tier: "name",
  limit: "count",
  offset: "count",
  top: "count",
  bucket: "bucket",
  order: "order",
  sort: "order",
  by: "group",
  group_by: "group",
  expires_at: "when",
};

function toFlags(field: string, schema: Schema): readonly Flag[] {
  const long = `--${field.replaceAll("_", "-")}`;
  const text = toWords(schema["description"] ?? field.replaceAll("_", " "));
  const types = new Set<unknown>([schema["type"]].flat());
  const choices = listWords(schema["enum"]);
  const named = (value: string) => `${long} <${VALUE_NAMES[field] ?? value}>`;
  const none: readonly Flag[] = types.has("null")
    ? [{ flags: `--no-${field.replaceAll("_", "-")}`, text: "take it away", field, value: null }]
    : [];
  if (field === "since")
    return [{ flags: "--since <instant>", text: `${INSTANT_FORMS} (inclusive)`, field, parse: readInstant }];
  if (field === "until")
    return [{ flags: "--until <instant>", text: "the same (exclusive)", field, parse: readInstant }];
  if (field === "before_since" || field === "before_until")
    return [{ flags: `${long} <instant>`, text, field, parse: readInstant }];
  if (field === "month") return [{ flags: "--month <month>", text, field, parse: readMonth }];
  const [word] = choices ?? [];
  if (choices?.length === 1 && (word === "true" || word === "1"))
    return [{ flags: long, text, field, value: word }];
  if (types.has("boolean"))
    return [
      { flags: long, text, field, value: true },
      { flags: `--no-${field.replaceAll("_", "-")}`, text: "the opposite", field, value: false },
    ];
  if (types.has("number") || types.has("integer"))
    return [{ flags: named("number"), text, field, parse: readNumber }, ...none];
  if (types.has("array") && isJsonObject(schema["items"]) && schema["items"]["type"] === "string") {
    const words = listWords(schema["items"]["enum"]);
    const flag = { flags: named("text"), text: `${text}; repeatable`, field, isList: true } as const;
    return [words === undefined ? flag : { ...flag, choices: words }, ...none];
  }
  const keys = isJsonObject(schema["propertyNames"]) ? listWords(schema["propertyNames"]["enum"]) : undefined;
  if (types.has("object") && keys !== undefined)
    return [
      { flags: `${long} <key=value>`, text: `${text}; repeatable`, field, pairs: { keys, areNumbers: true } },
    ];
  if (types.has("string")) {
    const flag = { flags: named(choices === undefined ? "text" : "word"), text, field };
    return [choices === undefined ? flag : { ...flag, choices }, ...none];
  }
  return [{ flags: `${long} <json>`, text: `${text}; as JSON`, field, parse: readJson }];
}

function listWords(words: unknown): readonly string[] | undefined {
  return Array.isArray(words) ? words.map(String) : undefined;
}

/** A sentence of the documentation as help has it: `one of model, key` for "One of `model`, `key`." */
export function toWords(sentence: unknown): string {
  const text = String(sentence).replaceAll("`", "").replace(/\.$/, "");
  return /^(?:A |[A-Z][a-z'])/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

function readJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    throw new InvalidArgumentError("It must be JSON.");
  }
}

/** Fields under the type that their flags give them. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the rule that takes them infers it
export function typed<Fields extends object>(fields: Json): Fields;
export function typed(fields: object): object {
  return fields;
}

/** A field that is text; undefined for any other value. */
export function toText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
