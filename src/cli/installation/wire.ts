import { CommandError } from "#cli/screen/failure.ts";

/** A resource as the interface spells it (specification, section 2): of a remote server nothing more is known. */
export type WireObject = { readonly [field: string]: unknown };

export function isWireObject(value: unknown): value is WireObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Throws a `CommandError` when the field is no list of objects. */
export function readObjects(object: WireObject, field: string): readonly WireObject[] {
  const value = object[field];
  if (Array.isArray(value) && value.every(isWireObject)) return value;
  throw unreadable(field);
}

export function readText(object: WireObject, field: string): string {
  return findText(object, field) ?? fail(field);
}

/** Null when the field is null, absent or no text. */
export function findText(object: WireObject, field: string): string | null {
  const value = object[field];
  return typeof value === "string" ? value : null;
}

export function readNumber(object: WireObject, field: string): number {
  return findNumber(object, field) ?? fail(field);
}

/** Null when the field is null, absent or no number. */
export function findNumber(object: WireObject, field: string): number | null {
  const value = object[field];
  return typeof value === "number" ? value : null;
}

export function readBoolean(object: WireObject, field: string): boolean {
  const value = object[field];
  return typeof value === "boolean" ? value : fail(field);
}

/** Numbers by name, such as units and prices; what is no number is left out. */
export function readNumbers(object: WireObject, field: string): ReadonlyMap<string, number> {
  const value = object[field];
  if (!isWireObject(value)) throw unreadable(field);
  return new Map(
    Object.entries(value).flatMap(([name, each]): [string, number][] =>
      typeof each === "number" ? [[name, each]] : [],
    ),
  );
}

export function readTexts(object: WireObject, field: string): readonly string[] {
  const value = object[field];
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value;
  throw unreadable(field);
}

function fail(field: string): never {
  throw unreadable(field);
}

function unreadable(field: string): CommandError {
  return new CommandError(
    "unreachable",
    `The answer has no field ${field} as it should be: what answers is not a Lockport, or one of another version.`,
  );
}
