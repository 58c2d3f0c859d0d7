/** Chance with a seed, and the shapes that traffic has. */

/** Uniform in [0, 1). */
export type Chance = () => number;

/** mulberry32: 32 bits of state, fast, and the same on every machine. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Index `i` below `length` with a weight of `1 / (i + 1)^exponent`: few are popular, many are rare. */
export function createZipf(length: number, exponent: number): (chance: Chance) => number {
  const weights = Array.from({ length }, (_, index) => 1 / (index + 1) ** exponent);
  return createWeighted(weights);
}

export function createWeighted(weights: readonly number[]): (chance: Chance) => number {
  let sum = 0;
  const upTo = Float64Array.from(weights, (weight) => (sum += weight));
  return (chance) => {
    const wanted = chance() * sum;
    let low = 0;
    let high = upTo.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((upTo[middle] ?? 0) > wanted) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}

/** Log-normal with this median; `spread` is the standard deviation of the logarithm. */
export function toLogNormal(chance: Chance, median: number, spread: number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - chance()));
  return median * Math.exp(spread * radius * Math.cos(2 * Math.PI * chance()));
}

/** Returns a copy in an order that is drawn by chance, each as likely as any other. */
export function shuffle<Value>(chance: Chance, values: readonly Value[]): Value[] {
  const shuffled = [...values];
  for (let left = shuffled.length; left > 1; left -= 1) {
    const [drawn] = shuffled.splice(Math.floor(chance() * left), 1);
    if (drawn !== undefined) shuffled.push(drawn);
  }
  return shuffled;
}
