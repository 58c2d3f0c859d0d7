/**
 * Reports over a year of usage: how long they take at one and at ten million events, and what a ledger of that size costs
 * on disk and to seal.
 *
 *   npm run bench:stats                          both sizes; needs two quiet cores and 3 GB under /tmp
 *   bun bench/stats.ts --sizes 1000000 --match facets
 *   bun bench/stats.ts --keep /var/tmp/filled    leaves the filled folders there, and uses those that it finds
 *   bun bench/stats.ts --postgres postgres://lockport@127.0.0.1/lockport
 *                                                asks a copy in PostgreSQL, in schemas of its own that it leaves there
 *                                                and uses again for a folder that was kept
 *
 * Bounded in time; nothing else is left behind.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { measureBesideReports } from "./beside.ts";
import { BINARY, readResidentMb, serve } from "./executable.ts";
import { copyFilled, fill, type Filled } from "./fill.ts";
import { copyToPostgres } from "./postgres-copy.ts";
import { checkAnswers, measureQuestion, toQuestions, type Timing } from "./questions.ts";
import { below, createTable, toFigure, type Cell } from "./table.ts";

const BASE_PORT = 18_300;
const SEED = 7;
const BYTES_PER_EVENT_GOAL = 60;
const PAUSE_GOAL_MS = 150;
const BESIDE = "requests beside reports";
const BESIDE_GOAL = 1.2;

const { values: options } = parseArgs({
  options: {
    sizes: { type: "string", default: "1000000,10000000" },
    match: { type: "string", default: "" },
    runs: { type: "string", default: "20" },
    keep: { type: "string" },
    binary: { type: "string", default: BINARY },
    postgres: { type: "string" },
  },
});
const runs = Number(options.runs);

const scratch = mkdtempSync(join(tmpdir(), "lockport-bench-stats-"));
const home = options.keep ?? scratch;
mkdirSync(home, { recursive: true });
// One instant for all sizes; what was filled before has its own.
const untilUs = Date.now() * 1000;
const table = createTable();
// Also when it is interrupted.
process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

console.log(
  `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores, Bun ${Bun.version}`,
);
const folders: Filled[] = [];
for (const events of options.sizes.split(",").map(Number)) {
  const filled = await fill(join(home, String(events)), { events, seed: SEED, untilUs });
  folders.push(filled);
  reportFilling(filled);
  await askAll(filled);
  if (options.postgres === undefined && BESIDE.includes(options.match)) await reportBeside(filled);
}
table.print(
  `Reports: p50 / p95 / max in ms of ${runs} runs, and the answer's size`,
  folders.map(({ events }) => `${events / 1e6} M`),
);
process.exit(0);

function reportFilling({ events, sizeBytes, sealing }: Filled): void {
  const perEvent = sizeBytes / events;
  table.report(
    "usage.db, bytes an event",
    { text: perEvent.toFixed(1), figure: perEvent },
    below(perEvent, BYTES_PER_EVENT_GOAL, ""),
  );
  const { meanMs, maxMs } = sealing;
  table.report(
    "sealing a day, longest pause of writes",
    { text: `${maxMs.toFixed(0)} ms, mean ${meanMs.toFixed(0)}`, figure: meanMs },
    below(maxMs, PAUSE_GOAL_MS, " ms"),
  );
}

async function askAll(filled: Filled): Promise<void> {
  const { postgres, binary } = options;
  const { dataDir, settings } =
    postgres === undefined
      ? { dataDir: filled.dataDir, settings: {} }
      : await copyToPostgres(filled, { url: postgres, binary, scratch });
  const server = await serve(binary, dataDir, BASE_PORT, settings);
  try {
    table.report("listening after start", toMs(server.listeningMs));
    await checkAnswers(server.origin, filled);
    for (const question of toQuestions(filled, postgres === undefined ? "sqlite" : "postgres")) {
      if (!question.name.includes(options.match)) continue;
      const timing = await measureQuestion(server.origin, question, runs);
      const p50 = typeof timing === "string" ? Number.POSITIVE_INFINITY : timing.p50;
      table.report(
        question.name,
        toTimingCell(timing),
        question.goalMs === null ? null : below(p50, question.goalMs, " ms"),
      );
    }
    const residentMb = readResidentMb(server.pid);
    table.report("resident after all of it", { text: `${residentMb.toFixed(0)} MB`, figure: residentMb });
  } finally {
    await server.stop();
  }
}

/** On a copy, whose answers nothing checks afterwards. */
async function reportBeside(filled: Filled): Promise<void> {
  const { binary } = options;
  const { p99Ms, p99AloneMs, ratio, reportsPerSecond, refusal } = await measureBesideReports(
    copyFilled(filled, scratch),
    { binary, seed: SEED },
  );
  if (refusal !== null) return table.report(BESIDE, refusal);
  const list = (values: readonly number[]) => values.map(toFigure).join(" ");
  table.report(
    `${BESIDE}, p99 of each round`,
    `${list(p99Ms)} ms (${reportsPerSecond.toFixed(1)} reports/s)`,
  );
  table.report("requests alone, p99 of each round", `${list(p99AloneMs)} ms`);
  const cell = { text: `× ${ratio.toFixed(2)}`, figure: ratio };
  table.report(`${BESIDE}, p99 against alone`, cell, below(ratio, BESIDE_GOAL, " ×"));
}

function toMs(ms: number): Cell {
  return { text: `${toFigure(ms)} ms`, figure: ms };
}

function toTimingCell(timing: Timing | string): Cell | string {
  if (typeof timing === "string") return timing;
  const { p50, p95, max, sizeBytes } = timing;
  const times = [p50, p95, max].map(toFigure).join(" / ");
  return { text: `${times} (${(sizeBytes / 1000).toFixed(0)} kB)`, figure: p50 };
}
