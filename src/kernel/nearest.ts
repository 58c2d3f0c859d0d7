import { toQuoted } from "./printable.ts";
import { ALIAS_LENGTH_MAX } from "./text.ts";

const DISTANCE_MAX = 3;
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
  const ranked = candidates
    // Most of many candidates differ in length by more than a typo does, or in their first letters.
    .filter((candidate) => Math.abs(candidate.length - from - typed.length) <= DISTANCE_MAX)
    .map((candidate) => {
      const meant = candidate.slice(from);
      const distance = toDistance(typed, meant);
      const length = Math.max(typed.length, meant.length);
      return { candidate, distance, similarity: (length - distance) / length };
    })
    .filter(({ distance }) => distance <= DISTANCE_MAX)
    .filter(
      ({ distance, similarity }) => similarity > (distance > 1 ? SIMILARITY_OF_SEVERAL_MIN : SIMILARITY_MIN),
    )
    .toSorted((left, right) => left.distance - right.distance);
  return ranked[0]?.candidate ?? null;
}

/** What to add to the refusal of a name that none of these is: ` Did you mean \`openai\`?`, or nothing where none is near. */
export function toHint(typed: string, names: readonly string[]): string {
  const nearest = typed.length > ALIAS_LENGTH_MAX ? null : findNearest(typed, names);
  return nearest === null ? "" : ` Did you mean ${toQuoted(nearest, ALIAS_LENGTH_MAX)}?`;
}

function toSharedStart(left: string, right: string): string {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length += 1;
  return left.slice(0, length);
}

/**
 * Optimal string alignment: one edit is a character more, less or another, or two neighbours that changed places. Infinite
 * beyond `DISTANCE_MAX`: only what lies that near to the diagonal is looked at, and no more once two rows are farther.
 */
function toDistance(left: string, right: string): number {
  let before: number[] = [];
  let row = Array.from({ length: Math.min(right.length, DISTANCE_MAX) + 1 }, (_, index) => index);
  let least = 0;
  for (let i = 1; i <= left.length; i += 1) {
    const next: number[] = [];
    const leastBefore = least;
    least = Infinity;
    const until = Math.min(right.length, i + DISTANCE_MAX);
    for (let j = Math.max(0, i - DISTANCE_MAX); j <= until; j += 1) {
      const replaced = (row[j - 1] ?? Infinity) + (left[i - 1] === right[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      const swapped = isSwapped ? (before[j - 2] ?? Infinity) + 1 : Infinity;
      const distance = Math.min(replaced, swapped, (row[j] ?? Infinity) + 1, (next[j - 1] ?? Infinity) + 1);
      next[j] = distance;
      least = Math.min(least, distance);
    }
    // Two neighbours that changed places reach back over one row.
    if (Math.min(least, leastBefore) > DISTANCE_MAX) return Infinity;
    before = row;
    row = next;
  }
  return row[right.length] ?? Infinity;
}
