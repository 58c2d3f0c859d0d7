import { LimitCreateRequest, LimitPatchRequest } from "#http/schemas/limits.ts";
import {
  ModelCreateRequest,
  ModelPatchRequest,
  PrincipalCreateRequest,
  PrincipalPatchRequest,
  ProviderCreateRequest,
  ProviderPatchRequest,
} from "#http/schemas/requests.ts";
import {
  AdminKeyCreateRequest,
  AdminKeyPatchRequest,
  AdminKeyRotateRequest,
} from "#http/schemas/secret-requests.ts";
import { isJsonObject, type JsonObject } from "#kernel/json.ts";
import type { FieldTerms, RequestTerms } from "./terms.ts";

const REQUESTS = {
  AdminKeyCreateRequest,
  AdminKeyPatchRequest,
  AdminKeyRotateRequest,
  LimitCreateRequest,
  LimitPatchRequest,
  ModelCreateRequest,
  ModelPatchRequest,
  PrincipalCreateRequest,
  PrincipalPatchRequest,
  ProviderCreateRequest,
  ProviderPatchRequest,
} as const;

/**
 * What the server's schema of a request says of its fields. Import it `with { type: "macro" }`: it is then run when the page
 * is built, and what it returns stands in the bundle in place of the schemas and the library that made them.
 */
export function readTerms(request: keyof typeof REQUESTS): RequestTerms {
  const schema: unknown = JSON.parse(JSON.stringify(REQUESTS[request]));
  return Object.fromEntries(toEntries(schema, ""));
}

function toEntries(schema: unknown, path: string): readonly (readonly [string, FieldTerms])[] {
  const { properties, required } = toObject(schema);
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  return Object.entries(toObject(properties)).flatMap(([name, field]) => {
    const own = [path + name, toTerms(toObject(field), isRequired(name))] as const;
    return [own].concat(toEntries(field, `${path}${name}.`));
  });
}

function toTerms(schema: JsonObject, isRequired: boolean): FieldTerms {
  const judged = toObject(Array.isArray(schema["allOf"]) ? schema["allOf"][0] : null);
  const { pattern, description } = judged;
  const toNumber = (term: string) => {
    const number = judged[term] ?? schema[term];
    return typeof number === "number" ? { [term]: number } : {};
  };
  return {
    isRequired,
    ...toNumber("maxLength"),
    ...toNumber("minimum"),
    ...toNumber("exclusiveMinimum"),
    ...toNumber("maximum"),
    ...(schema["multipleOf"] === 1 && { isWhole: true }),
    ...(typeof pattern === "string" && { pattern }),
    ...(typeof description === "string" && { words: description }),
  };
}

function toObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
