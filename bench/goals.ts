/** The goals of a request and of streams, and what a run saw of each: the table of `npm run bench -- --goals`. */
import type { BesideReports } from "./beside.ts";
import type { Allocated } from "./heap.ts";
import { SCENES } from "./scenes.ts";
import type { Stand } from "./stand.ts";
import type { Starts } from "./start.ts";
import { percentile } from "./table.ts";

/** What a run measured. */
export interface Seen {
  readonly stand: Pick<Stand, "read" | "findRefusal">;
  readonly allocated: Allocated;
  readonly starts: Starts & { readonly refusal: string | null };
  readonly besideReports: BesideReports;
}

/** A goal beside what was seen when it was set; `least` where more is better. */
type Goal = readonly [what: string, before: string, goal: number, unit: string, isLeast?: "least"];

/** Goals by the scene and the figure that tells, and for a ratio by what it is one of. */
const OF_SCENES: readonly (readonly [scene: string, figure: string, goal: Goal, of?: string])[] = [
  ["unary", "CPU, of bare", ["CPU a request, of bare", "1.85 to 2.05", 1.7, " ×"], "CPU, µs a request"],
  ["unary", "rate, of nginx", ["unary, rate of nginx", "0.26 to 0.30", 0.33, " ×", "least"], "requests/s"],
  ["latency-3000", "answer p99, µs", ["p99 at 3,000 requests/s", "2.2 to 4.0", 1.5, " ms"]],
  [
    "chunks",
    "delay p99, of bare",
    ["200 paced streams: p99 of an event, of bare", "3.6 ms", 2, " ×"],
    "delay p99, µs",
  ],
  ["open-5000", "delay p99, µs", ["5,000 open streams: p99 of an event", "16", 10, " ms"]],
  ["open-5000", "opening p99, µs", ["opening them: p99 until the first event", "33 to 53", 30, " ms"]],
  ["open-5000", "resident, most, MB", ["5,000 open streams, resident", "238 to 268", 200, " MB"]],
  ["long-streams", "resident, most, MB", ["1,000 long streams, resident", "up to 188", 120, " MB"]],
  ["long-streams", "resident, trend", ["the same, end of middle: bounded", "127 to 188 MB", 1.1, " ×"]],
];

/** What is read apart from scenes: the median, and what is told beside it; a text alone says why there is none. */
type Read = (seen: Seen) => readonly [figure: number, beside: string] | string;

const OTHERS: readonly (readonly [command: string, goal: Goal, read: Read])[] = [
  [
    "bun bench/garbage.ts --scenes unary",
    ["allocated a request", "25", 10, " kB"],
    ({ allocated: { residentBytes, cellBytes, objects } }) => [
      residentBytes / 1000,
      `cells ${toText(cellBytes / 1000)} in ${objects.toFixed(0)} objects`,
    ],
  ],
  [
    "bun bench/start.ts",
    ["idle, resident", "66 to 72", 64, " MB"],
    ({ starts }) => toSpread(starts.residentMb),
  ],
  [
    "bun bench/start.ts",
    ["listening on one core", "56 to 210", 100, " ms"],
    ({ starts }) => starts.refusal ?? toSpread(starts.listeningMs),
  ],
  [
    "bun bench/stats.ts --sizes 10000000 --match beside",
    ["p99 of requests beside reports at 10 M events", "2.46", 1.2, " ×"],
    ({ besideReports: { ratio, p99Ms, p99AloneMs, reportsPerSecond, refusal } }) =>
      refusal ?? [
        ratio,
        `${toText(percentile(p99Ms, 0.5))} ms, alone ${toText(percentile(p99AloneMs, 0.5))}, ${reportsPerSecond.toFixed(1)} reports/s`,
      ],
  ],
];

export const GOAL_SCENES: readonly string[] = [...new Set(OF_SCENES.map(([scene]) => scene))];

export function toGoalTable(seen: Seen): string {
  const lines = ["| what | before | goal | seen | | command |", "|---|---|---|---|---|---|"];
  const goals = [
    ...OF_SCENES.map(
      ([scene, figure, goal, of]) =>
        [`npm run bench -- ${scene}`, goal, () => readScene(seen.stand, scene, figure, of)] as const,
    ),
    ...OTHERS,
  ];
  for (const [command, [what, before, goal, unit, isLeast], read] of goals) {
    const found = read(seen);
    const [figure, beside] = typeof found === "string" ? [Number.NaN, found] : found;
    const isMet = isLeast === undefined ? figure <= goal : figure >= goal;
    const told = Number.isNaN(figure) ? beside : `${toText(figure)}${unit}${beside && ` (${beside})`}`;
    const verdict = Number.isNaN(figure) ? "not measured" : isMet ? "met" : "**missed**";
    lines.push(`| ${[what, before, `${goal}${unit}`, told, verdict, `\`${command}\``].join(" | ")} |`);
  }
  return lines.join("\n");
}

function readScene(stand: Seen["stand"], name: string, figureName: string, of?: string): ReturnType<Read> {
  const scene = SCENES.find((it) => it.name === name);
  const toMedian = (contender: string, wanted: string) => {
    const figure = scene?.figures.find((it) => it.name === wanted);
    if (scene === undefined || figure === undefined) throw new Error(`no figure ${wanted} of ${name}`);
    const values = stand.read(scene, figure, contender);
    return typeof values === "string" ? Number.NaN : percentile(values, 0.5) * toFactor(wanted);
  };
  const others = of === undefined ? ["nginx", "bare"] : ["Lockport", "nginx", "bare"];
  const beside = others.flatMap((contender) => {
    const median = toMedian(contender, of ?? figureName);
    return Number.isNaN(median) ? [] : [`${contender} ${toText(median)}`];
  });
  return stand.findRefusal(name) ?? [toMedian("Lockport", figureName), beside.join(", ")];
}

/** Percentiles are told in milliseconds, costs as they are. */
function toFactor(figure: string): number {
  return /p\d+, µs$/.test(figure) ? 1e-3 : 1;
}

function toSpread(values: readonly number[]): readonly [number, string] {
  return [percentile(values, 0.5), `${toText(Math.min(...values))} to ${toText(Math.max(...values))}`];
}

function toText(figure: number): string {
  return figure.toFixed(figure < 10 ? 2 : figure < 100 ? 1 : 0);
}
