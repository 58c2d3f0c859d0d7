/**
 * What a request allocates, from source: `bun bench/garbage.ts [--requests 2000] [--types 25] [--with Lockport,bare]
 * [--scenes unary,stream,open,open-stream]`. Nothing is collected while it counts, so that a figure is what was allocated,
 * whatever else the machine does. Bytes of cells and objects are the JavaScript engine's; resident has in addition what the
 * runtime, the allocator and a Worker keep. `open` are requests whose upstream has not answered, `open-stream` streams that wait
 * for their next event, both behind a full collection: what a collection finds alive of each.
 */
import { parseArgs } from "node:util";
import { isOpen, measure, SCENES, SERVERS, type Allocated } from "./heap.ts";

const { values: options } = parseArgs({
  options: {
    requests: { type: "string", default: "2000" },
    types: { type: "string", default: "25" },
    with: { type: "string", default: SERVERS.join(",") },
    scenes: { type: "string", default: SCENES.join(",") },
  },
});
const servers = SERVERS.filter((name) => options.with.split(",").includes(name));

for (const scene of SCENES.filter((name) => options.scenes.split(",").includes(name))) {
  const seen: Allocated[] = [];
  for (const name of servers) seen.push(await measure(name, scene, Number(options.requests)));
  console.log(`\n| ${scene}, each | ${servers.join(" | ")} |\n|---|${servers.map(() => "---|").join("")}`);
  const print = (what: string, digits: number, read: (of: Allocated) => number) =>
    console.log(`| ${what} | ${seen.map((of) => read(of).toFixed(digits)).join(" | ")} |`);
  print("bytes of cells", 0, ({ cellBytes }) => cellBytes);
  // A heap that was collected is smaller than before.
  if (!isOpen(scene)) print("bytes resident", 0, ({ residentBytes }) => residentBytes);
  print("objects", 1, ({ objects }) => objects);
  const types = new Set(seen.flatMap((of) => of.types.map(([type]) => type)).slice(0, Number(options.types)));
  for (const type of types)
    print(`\`${type}\``, 1, (of) => of.types.find(([name]) => name === type)?.[1] ?? 0);
}
process.exit(0);
