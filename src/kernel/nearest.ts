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
  const ranked = candidates
    .map((candidate) => {
      const meant = typed === text ? candidate : candidate.slice(shared.length);
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

function toSharedStart(left: string, right: string): string {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length += 1;
  return left.slice(0, length);
}

/** Optimal string alignment: one edit is a character more, less or another, or two neighbours that changed places. */
function toDistance(left: string, right: string): number {
  let before: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[right.length] ?? 0;
}
