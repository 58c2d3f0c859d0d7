import type { Route } from "#http/door/route.ts";
import { isObject } from "./client.ts";

/**
 * Holds a successful answer to what its route declares: every field that is promised is there and has its type. Further
 * fields, other words and other ranges pass: the server may be of another version.
 */
export function isDeclared(
  answer: unknown,
  { method, pathname }: { readonly method: string; readonly pathname: string },
  routes: readonly Route[],
): boolean {
  const route = routes.find((each) => each.method === method && isOn(each.path, pathname));
  const [content] = route?.answer.contents ?? [];
  return content !== undefined && fits(answer, content.schema);
}

function isOn(path: string, pathname: string): boolean {
  const parts = pathname.split("/");
  const expected = path.split("/");
  return (
    expected.length === parts.length &&
    expected.every((part, index) => part.startsWith(":") || part === parts[index])
  );
}

type Schema = { readonly [keyword: string]: unknown };

function fits(value: unknown, { anyOf, type, properties, required, items }: Schema): boolean {
  if (Array.isArray(anyOf)) return anyOf.some((each) => isObject(each) && fits(value, each));
  switch (type) {
    case "object":
      if (!isObject(value)) return false;
      if (Array.isArray(required) && required.some((name) => typeof name !== "string" || !(name in value)))
        return false;
      return Object.entries(isObject(properties) ? properties : {}).every(
        ([name, each]) => value[name] === undefined || (isObject(each) && fits(value[name], each)),
      );
    case "array":
      return Array.isArray(value) && (!isObject(items) || value.every((each) => fits(each, items)));
    case "null":
      return value === null;
    case "integer":
      return Number.isInteger(value);
    case "string":
    case "number":
    case "boolean":
      return typeof value === type;
    default:
      return true;
  }
}
