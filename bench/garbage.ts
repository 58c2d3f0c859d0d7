/**
 * What a request allocates, from source: `bun bench/garbage.ts [--requests 2000] [--types 25] [--with Lockport,bare]`. Nothing
 * is collected while it counts, so that a figure is what was allocated, whatever else the machine does. Bytes of cells and
 * objects are the JavaScript engine's; resident has in addition what the runtime, the allocator and a Worker keep. `open`
 * are requests whose upstream has not answered, behind a full collection: what a collection finds alive of each.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { toBare, toLockport, type Contender, type Probed, type Running } from "./contenders.ts";
import type { Count } from "./probe.ts";
import { startUpstream } from "./wire.ts";

const { values: options } = parseArgs({
  options: {
    requests: { type: "string", default: "2000" },
    types: { type: "string", default: "25" },
    with: { type: "string", default: "Lockport,bare" },
    scenes: { type: "string", default: "unary,stream,open" },
  },
});
const requests = Number(options.requests);
const typesMax = Number(options.types);
const CONNECTIONS = 16;
const EVENTS = 50;
/** Fewer than a client's own connections to one host, which would wait for one another. */
const OPEN = 200;
/** Until every tier of compiled code is there, and every table has its size. */
const WARM_UP = 6_000;
const STREAMS_SHARE = 4;
const SOURCE = resolve(import.meta.dir, "../src/main.ts");
const PROBE = resolve(import.meta.dir, "probe.ts");
const folder = mkdtempSync(join(tmpdir(), "lockport-bench-garbage-"));
const file = join(folder, "count.json");

const upstream = await startUpstream();
const origin = `http://127.0.0.1:${upstream.port}`;

function toContender(name: string, env: Readonly<Record<string, string>>): Contender {
  const bun = [process.execPath, "--no-env-file"];
  const probed: Probed = {
    command: [...bun, PROBE, file, name.toLowerCase()],
    env: { BUN_CONFIG_MAX_HTTP_REQUESTS: "65336", MIMALLOC_PURGE_DELAY: "100", ...env },
  };
  return name === "bare" ? toBare(probed) : toLockport([...bun, SOURCE], name, probed);
}

async function read({ pid }: Running, signal: "SIGUSR1" | "SIGUSR2"): Promise<Count> {
  rmSync(file, { force: true });
  process.kill(pid ?? 0, signal);
  while (!existsSync(file)) await Bun.sleep(5);
  return JSON.parse(readFileSync(file, "utf8")) as Count;
}

function ask({ port, headers, model }: Running, stream: boolean): Promise<Response> {
  const content = "Say something short, please. ".repeat(30);
  const messages = [
    { role: "system", content: "You are terse." },
    { role: "user", content },
  ];
  const [, authorization = ""] = /^authorization: (.*)\r\n/.exec(headers) ?? [];
  return fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json", "user-agent": "OpenAI/Python 2.1.0" },
    body: JSON.stringify({ model, stream, messages }),
  });
}

/** So many requests, some at once, read to their end. */
async function load(server: Running, count: number, stream: boolean): Promise<void> {
  let left = count;
  const one = async () => {
    while (left > 0) {
      left -= 1;
      const response = await ask(server, stream);
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
}

interface Grown {
  readonly cellBytes: number;
  readonly residentBytes: number;
  readonly objects: number;
  readonly types: readonly (readonly [type: string, each: number])[];
}

function toGrown(before: Count, after: Count, count: number): Grown {
  const types = Object.entries(after.objects)
    .map(([type, of]) => [type, (of - (before.objects[type] ?? 0)) / count] as const)
    .filter(([, each]) => each >= 0.05)
    .toSorted(([, left], [, right]) => right - left);
  return {
    cellBytes: (after.cellBytes - before.cellBytes) / count,
    residentBytes: (after.residentBytes - before.residentBytes) / count,
    objects: types.reduce((sum, [, each]) => sum + each, 0),
    types,
  };
}

/** Allocated by each of so many requests, with collection off. */
async function countAllocated(name: string, stream: boolean): Promise<Grown> {
  const server = await toContender(name, { BUN_JSC_useGC: "0" }).start(origin);
  try {
    const count = stream ? requests / STREAMS_SHARE : requests;
    await load(server, stream ? WARM_UP / STREAMS_SHARE : WARM_UP, stream);
    const before = await read(server, "SIGUSR2");
    await load(server, count, stream);
    return toGrown(before, await read(server, "SIGUSR2"), count);
  } finally {
    await server.stop();
  }
}

/** What a collection finds of each request that waits for its upstream, which answers none of those until the end. */
async function countOpen(name: string): Promise<Grown> {
  const answers = Promise.withResolvers<void>();
  const allHeld = Promise.withResolvers<void>();
  let heldCount = 0;
  let holds = false;
  const holding = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch() {
      if (holds) {
        heldCount += 1;
        if (heldCount === OPEN) allHeld.resolve();
        await answers.promise;
      }
      return Response.json({ choices: [], usage: { prompt_tokens: 21, completion_tokens: 8 } });
    },
  });
  const server = await toContender(name, {}).start(`http://127.0.0.1:${holding.port}`);
  try {
    await load(server, WARM_UP, false);
    const before = await read(server, "SIGUSR1");
    holds = true;
    const held = Array.from({ length: OPEN }, () => ask(server, false));
    await allHeld.promise;
    const after = await read(server, "SIGUSR1");
    answers.resolve();
    for (const each of held) await (await each).arrayBuffer();
    return toGrown(before, after, OPEN);
  } finally {
    await server.stop();
    await holding.stop(true);
  }
}

function print(scene: string, seen: ReadonlyMap<string, Grown>): void {
  const names = [...seen.keys()];
  console.log(`\n| ${scene}, each | ${names.join(" | ")} |\n|---|${names.map(() => "---|").join("")}`);
  const line = (what: string, values: readonly (number | undefined)[], digits: number) =>
    console.log(`| ${what} | ${values.map((value) => value?.toFixed(digits) ?? "").join(" | ")} |`);
  const all = [...seen.values()];
  line(
    "bytes of cells",
    all.map(({ cellBytes }) => cellBytes),
    0,
  );
  line(
    "bytes resident",
    all.map(({ residentBytes }) => residentBytes),
    0,
  );
  line(
    "objects",
    all.map(({ objects }) => objects),
    1,
  );
  const types = new Set(all.flatMap((grown) => grown.types.map(([type]) => type)).slice(0, typesMax));
  for (const type of types)
    line(
      `\`${type}\``,
      all.map((grown) => grown.types.find(([name]) => name === type)?.[1]),
      1,
    );
}

try {
  for (const scene of options.scenes.split(",")) {
    await upstream.set({ events: EVENTS });
    const seen = new Map<string, Grown>();
    for (const name of options.with.split(","))
      seen.set(
        name,
        scene === "open" ? await countOpen(name) : await countAllocated(name, scene === "stream"),
      );
    print(scene, seen);
  }
} finally {
  await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
