import { createChance } from "../support/chance.ts";
import { readNumber, scale } from "../support/scale.ts";

/** `LOCKPORT_SEED` repeats a run; `LOCKPORT_SCALE` makes it so many times as long. The seed is printed. */
export function readSettings(name: string): { readonly seed: number; readonly scale: number } {
  const { seed } = createChance(readNumber("LOCKPORT_SEED"));
  console.log(`${name}: LOCKPORT_SEED=${seed}`);
  // fast-check takes a signed one.
  return { seed: seed | 0, scale };
}
