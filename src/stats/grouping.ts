import { RELAY_PROVIDER } from "#usage/event.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import { DELETED_PROVIDER } from "./filter.ts";
import type { RequestLogRow } from "./request-log.ts";
import type { ReportContext } from "./store.ts";

/** Who used what: what reports group by. */
export interface ReportSubject extends Pick<
  RequestLogRow,
  "principal" | "keyId" | "providerId" | "model" | "endpoint" | "client"
> {
  /** `key:value` pairs joined by commas, which no pair holds; sorted as the pairs one by one would be. */
  readonly tags: string;
}

/** What is told apart no more stands together under it; no name, tag or client of ours looks like it. */
export const OTHER = "(other)";

/** Rows of one report; the most used are kept. */
export const REPORT_ROWS_MAX = 50_000;

/** What an event's provider is called now: all that no longer exist share one name (specification, section 4.4). */
export function toProviderName(
  providerId: string,
  { providerNames }: Pick<ReportContext, "providerNames">,
): string {
  if (providerId === RELAY_PROVIDER || providerId === OTHER) return providerId;
  return providerNames.get(providerId) ?? DELETED_PROVIDER;
}

export function splitTags(tags: string): readonly string[] {
  return tags === "" ? [] : tags.split(",");
}

/** One part of a group's key. Those at one place are all texts or all numbers, or null. */
type KeyPart = string | number | null;

export interface Groups {
  /** The group of each row: its place in the order of keys. */
  readonly groupOf: Float64Array;
  readonly count: number;
}

/**
 * Groups rows by a key of several parts. Groups are in the order of their keys: part by part, null first, numbers by size,
 * texts by code unit. The parts' few distinct values are sorted, not the rows. Groups of `before` are the key's first part.
 */
export function groupRows<Row>(
  rows: readonly Row[],
  parts: readonly ((row: Row) => KeyPart)[],
  before: Groups = { groupOf: new Float64Array(rows.length), count: 1 },
): Groups {
  let places: Float64Array = before.groupOf.slice();
  // Every place is below it.
  let bound = before.count;
  for (const part of parts) {
    const next = rankPart(rows, part);
    if (bound * next.count > Number.MAX_SAFE_INTEGER) ({ groupOf: places, count: bound } = closeGaps(places));
    for (let row = 0; row < rows.length; row += 1) {
      places[row] = (places[row] ?? 0) * next.count + (next.groupOf[row] ?? 0);
    }
    bound *= next.count;
  }
  return closeGaps(places);
}

/** As `groupRows`, by what subjects are: one that many rows share, as one object, is compared once. */
export function groupBySubject(
  rows: readonly { readonly subject: ReportSubject }[],
  parts: readonly ((subject: ReportSubject) => KeyPart)[],
): Groups {
  const subjects = [...new Set(rows.map(({ subject }) => subject))];
  const { groupOf, count } = groupRows(subjects, parts);
  const groups = new Map(subjects.map((subject, index) => [subject, groupOf[index] ?? 0]));
  return { groupOf: Float64Array.from(rows, ({ subject }) => groups.get(subject) ?? 0), count };
}

/** Leaves out the least used when there are too many rows; of equals the first are kept, and the order stays. */
export function keepMostUsed<Row extends { readonly requests: number }>(
  rows: readonly Row[],
  rowsMax = REPORT_ROWS_MAX,
): { readonly rows: readonly Row[]; readonly truncated: boolean } {
  if (rows.length <= rowsMax) return { rows, truncated: false };
  const byUse = rows.toSorted((left, right) => right.requests - left.requests);
  const kept = new Set(byUse.slice(0, rowsMax));
  return { rows: rows.filter((row) => kept.has(row)), truncated: true };
}

function rankPart<Row>(rows: readonly Row[], part: (row: Row) => KeyPart): Groups {
  const known = new Map<KeyPart, number>();
  const groupOf = new Float64Array(rows.length);
  for (const [row, of] of rows.entries()) {
    const value = part(of);
    let number = known.get(value);
    if (number === undefined) known.set(value, (number = known.size));
    groupOf[row] = number;
  }
  const rankOf = new Float64Array(known.size);
  const sorted = [...known].sort(([left], [right]) => compareParts(left, right));
  for (const [rank, [, number]] of sorted.entries()) rankOf[number] = rank;
  for (let row = 0; row < groupOf.length; row += 1) groupOf[row] = rankOf[groupOf[row] ?? 0] ?? 0;
  return { groupOf, count: known.size };
}

function compareParts(left: KeyPart, right: KeyPart): number {
  if (left === null || right === null) return Number(left !== null) - Number(right !== null);
  if (typeof left === "number" && typeof right === "number") return left - right;
  return compareCodeUnits(String(left), String(right));
}

/** Numbers the places from 0 without a gap; their order stays. */
function closeGaps(places: Float64Array): Groups {
  const distinct = Float64Array.from(new Set(places)).sort();
  const groupAt = new Map<number, number>();
  for (const [group, place] of distinct.entries()) groupAt.set(place, group);
  return { groupOf: places.map((place) => groupAt.get(place) ?? 0), count: distinct.length };
}
