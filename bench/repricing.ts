/**
 * Re-pricings of a year of usage beside requests: how long the dry run, applying and reverting take, how much slower requests are
 * meanwhile, and how long the writer stops.
 *
 *   npm run -s build && bun bench/repricing.ts          10 million events; needs two quiet cores and 3 GB under /tmp
 *   bun bench/repricing.ts --sizes 1000000 --keep /var/tmp/filled
 *                                                leaves the filled folders there, and uses those that it finds
 *   bun bench/repricing.ts --postgres postgres://lockport@127.0.0.1/lockport
 *                                                on a copy in PostgreSQL, in a schema of its own that it leaves there, as it was
 *
 * A copy of the folder is what is changed. Every model gets other prices, so that each event with usage changes. Needs taskset
 * and gcc.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { LOAD, type Observed, SteadyRequests } from "./beside.ts";
import { type CommitDelays, CommitWatch } from "./commit-watch.ts";
import { BINARY, createAsk, freePort, readResidentMb, serve } from "./executable.ts";
import { copyFilled, fill, type Filled } from "./fill.ts";
import { copyToPostgres } from "./postgres-copy.ts";
import { below, createTable, percentile, toFigure, type Cell } from "./table.ts";
import { startUpstream } from "./wire.ts";

const SEED = 7;
const MODELS = 60;
/** Rounds of requests beside nothing, before and after. */
const QUIET_ROUNDS = 8;
const LOOK_INTERVAL_MS = 50;
/** Events are written in batches, each so long after the first event that waits for it. */
const BATCH_INTERVAL_MS = 150;

const GOALS = { planSeconds: 15, applySeconds: 120, slower: 1.2, stopMs: 150 };

const { values: options } = parseArgs({
  options: {
    sizes: { type: "string", default: "10000000" },
    keep: { type: "string" },
    binary: { type: "string", default: BINARY },
    postgres: { type: "string" },
  },
});

interface Repricing {
  readonly id: string;
  readonly state: string;
  readonly failure?: string;
  readonly total: {
    readonly requests: number;
    readonly cost_before: number;
    readonly cost_after: number;
  } | null;
}

/** What was seen while something went on. */
interface Phase extends Observed {
  readonly delays: CommitDelays;
}

const scratch = mkdtempSync(join(tmpdir(), "lockport-bench-repricing-"));
const home = options.keep ?? join(scratch, "filled");
mkdirSync(home, { recursive: true });
process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const table = createTable();
const untilUs = Date.now() * 1000;
const engine = options.postgres === undefined ? "SQLite" : "PostgreSQL";
console.log(
  `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before, Bun ${Bun.version}, ${engine}`,
);
const sizes = options.sizes.split(",").map(Number);
const upstream = await startUpstream();
for (const events of sizes) {
  const filled = await fill(join(home, String(events)), { events, seed: SEED, untilUs });
  await measure(filled);
}
await upstream.stop();
table.print(
  `Re-pricing beside ${LOAD.rate} requests/s`,
  sizes.map((events) => `${events / 1e6} M`),
);
process.exit(0);

