const DISTANCE_MAX = 3;

/** The candidate that a typo most likely meant, or null when none is near. */
export function findNearest(text: string, candidates: readonly string[]): string | null {
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: toDistance(text, candidate) }))
    .toSorted((left, right) => left.distance - right.distance);
  const best = ranked[0];
  return best !== undefined && best.distance <= DISTANCE_MAX ? best.candidate : null;
}

/** Levenshtein distance, one row at a time. */
function toDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
