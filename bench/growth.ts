/**
 * Growth of a request's cost with keys, models, events and body size: `bun bench/growth.ts [keys] [models]
 * [events] [body] [--keep DIR] [--events 0,1000000,10000000]` (after `npm run build`). CPU of all threads a request,
 * on one core; the requests go through all keys and models in turns. Filling 10 M events takes minutes; `--keep` is where filled
 * folders stay, as for `bench/stats.ts`.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { toLockport, type RunningLockport } from "./lockport.ts";
import { readCpuMs, readResidentMb } from "./executable.ts";
import { fill } from "./fill.ts";
import { createTable, percentile, type Cell } from "./table.ts";
import { runLoad, startUpstream, toRequest, writeRequests, type LoadOptions } from "./wire.ts";

const ROUNDS = 3;
const SECONDS = 3;
const SEED = 7;
const KEYS = [10, 1_000, 100_000];
const MODELS = [10, 1_000, 10_000];
const BODIES = [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 50_000_000];
/** Requests are made with this many keys or models at most; more would be a file of over 100 MB. */
const SAMPLE_MAX = 20_000;
const CALLS_AT_ONCE = 16;
const UNARY: LoadOptions = { connections: 64, seconds: SECONDS };
const PRICING = { input_tokens: 2.5, output_tokens: 10 };

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    keep: { type: "string" },
    events: { type: "string", default: "0,1000000,10000000" },
  },
});
const isAsked = (name: string) => positionals.length === 0 || positionals.includes(name);
const table = createTable();
const scratch = mkdtempSync(join(tmpdir(), "lockport-bench-growth-"));
process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const upstream = await startUpstream();

if (isAsked("keys")) await grow("keys", KEYS, growKeys);
if (isAsked("models")) await grow("models", MODELS, growModels);
if (isAsked("body")) await grow("bytes of body", BODIES, growBody);
if (isAsked("events")) await grow("events", options.events.split(",").map(Number), growEvents);
await upstream.stop();
process.exit(0);

async function grow(
  what: string,
  sizes: readonly number[],
  measure: (size: number) => Promise<void>,
): Promise<void> {
  for (const size of sizes) await measure(size);
  table.print(
    `Growth with ${what}`,
    sizes.map((size) => size.toLocaleString("en")),
  );
}

async function withLockport(
  work: (running: RunningLockport) => Promise<void>,
  dataDir?: string,
): Promise<void> {
  const running = await toLockport().start(
    `http://127.0.0.1:${upstream.port}`,
    dataDir === undefined ? {} : { dataDir },
  );
  try {
    await work(running);
  } finally {
    await running.stop();
  }
}

/** Reports the median of `ROUNDS` measurements; one before them is not counted. */
async function report(
  running: RunningLockport,
  requests: readonly string[],
  load: LoadOptions,
): Promise<void> {
  const path = writeRequests(requests);
  const costs: number[] = [];
  const rates: number[] = [];
  for (let round = -1; round < ROUNDS; round += 1) {
    const beforeMs = readCpuMs(running.pid);
    const seen = await runLoad(path, running.port, { ...load, first: (round + 1) * 4_999 });
    if (seen.failures > 0) throw new Error(`${seen.failures} failed: ${seen.firstFailure}`);
    if (round < 0) continue;
    costs.push(((readCpuMs(running.pid) - beforeMs) * 1000) / seen.requests);
    rates.push(seen.requests / seen.seconds);
  }
  const toCell = (values: readonly number[], digits: number): Cell => {
    const figure = percentile(values, 0.5);
    const ends = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits));
    return { text: `${figure.toFixed(digits)} (${ends.join(" to ")})`, figure };
  };
  table.report("CPU, µs a request", toCell(costs, 1));
  table.report("requests/s", toCell(rates, 0));
  const residentMb = readResidentMb(running.pid);
  table.report("resident, MB", { text: residentMb.toFixed(0), figure: residentMb });
}

function toChat(headers: string, model: string, sizeBytes = 1_000): string {
  const text = "Say something short, please. "
    .repeat(Math.ceil(sizeBytes / 29))
    .slice(0, Math.max(10, sizeBytes - 120));
  const body = JSON.stringify({ model, messages: [{ role: "user", content: text }] });
  return toRequest("/v1/chat/completions", headers, body);
}

async function growKeys(count: number): Promise<void> {
  await withLockport(async (running) => {
    const keys: string[] = [];
    const make = async (): Promise<void> => {
      const made = (await running.ask("/admin/v1/keys", { principal: "admin", label: "bench" })) as {
        key: string;
      };
      if (keys.push(made.key) + CALLS_AT_ONCE <= count) await make();
    };
    await Promise.all(Array.from({ length: Math.min(CALLS_AT_ONCE, count) }, make));
    const step = Math.ceil(keys.length / SAMPLE_MAX);
    const some = keys.filter((_, index) => index % step === 0);
    await report(
      running,
      some.map((key) => toChat(`authorization: Bearer ${key}\r\n`, running.model)),
      UNARY,
    );
  });
}

async function growModels(count: number): Promise<void> {
  await withLockport(async (running) => {
    const aliases = Array.from({ length: count }, (_, index) => `model-${index}`);
    const make = async (from: number): Promise<void> => {
      for (let index = from; index < aliases.length; index += CALLS_AT_ONCE) {
        const alias = aliases[index];
        await running.ask("/admin/v1/models", {
          alias,
          provider: "bench",
          upstream_name: alias,
          pricing: PRICING,
        });
      }
    };
    await Promise.all(Array.from({ length: CALLS_AT_ONCE }, (_, index) => make(index)));
    await report(
      running,
      aliases.map((alias) => toChat(running.headers, alias)),
      UNARY,
    );
  });
}

async function growBody(sizeBytes: number): Promise<void> {
  await withLockport(async (running) => {
    const connections = sizeBytes > 1_000_000 ? 2 : 16;
    await report(running, [toChat(running.headers, running.model, sizeBytes)], {
      connections,
      seconds: SECONDS,
    });
  });
}

async function growEvents(events: number): Promise<void> {
  if (events === 0)
    return withLockport((running) => report(running, [toChat(running.headers, running.model)], UNARY));
  const home = options.keep ?? scratch;
  mkdirSync(home, { recursive: true });
  const filled = await fill(join(home, String(events)), { events, seed: SEED, untilUs: Date.now() * 1000 });
  const dataDir = join(scratch, "copy");
  const copied = Bun.spawnSync(["cp", "-r", "--reflink=auto", filled.dataDir, dataDir], {
    stderr: "inherit",
  });
  if (copied.exitCode !== 0) throw new Error("the folder could not be copied");
  try {
    await withLockport(
      (running) => report(running, [toChat(running.headers, running.model)], UNARY),
      dataDir,
    );
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