async function measure(filled: Filled): Promise<void> {
  const { postgres, binary } = options;
  const port = freePort();
  const place =
    postgres === undefined
      ? { dataDir: copyFilled(filled, scratch).dataDir, settings: {} }
      : await copyToPostgres(filled, { url: postgres, binary, scratch });
  const server = await serve(binary, place.dataDir, port, place.settings);
  const ask = createAsk(server.origin, filled.admin.key);
  const watch =
    "schema" in place && postgres !== undefined
      ? CommitWatch.ofPostgres({ url: postgres, schema: place.schema })
      : CommitWatch.ofSqlite(join(place.dataDir, "usage.db"));
  try {
    const requests = await SteadyRequests.on(server, filled.admin.key, upstream);
    const observe = async (isOver: (rounds: number) => Promise<boolean>): Promise<Phase> => {
      watch.take();
      return { ...(await requests.observe(isOver)), delays: watch.take() };
    };
    const during = async (id: string, ends: string): Promise<Phase & { readonly repricing: Repricing }> => {
      let repricing = await ask<Repricing>(`/admin/v1/repricing/${id}`);
      const isOver = () =>
        repricing.state === "failed" || (repricing.state === ends && repricing.total !== null);
      const phase = await observe(async () => {
        if (!isOver()) repricing = await ask<Repricing>(`/admin/v1/repricing/${id}`);
        return isOver();
      });
      if (repricing.state !== ends) throw new Error(`it ended as ${repricing.state}: ${repricing.failure}`);
      return { ...phase, repricing };
    };
    const readCost = async () => {
      const { series } = await ask<{ series: { cost: number | null }[] }>("/stats/series?bucket=month");
      return series.reduce((sum, { cost }) => sum + (cost ?? 0), 0);
    };
    const quiet = () => observe(async (rounds) => rounds >= QUIET_ROUNDS - 1);

    // For some seconds after a start its writer reads what an earlier server may still write.
    while (watch.take().events === 0) await Bun.sleep(LOOK_INTERVAL_MS);
    const before = await quiet();
    const costBefore = await readCost();
    const planned = await ask<Repricing>("/admin/v1/repricing", { prices: toPrices(), dry_run: true });
    const plan = await during(planned.id, "planned");
    await ask(`/admin/v1/repricing/${planned.id}/apply`, {});
    const apply = await during(planned.id, "applied");
    const costAfter = await readCost();
    await ask(`/admin/v1/repricing/${planned.id}/revert`, {});
    const revert = await during(planned.id, "reverted");
    const after = await quiet();
    checkCosts(plan.repricing, { costBefore, costAfter, costReverted: await readCost() });

    const none = [...before.p99Us, ...after.p99Us];
    table.report("events that change", toCount(plan.repricing.total?.requests ?? 0));
    reportPhase("dry run", plan, none, GOALS.planSeconds);
    reportPhase("apply", apply, none, GOALS.applySeconds);
    reportPhase("revert", revert, none, null);
    table.report("requests beside nothing, p50 / p99", toLatency([...before.p50Us, ...after.p50Us], none));
    const quietMs = Math.max(before.delays.maxMs, after.delays.maxMs);
    table.report("event's end to its commit beside nothing, longest", toMs(quietMs));
    table.report("resident at the end", toCount(readResidentMb(server.pid), " MB"));
  } finally {
    await watch.close();
    await server.stop();
  }
}

function reportPhase(name: string, phase: Phase, none: readonly number[], goalSeconds: number | null): void {
  const { seconds, cpuSeconds, p50Us, p99Us, delays } = phase;
  const ratio = percentile(p99Us, 0.5) / percentile(none, 0.5);
  const stopMs = Math.max(delays.maxMs - BATCH_INTERVAL_MS, 0);
  const text = `${toFigure(seconds)} s`;
  table.report(
    name,
    { text, figure: seconds },
    goalSeconds === null ? null : below(seconds, goalSeconds, " s"),
  );
  table.report(`${name}: processor time of the server`, {
    text: `${toFigure(cpuSeconds)} s`,
    figure: cpuSeconds,
  });
  table.report(`${name}: requests, p50 / p99`, toLatency(p50Us, p99Us));
  table.report(
    `${name}: p99 of requests against none`,
    { text: `× ${ratio.toFixed(2)}`, figure: ratio },
    below(ratio, GOALS.slower, " ×"),
  );
  table.report(`${name}: event's end to its commit, p99`, toMs(delays.p99Ms));
  table.report(`${name}: writer stopped, longest`, toMs(stopMs), below(stopMs, GOALS.stopMs, " ms"));
}

/** Medians of rounds. */
function toLatency(p50Us: readonly number[], p99Us: readonly number[]): Cell {
  const [p50, p99] = [percentile(p50Us, 0.5) / 1000, percentile(p99Us, 0.5) / 1000];
  return { text: `${p50.toFixed(2)} / ${p99.toFixed(2)} ms`, figure: p99 };
}

function toMs(ms: number): Cell {
  return { text: `${ms.toFixed(0)} ms`, figure: ms };
}

function toCount(figure: number, unit = ""): Cell {
  return { text: `${figure.toFixed(0)}${unit}`, figure };
}

function toPrices(): object {
  const pricing = { input_tokens: 1.75, output_tokens: 7, cached_input_tokens: 0.35, cache_write_tokens: 2 };
  return Object.fromEntries(Array.from({ length: MODELS }, (_, index) => [`model-${index}`, { pricing }]));
}

/** Reports follow the plan, and a revert takes all of it back. */
function checkCosts(
  { total }: Repricing,
  {
    costBefore,
    costAfter,
    costReverted,
  }: { readonly costBefore: number; readonly costAfter: number; readonly costReverted: number },
): void {
  const difference = (total?.cost_after ?? 0) - (total?.cost_before ?? 0);
  const isNear = Math.abs(costAfter - costBefore - difference) < 1e-6 * Math.abs(costBefore);
  if (!isNear)
    throw new Error(`costs went from ${costBefore} to ${costAfter}, the plan said by ${difference}`);
  if (costReverted !== costBefore) throw new Error(`reverted to ${costReverted}, and it was ${costBefore}`);
}
