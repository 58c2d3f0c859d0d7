import { isJsonObject } from "#kernel/json.ts";

/** A value as JSON has it. */
export type ToldValue =
  | string
  | number
  | boolean
  | null
  | readonly ToldValue[]
  | { readonly [name: string]: ToldValue };

/** A field that a mutation has changed, under the name that requests write it by; null is none. */
export interface FieldChange {
  readonly field: string;
  readonly before: ToldValue;
  readonly after: ToldValue;
  /** There for a secret, of which both sides tell no more than that one was set. */
  readonly secret?: true;
  /** There where a side was longer than `VALUE_BYTES_MAX`, and only its beginning is kept. */
  readonly cut?: true;
}

/** The fields that a mutation has changed. */
export interface AuditChange {
  /** The target's name for people, kept for when it is gone; null where its reference is its name. */
  readonly label: string | null;
  readonly fields: readonly FieldChange[];
  /** Fields that had no room below `CHANGE_BYTES_MAX`. */
  readonly omitted: number;
}

/** The fields of a target at one moment, by the names that requests write them by; what is undefined is none. */
export interface Facts {
  readonly [field: string]: unknown;
}

/** Bytes of JSON of one side of a field: a list of price variants has room. */
export const VALUE_BYTES_MAX = 2_048;
/** Bytes of JSON of all fields of one entry: a page of 250 entries stays below 2 MiB. */
export const CHANGE_BYTES_MAX = 8_192;

/** Stands for a value that is never told, and only compared. */
export class SecretFact {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/** Compares what a target was with what it is; null is a target that is not there. */
export function toAuditChange(label: string | null, before: Facts | null, after: Facts | null): AuditChange {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return toBounded(
    label,
    [...names].map((field) => [field, before?.[field], after?.[field]]),
  );
}

/** As `toAuditChange`, of pairs that are compared as they are asked for. */
export function toBounded(
  label: string | null,
  sides: Iterable<readonly [field: string, before: unknown, after: unknown]>,
): AuditChange {
  const fields: FieldChange[] = [];
  let omitted = 0;
  let room = CHANGE_BYTES_MAX;
  for (const [field, before, after] of sides) {
    const isSame = isNothing(before) ? isNothing(after) : Bun.deepEquals(before, after, true);
    if (isSame) continue;
    const change = omitted === 0 ? toFieldChange(field, before, after) : null;
    room -= change === null ? 0 : countBytes(change);
    if (change === null || room < 0) omitted += 1;
    else fields.push(change);
  }
  return { label, fields, omitted };
}

/** An entity that is made without tags or endpoints says nothing of them. */
function isNothing(value: unknown): boolean {
  if (value instanceof SecretFact) return isNothing(value.value);
  if (value === undefined || value === null) return true;
  return typeof value === "object" && !(value instanceof Uint8Array) && Object.keys(value).length === 0;
}

function toFieldChange(field: string, before: unknown, after: unknown): FieldChange {
  if (before instanceof SecretFact || after instanceof SecretFact) {
    const tell = (value: unknown) => (isNothing(value) ? null : "set");
    return { field, before: tell(before), after: tell(after), secret: true };
  }
  const sides = [toTold(before), toTold(after)] as const;
  const [was, is] = [cut(sides[0]), cut(sides[1])];
  const isCut = was !== sides[0] || is !== sides[1];
  return { field, before: was, after: is, ...(isCut && { cut: true as const }) };
}

function toTold(value: unknown): ToldValue {
  return value === undefined ? null : parseTold(JSON.parse(JSON.stringify(value)));
}

/** The value, or its beginning where it is too long. */
function cut(value: ToldValue): ToldValue {
  if (countBytes(value) <= VALUE_BYTES_MAX) return value;
  if (typeof value === "string") return `${value.slice(0, VALUE_BYTES_MAX / 4)}…`;
  if (value === null || typeof value !== "object") return value;
  let room = VALUE_BYTES_MAX;
  const hasRoom = (part: unknown) => (room -= countBytes(part) + 1) >= 0;
  return isList(value)
    ? value.filter(hasRoom)
    : Object.fromEntries(Object.entries(value).filter((entry) => hasRoom(entry)));
}

function isList(value: ToldValue): value is readonly ToldValue[] {
  return Array.isArray(value);
}

function countBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** A change as it was stored; null for what this version cannot read. */
export function parseAuditChange(json: unknown): AuditChange | null {
  if (!isJsonObject(json) || !Array.isArray(json["fields"])) return null;
  const { label, omitted } = json;
  const list: readonly unknown[] = json["fields"];
  const fields = list.flatMap((each): FieldChange[] => {
    if (!isJsonObject(each) || typeof each["field"] !== "string") return [];
    return [
      {
        field: each["field"],
        before: parseTold(each["before"]),
        after: parseTold(each["after"]),
        ...(each["secret"] === true && { secret: true }),
        ...(each["cut"] === true && { cut: true }),
      },
    ];
  });
  return {
    label: typeof label === "string" ? label : null,
    fields,
    omitted: typeof omitted === "number" ? omitted : 0,
  };
}

function parseTold(json: unknown): ToldValue {
  if (Array.isArray(json)) return json.map(parseTold);
  if (isJsonObject(json))
    return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, parseTold(value)]));
  return typeof json === "string" || typeof json === "number" || typeof json === "boolean" ? json : null;
}
