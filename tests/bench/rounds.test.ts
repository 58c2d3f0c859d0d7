import { expect, test } from "bun:test";
import { createChance, shuffle } from "../../bench/chance.ts";
import { toRefusal } from "../../bench/witness.ts";

const CONTENDERS = ["direct", "nginx", "bare", "Lockport", "witness"];

test("turns of a seed are drawn again with it, each contender has one, and each place is as likely", () => {
  const draw = (seed: number) => {
    const chance = createChance(seed);
    return Array.from({ length: 2_000 }, () => shuffle(chance, CONTENDERS));
  };
  const turns = draw(7);
  expect(draw(7)).toEqual(turns);
  expect(draw(8)).not.toEqual(turns);
  for (const round of turns) expect(round.toSorted()).toEqual(CONTENDERS.toSorted());
  for (const place of CONTENDERS.keys()) {
    const firsts = turns.filter((round) => round[place] === "Lockport").length;
    expect(firsts).toBeGreaterThan(300);
    expect(firsts).toBeLessThan(500);
  }
});

test("figures are refused where nginx was slow in most looks, with what was seen and the limit", () => {
  const refusal = toRefusal([0.4, 3.5, 9.25]);
  expect(refusal).toContain("p99 of 3.5 ms (median of 3 looks, 0.4 to 9.3)");
  expect(refusal).toContain("above 2 ms nothing is printed");
});

test("figures are told where one look alone was slow, and where nothing looked", () => {
  expect(toRefusal([0.4, 0.6, 9])).toBeNull();
  expect(toRefusal([])).toBeNull();
});
