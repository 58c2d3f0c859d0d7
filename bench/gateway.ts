/**
 * Gateways side by side, in turns, in one run: `npm run bench` (all scenes, about a quarter of an hour),
 * `npm run bench -- unary streams` (those alone). Two cores: each gateway with all of its threads on the first, the upstream and
 * the load on the second. Needs taskset and gcc; what is not installed is named and left out. Prints one table of medians
 * and ranges.
 *
 *   --with nginx,bare,Lockport   only these        --lockport NAME=EXECUTABLE   one more build beside dist/lockport
 *   --rounds 8                   of each scene: two builds that are near each other need more than three on a busy machine
 */
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { Absent, toBare, toDirect, toLockport, toNginx, type Contender } from "./contenders.ts";
import { SCENES } from "./scenes.ts";
import { Stand } from "./stand.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    with: { type: "string" },
    rounds: { type: "string" },
    lockport: { type: "string", multiple: true, default: [] },
  },
});
const NAMES = SCENES.map(({ name }) => name);
for (const name of positionals)
  if (!NAMES.includes(name)) throw new Error(`no scene ${name}: there are ${NAMES.join(", ")}`);

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

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const machine = `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before`;
const stand = await Stand.open(contenders);
try {
  for (const scene of SCENES)
    if (positionals.length === 0 || positionals.includes(scene.name))
      await stand.measure({ ...scene, rounds: Number(options.rounds ?? scene.rounds) });
} finally {
  await stand.close();
}

const versions = contenders.map(({ name, version }) => `${name} ${version}`.trim()).join(", ");
console.log(`${machine}\n${versions}\n`);
console.log(stand.toTable());
for (const line of absent) console.log(`Left out: ${line}`);
process.exit(0);
