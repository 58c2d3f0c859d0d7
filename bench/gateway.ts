/**
 * Gateways side by side, in turns drawn by chance, in one run: `npm run bench` (all scenes, a quarter of an hour), `npm run bench
 * -- unary streams` (those alone), `npm run bench -- growth` (a request beside ever more keys, models, limits and tags). Two
 * cores: each gateway with all of its threads on the first, the upstream and the load on the second. Needs taskset and gcc; what
 * is not installed is named and left out. Prints medians and ranges; scenes in which nginx's own tail shows a busy machine are
 * not printed, and the exit code is 1.
 *
 *   --goals                      what the goals of docs/performance.md need, 21 minutes or 16 with a kept DIR, and their table
 *   --with nginx,bare,Lockport   only these        --lockport NAME=EXECUTABLE   one more build beside dist/lockport
 *   --rounds 8 --seconds 2       of each scene: two builds that are near each other need more than three on a busy machine
 *   --seed 7                     draws the turns of an earlier run
 *   --out FILE                   for every round as a line of JSON; without it a file below node_modules/.cache/bench
 *   --keep DIR --events N        of --goals: where the ledger for the reports is kept, and its size
 */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { measureBesideReports } from "./beside.ts";
import { Absent, toBare, toDirect, toLockport, toNginx, type Contender } from "./contenders.ts";
import { BINARY } from "./executable.ts";
import { copyFilled, fill } from "./fill.ts";
import { GOAL_SCENES, toGoalTable } from "./goals.ts";
import { measure } from "./heap.ts";
import { SCENES, toGrowth, type Scene } from "./scenes.ts";
import { Stand } from "./stand.ts";
import { measureStarts } from "./start.ts";
import { CACHE } from "./wire.ts";
import { underWitness } from "./witness.ts";

const GARBAGE_REQUESTS = 2_000;
const STARTS = 15;
const FILL_SEED = 7;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    goals: { type: "boolean", default: false },
    with: { type: "string" },
    rounds: { type: "string" },
    seconds: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    out: { type: "string", default: join(CACHE, `rounds-${new Date().toISOString().slice(0, 19)}.jsonl`) },
    lockport: { type: "string", multiple: true, default: [] },
    keep: { type: "string" },
    events: { type: "string", default: "10000000" },
  },
});

const wanted = options.with?.split(",");
const makers: readonly (readonly [string, () => Contender])[] = [
  ["direct", toDirect],
  ["nginx", toNginx],
  ["bare", toBare],
  ["Lockport", () => toLockport()],
  ...options.lockport.map((words): readonly [string, () => Contender] => {
    const [name = "", path = ""] = words.split("=");
    return [name, () => toLockport(path, name)];
  }),
];

const contenders: Contender[] = [];
const absent: string[] = [];
for (const [name, make] of makers) {
  if (wanted !== undefined && !wanted.includes(name)) {
    absent.push(`${name}: not asked for`);
    continue;
  }
  try {
    contenders.push(make());
  } catch (failure) {
    if (!(failure instanceof Absent)) throw failure;
    absent.push(`${name}: ${failure.message}`);
  }
}

const all = [...SCENES, ...(contenders.some(({ name }) => name === "Lockport") ? toGrowth() : [])];
const asked = options.goals ? [...GOAL_SCENES, "growth"] : positionals;
const isAsked = ({ name }: Scene, by: string) => name === by || name.startsWith(`${by}-`);
for (const name of asked)
  if (!all.some((scene) => isAsked(scene, name)))
    throw new Error(`no scene ${name}: there are ${all.map((scene) => scene.name).join(", ")}`);
const scenes = all.filter((scene) => asked.length === 0 || asked.some((name) => isAsked(scene, name)));

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const startedMs = performance.now();
const run = {
  at: new Date().toISOString(),
  processor: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  loadAverage: loadavg()[0],
  seed: Number(options.seed),
  versions: contenders.map(({ name, version }) => `${name} ${version}`.trim()),
};
mkdirSync(CACHE, { recursive: true });
appendFileSync(options.out, `${JSON.stringify(run)}\n`);
const stand = await Stand.open({ contenders, seed: run.seed, out: options.out });
try {
  for (const scene of scenes) {
    const seconds = Number(options.seconds ?? scene.load.seconds);
    const rounds = Number(options.rounds ?? scene.rounds);
    await stand.measure({ ...scene, rounds, load: { ...scene.load, seconds } });
  }
} finally {
  await stand.close();
}
console.log(
  `${run.at.slice(0, 10)}, ${run.processor}, ${run.cores} cores, load ${run.loadAverage?.toFixed(1)} before\n${run.versions.join(", ")}\nTurns of seed ${run.seed}; every round is in ${options.out}\n${stand.toTable()}\n`,
);
for (const line of absent) console.log(`Left out: ${line}`);
if (!stand.hasWitness) console.log("nginx is not installed: nothing tells whether the machine was quiet.");
if (options.goals) console.log(`\n${await readGoals()}`);
console.log(`\n${((performance.now() - startedMs) / 60_000).toFixed(0)} minutes`);
process.exit(scenes.some(({ name }) => stand.findRefusal(name) !== null) ? 1 : 0);

async function readGoals(): Promise<string> {
  const allocated = await measure("Lockport", "unary", GARBAGE_REQUESTS);
  const [started, refusal] = await underWitness(async (look) => {
    await look();
    const [seen] = await measureStarts([BINARY], Number(options.rounds ?? STARTS));
    await look();
    if (seen === undefined) throw new Error("nothing was started");
    return seen;
  });
  const scratch = mkdtempSync(join(tmpdir(), "lockport-bench-goals-"));
  try {
    const filled = await fill(join(options.keep ?? scratch, options.events), {
      events: Number(options.events),
      seed: FILL_SEED,
      untilUs: Date.now() * 1000,
    });
    const besideReports = await measureBesideReports(copyFilled(filled, scratch), {
      binary: BINARY,
      seed: run.seed,
    });
    const seen = { allocated, starts: { ...started, refusal }, besideReports };
    appendFileSync(options.out, `${JSON.stringify(seen)}\n`);
    return toGoalTable({ stand, ...seen });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
