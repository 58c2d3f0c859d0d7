import { expect, test } from "bun:test";
import { createChance, shuffle } from "../../bench/chance.ts";
import { toGoalTable } from "../../bench/goals.ts";
import type { Figure, Scene } from "../../bench/scenes.ts";
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
  expect(refusal).toContain("above 2.5 ms nothing is printed");
});

test("figures are told where one look alone was slow, and where nothing looked", () => {
  expect(toRefusal([0.4, 0.6, 9])).toBeNull();
  expect(toRefusal([])).toBeNull();
});

test("the table of goals has a row for each, met or missed by the median, and none with figures of a busy machine", () => {
  const values: { readonly [figure: string]: readonly number[] } = {
    "CPU, of bare": [1.6, 1.65, 9],
    "rate, of nginx": [0.2, 0.21],
    "requests/s": [16_000],
    "resident, most, MB": [188],
  };
  const table = toGoalTable({
    stand: {
      read: (_: Scene, { name }: Figure, contender: string) =>
        contender === "Lockport" ? (values[name] ?? []) : "not asked for",
      findRefusal: (scene: string) => (scene === "open-5000" ? "the machine was busy" : null),
    },
    allocated: { residentBytes: 9_500, cellBytes: 6_000, objects: 80, types: [] },
    starts: { listeningMs: [90], residentMb: [70], anonymousMb: [], refusal: null },
    besideReports: { p99Ms: [2], p99AloneMs: [1], ratio: 2, reportsPerSecond: 8, refusal: "it was busy" },
  });
  const lines = table.split("\n").slice(2);
  const find = (what: string) => lines.find((line) => line.startsWith(`| ${what} `)) ?? "";
  expect(lines).toHaveLength(13);
  expect(find("CPU a request, of bare")).toContain("| 1.65 × | met |");
  expect(find("unary, rate of nginx")).toContain("| 0.21 × (Lockport 16000) | **missed** |");
  expect(find("allocated a request")).toContain("| 9.50 kB (cells 6.00 in 80 objects) | met |");
  expect(find("idle, resident")).toContain("| **missed** |");
  expect(find("5,000 open streams, resident")).toContain("| the machine was busy | not measured |");
  expect(find("5,000 open streams, resident")).not.toContain("188");
  expect(find("1,000 long streams, resident")).toContain("| 188 MB | **missed** |");
  expect(find("p99 of requests beside reports at 10 M events")).toContain("| it was busy | not measured |");
  expect(find("opening them: p99 until the first event")).toContain(
    "| the machine was busy | not measured |",
  );
});
