import { isJsonObject } from "#kernel/json.ts";
import { resolve } from "node:path";
import type { AnswerOf } from "#http/client.ts";
import { isOwnKeyText } from "#identity/secret.ts";
import { toPrintable } from "#kernel/printable.ts";
import { toCounted } from "#kernel/text.ts";
import { SECRET_FORM } from "#people/people-draft.ts";
import { type FileKey, PEOPLE_DEFAULTS, type PeopleFile } from "#views/people-file.ts";
import type { Environment } from "#boot/settings/environment.ts";
import { findTextFile, SECRET_BYTES_MAX } from "#cli/input/input.ts";
import { CommandError } from "#cli/screen/failure.ts";

type CatalogOutcome = AnswerOf<"POST /admin/v1/catalog">;

export interface Surroundings {
  readonly env: Environment;
  /** Where the paths of the file begin. */
  readonly folder: string;
}

/** A secret that a file refers to by a variable or a path; null where there is none. */
export async function findReferred(
  { variable, path }: { readonly variable: string | undefined; readonly path: string | undefined },
  { env, folder }: Surroundings,
): Promise<string | null> {
  const text =
    variable !== undefined
      ? env[variable]
      : path !== undefined && (await findTextFile(resolve(folder, path), SECRET_BYTES_MAX));
  const secret = typeof text === "string" ? text.trim() : "";
  return secret === "" ? null : secret;
}

/** The keys of the file with the secrets that are found. Throws a `CommandError` for what cannot be one, which it does not repeat. */
export async function withKeySecrets(
  { keys }: PeopleFile,
  surroundings: Surroundings,
): Promise<Pick<PeopleFile, "keys">> {
  if (keys === undefined) return {};
  const sent: { [id: string]: FileKey } = {};
  for (const [id, key] of Object.entries(keys)) {
    const { secret_env: variable, secret_file: path } = key;
    const secret = await findReferred({ variable, path }, surroundings);
    if (secret !== null && !isOwnKeyText(secret)) {
      const field = variable === undefined ? "secret_file" : "secret_env";
      throw new CommandError(
        "failure",
        `keys.${toPrintable(id)}.${field}: ${toPrintable(toSource(key))} holds something else. ${SECRET_FORM} Nothing was changed.`,
      );
    }
    sent[id] = { ...key, ...(secret !== null && { secret }) };
  }
  return { keys: sent };
}

type Change = CatalogOutcome["changes"][number];
export type PeopleChange = Change & { readonly kind: keyof typeof PEOPLE_DEFAULTS };

export function isOfPeople(change: Change): change is PeopleChange {
  return Object.hasOwn(PEOPLE_DEFAULTS, change.kind);
}

/** All that is made or removed but for what has its default; of what changes the fields that do. */
export function describePeople(change: PeopleChange, keys: PeopleFile["keys"]): readonly string[] {
  const { kind, name, before, after, credential, along } = change;
  const usual: { readonly [field: string]: unknown } = PEOPLE_DEFAULTS[kind];
  const fields = Object.entries(after ?? before ?? {});
  const isUpdate = before !== null && after !== null;
  const shown = isUpdate
    ? fields.map(([field, now]) => `${field}: ${show(before[field])} -> ${show(now)}`)
    : fields
        .filter(([field, value]) => show(value) !== show(usual[field]))
        .map(([field, value]) => `${field}: ${show(value)}`);
  if (along !== undefined) return [...shown, describeAlong(along)];
  if (credential !== "set") return shown;
  const source = toSource(keys?.[name]);
  return [
    ...shown,
    isUpdate ? `another secret from ${source}, and the one before ends` : `secret from ${source}`,
  ];
}

/** `with it: 2 keys (laptop, ci), 1 limit (ada: month)`. */
function describeAlong({ keys, relay_tokens: tokens, limits }: NonNullable<Change["along"]>): string {
  const parts = Object.entries({ key: keys, "relay token": tokens, limit: limits }).flatMap(([noun, names]) =>
    names.length === 0 ? [] : [`${toCounted(names.length, noun)} (${names.join(", ")})`],
  );
  return `with it: ${parts.join(", ")}`;
}

/** Where the secret of a key comes from. */
function toSource(key: FileKey | undefined): string {
  const { secret_env: variable, secret_file: path, secret_sha256: digest } = key ?? {};
  return variable ?? path ?? (digest === undefined ? "the request" : "its SHA-256");
}

function show(value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.join(", ");
  if (isJsonObject(value)) {
    const pairs = Object.entries(value).map(([field, of]) => `${field}=${String(of)}`);
    return pairs.length === 0 ? "everybody" : pairs.join(" ");
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What the file has and is not made, and what to do about it. */
export function listSkipped({ skipped = [] }: CatalogOutcome, { keys = {} }: PeopleFile): readonly string[] {
  return skipped.map(({ name, reason }) => {
    switch (reason) {
      case "no_secret":
        return describeNoSecret(name, keys[name]);
      case "former_secret":
        return `The key ${name} keeps its secret: ${toSource(keys[name])} has the one from before its last rotation. Put the present one there.`;
      case "no_key":
        return `The limit ${name} is not made, since its key is not.`;
      default:
        return `The limit ${name} is not made: its relay token is not in this installation, and no file makes one. Make another limit for a token that is: lockport limit set`;
    }
  });
}

function describeNoSecret(name: string, key: FileKey | undefined): string {
  const { secret_env: variable, secret_file: path } = key ?? {};
  const start = `The key ${name} is not made`;
  if (variable !== undefined)
    return `${start}: the variable ${variable} is not set. Apply the file again with it.`;
  if (path !== undefined) return `${start}: the file ${path} is not there. Apply the file again with it.`;
  return `${start}, since the file has no secret of it: write secret_env, secret_file or secret_sha256 below it, or make a key with one: lockport key create --principal ${key?.principal ?? ""}`;
}
