import { isObject, type Client, type Question } from "./client.ts";
import {
  listKeys,
  listModels,
  listPrincipals,
  listProviders,
  listRelayTokens,
  toNamedKey,
  toNamedToken,
} from "./lists.ts";
import { suggestNamed, type Named } from "./named.ts";
import { CommandError, type Refusal } from "#cli/screen/failure.ts";

interface Kind {
  /** The part of a path that names of this kind follow. */
  readonly collection: string;
  /** The fields of a body, or of its `subject`, or of a query, that name one. */
  readonly fields: readonly string[];
  readonly list: (api: Client) => Promise<readonly Named[]>;
}

const MODEL: Kind = {
  collection: "models",
  fields: ["target", "model"],
  list: async (api) => (await listModels(api)).map(({ alias }) => ({ name: alias })),
};

/** By the code of the refusal. */
const KINDS: { readonly [code: string]: Kind } = {
  provider_not_found: {
    collection: "providers",
    fields: ["provider"],
    list: (api) => listProviders(api),
  },
  model_not_found: MODEL,
  invalid_target: MODEL,
  principal_not_found: {
    collection: "principals",
    fields: ["principal"],
    list: (api) => listPrincipals(api),
  },
  key_not_found: {
    collection: "keys",
    fields: ["key"],
    list: async (api) => (await listKeys(api, { principal: undefined })).map(toNamedKey),
  },
  relay_token_not_found: {
    collection: "relay-tokens",
    fields: ["relay_token"],
    list: async (api) => (await listRelayTokens(api, { principal: undefined })).map(toNamedToken),
  },
};

/** The refusal of a name that does not exist, with the one that was probably meant; any other refusal as it is. */
export async function addNearest(api: Client, refusal: Refusal, question: Question): Promise<CommandError> {
  const kind = KINDS[refusal.code];
  const typed = kind === undefined ? null : findTyped(kind, question);
  // A server that suggests by itself has said it.
  if (kind === undefined || typed === null || refusal.message.includes("Did you mean")) return refusal;
  try {
    return new CommandError(refusal.kind, `${refusal.message}${suggestNamed(typed, await kind.list(api))}`);
  } catch {
    // Who may not list them is refused, and not told of others.
    return refusal;
  }
}

function findTyped({ collection, fields }: Kind, { url, body }: Question): string | null {
  const { pathname, searchParams } = new URL(url);
  const parts = pathname.split("/");
  const part = parts.indexOf(collection) === -1 ? undefined : parts[parts.indexOf(collection) + 1];
  if (part !== undefined && fields.every((field) => findText(body, field) === null))
    return decodeURIComponent(part);
  const texts = fields.map((field) => findText(body, field) ?? searchParams.get(field));
  return texts.find((text) => text !== null) ?? null;
}

function findText(body: string | null, field: string): string | null {
  const value: unknown = body === null ? null : JSON.parse(body);
  if (!isObject(value)) return null;
  const subject = isObject(value["subject"]) ? value["subject"] : {};
  const text = value[field] ?? subject[field];
  return typeof text === "string" ? text : null;
}
