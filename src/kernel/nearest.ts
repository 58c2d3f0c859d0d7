import { type ErrorCode, ProxyError } from "./errors.ts";
import { toQuoted } from "./printable.ts";
import { ALIAS_LENGTH_MAX } from "./text.ts";

const DISTANCE_MAX = 3;
/** Candidates of about the same length that are compared letter by letter (some 10 ms): what is behind them is not suggested. */
const COMPARED_MAX = 1_000;
/** A suggestion shares more than this much with what was typed, as commander's own do. */
const SIMILARITY_MIN = 0.4;
/** Shortest name for which two slips are accepted: four letters of which two differ may be any word. */
const SIMILARITY_OF_SEVERAL_MIN = 0.5;

/**
 * The candidate that a typo most likely meant, or null when none is near. What all candidates begin with, such as `PROXY_`,
 * says nothing and counts for nothing.
 */
export function findNearest(text: string, candidates: readonly string[]): string | null {
  const shared = candidates.length > 1 ? candidates.reduce(toSharedStart) : "";
  const typed = text.startsWith(shared) ? text.slice(shared.length) : text;
  const from = typed === text ? 0 : shared.length;
  let nearest: string | null = null;
  // The first of equally near ones counts: only a nearer one takes its place.
  let limit = DISTANCE_MAX;
  let compared = 0;
  for (const candidate of candidates) {
    // Most of many candidates differ in length by more than a typo does.
    if (Math.abs(candidate.length - from - typed.length) > limit) continue;
    compared += 1;
    if (compared > COMPARED_MAX) break;
    const meant = candidate.slice(from);
    const distance = toDistance(typed, meant, limit);
    const length = Math.max(typed.length, meant.length);
    const similarityMin = distance > 1 ? SIMILARITY_OF_SEVERAL_MIN : SIMILARITY_MIN;
    if (distance <= limit && (length - distance) / length > similarityMin) {
      nearest = candidate;
      limit = distance - 1;
    }
  }
  return nearest;
}

/** The end of the refusal of a name that none of these is: ` Did you mean \`openai\`?`, or nothing where none is near. */
export function toHint(typed: string, names: readonly string[]): string {
  const nearest = typed.length > ALIAS_LENGTH_MAX ? null : findNearest(typed, names);
  return nearest === null ? "" : ` Did you mean ${toQuoted(nearest, ALIAS_LENGTH_MAX)}?`;
}

/** As `toHint`, for things that are asked for by id, in place of which a name may have been sent. */
export function toIdHint(
  typed: string,
  known: readonly { readonly id: string; readonly name: string }[],
): string {
  if (typed.length > ALIAS_LENGTH_MAX) return "";
  const nearest = findNearest(
    typed,
    known.flatMap(({ id, name }) => [name, id]),
  );
  const meant = known.find(({ id, name }) => name === nearest || id === nearest);
  return meant === undefined
    ? ""
    : ` Did you mean \`${meant.id}\` (${toQuoted(meant.name, ALIAS_LENGTH_MAX)})?`;
}

/**
 * A change whose refusal with this code also tells what was probably meant. That is read after the refusal: it may read a
 * whole table, which must not keep the catalog's lock.
 */
export async function withHint<Result>(
  change: Promise<Result>,
  code: ErrorCode,
  readHint: () => Promise<string>,
): Promise<Result> {
  try {
    return await change;
  } catch (failure) {
    if (!(failure instanceof ProxyError) || failure.code !== code) throw failure;
    // What was refused stays refused in these words where the hint cannot be read.
    const hint = await readHint().catch(() => "");
    if (hint === "") throw failure;
    const { message, param, headers } = failure;
    throw new ProxyError(code, `${message}${hint}`, {
      ...(param !== null && { param }),
      headers,
      cause: failure.cause,
    });
  }
}

function toSharedStart(left: string, right: string): string {
  if (right.startsWith(left)) return left;
  let length = 0;
  while (length < left.length && left[length] === right[length]) length += 1;
  return left.slice(0, length);
}

/**
 * Optimal string alignment: one edit is a character more, less or another, or two neighbours that changed places. Infinite
 * beyond the limit: only what lies that near to the diagonal is looked at, and no more once two rows are farther. What both
 * begin and end with is passed over.
 */
function toDistance(one: string, other: string, limit: number): number {
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  let [oneEnd, otherEnd] = [one.length, other.length];
  while (Math.min(oneEnd, otherEnd) > start && one[oneEnd - 1] === other[otherEnd - 1]) {
    oneEnd -= 1;
    otherEnd -= 1;
  }
  const left = one.slice(start, oneEnd);
  const right = other.slice(start, otherEnd);
  let before: number[] = [];
  let row = Array.from({ length: Math.min(right.length, limit) + 1 }, (_, index) => index);
  let least = 0;
  for (let i = 1; i <= left.length; i += 1) {
    const next: number[] = [];
    const leastBefore = least;
    least = Infinity;
    const until = Math.min(right.length, i + limit);
    for (let j = Math.max(0, i - limit); j <= until; j += 1) {
      const replaced = (row[j - 1] ?? Infinity) + (left[i - 1] === right[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      const swapped = isSwapped ? (before[j - 2] ?? Infinity) + 1 : Infinity;
      const distance = Math.min(replaced, swapped, (row[j] ?? Infinity) + 1, (next[j - 1] ?? Infinity) + 1);
      next[j] = distance;
      least = Math.min(least, distance);
    }
    // Two neighbours that changed places reach back over one row.
    if (Math.min(least, leastBefore) > limit) return Infinity;
    before = row;
    row = next;
  }
  return row[right.length] ?? Infinity;
}
