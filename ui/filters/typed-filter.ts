import type { BoundFilter, ListFilter } from "../search/filters.ts";

/** A filter that a text spells out. */
export type TypedFilter =
  | { readonly bound: BoundFilter; readonly value: string }
  | { readonly list: Extract<ListFilter, "status">; readonly value: string };

const STATUS = /^(?:[1-5]\d\d|[45]xx)$/i;
const COST = /^([<>])\s*\$\s*(\d{1,6}(?:\.\d{1,12})?)$/;
const DURATION = /^([<>])\s*(\d{1,6}(?:\.\d{1,3})?)\s*(ms|s|min)$/i;
const UNIT_MS: { readonly [unit: string]: number } = { ms: 1, s: 1_000, min: 60_000 };

/** `429`, `5xx`, `>$0.10`, `< 500 ms`, `>2s`; null for what says none of these. */
export function parseTyped(text: string): TypedFilter | null {
  if (STATUS.test(text)) return { list: "status", value: text.toLowerCase() };
  const [, costSign, cost] = COST.exec(text) ?? [];
  if (cost !== undefined) return { bound: costSign === ">" ? "min_cost" : "max_cost", value: cost };
  const [, sign, count, unit] = DURATION.exec(text) ?? [];
  if (count === undefined || unit === undefined) return null;
  const ms = Math.round(Number(count) * (UNIT_MS[unit.toLowerCase()] ?? 1) * 1000) / 1000;
  return { bound: sign === ">" ? "min_duration_ms" : "max_duration_ms", value: String(ms) };
}

/** Hexadecimal digits of a request's id, which is a UUIDv7, from its beginning: this many and more are looked for. */
const ID_DIGITS_MIN = 8;
const ID_BEGINNING = /^[\da-f]{8}(?:-[\da-f]{0,4}){0,4}(?:[\da-f]{0,8})$/;
const MS_DIGITS = 12;
/** The last year of four digits, which is the last that a report can be asked for. */
const LAST_DIGITS = "e677d21fdbff";

/** The beginning of a request's id, and the time within which such a request arrived. */
export interface IdBeginning {
  readonly beginning: string;
  readonly since: string;
  readonly until: string;
}

/** Null for what cannot be the beginning of an id. */
export function parseIdBeginning(text: string): IdBeginning | null {
  const beginning = text.trim().toLowerCase();
  if (!ID_BEGINNING.test(beginning) || beginning.length > 36) return null;
  // RFC 9562, section 5.7: the first 48 bits are milliseconds since 1970.
  const digits = beginning.replaceAll("-", "").slice(0, MS_DIGITS);
  if (digits.length < ID_DIGITS_MIN || digits > LAST_DIGITS) return null;
  const first = Number.parseInt(digits.padEnd(MS_DIGITS, "0"), 16);
  const last = Number.parseInt(digits.padEnd(MS_DIGITS, "f"), 16);
  return { beginning, since: toIso(first), until: toIso(last + 1) };
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}
