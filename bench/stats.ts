/**
 * Reports over a year of usage: how long they take at one and at ten million events, what a ledger of that size costs on
 * disk, and what reports, retention and sealing cost those who write and those who are proxied.
 *
 *   npm run bench:stats                          everything at both sizes; needs two quiet cores and 3 GB under /tmp
 *   bun bench/stats.ts --sizes 1000000 --only questions --match facets
 *   bun bench/stats.ts --keep /var/tmp/filled    leaves the filled folders there, and uses those that it finds
 *   bun bench/stats.ts --only questions --postgres postgres://lockport@127.0.0.1/lockport
 *                                                asks a copy in PostgreSQL, in schemas of its own that it leaves there
 *
 * Parts (`--only`, several times): questions, sustain, proxied, retention. Bounded in time; nothing else is left behind.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BINARY, readResidentMb, serve } from "./executable.ts";
import { fill, type Filled } from "./fill.ts";
import { measureProxied } from "./proxied.ts";
import { copyToPostgres } from "./postgres.ts";
import { measurePruning } from "./prune.ts";
import { checkAnswers, measureQuestion, toQuestions, type Timing } from "./questions.ts";
import { sustain, type Sustained } from "./sustain.ts";
import { below, createTable, percentile, toFigure, type Cell } from "./table.ts";

const BASE_PORT = 18_300;
const SEED = 7;
const BYTES_PER_EVENT_GOAL = 60;
const PAUSE_GOAL_MS = 150;
const WRITER_PER_SECOND = 20_000;
/** A second's events may wait in the journal. */
const BACKLOG_GOAL = WRITER_PER_SECOND;
const DRAIN_GOAL_MS = 1_000;
const RETENTION_DAYS = 90;
const RETENTION_EVENTS = 1_000_000;
const RETENTION_PER_SECOND = 2_000;
const RETENTION_SECONDS_MAX = 10;
const PROXIED_PER_SECOND = 500;
const PROXIED_ROUNDS = 6;
/** Two pages of five or six reports each, read anew every two seconds or so. */
const REPORTS_PER_SECOND = 5;
/** The runtime closes a connection that was never used after 12 s: a burst would be sent on one that is being closed. */
const PROXIED_SECONDS_MAX = 8;
const PROXIED_GOAL = 1.2;

const { values: options } = parseArgs({
  options: {
    sizes: { type: "string", default: "1000000,10000000" },
    only: { type: "string", multiple: true, default: ["questions", "sustain", "proxied", "retention"] },
    match: { type: "string", default: "" },
    runs: { type: "string", default: "20" },
    seconds: { type: "string", default: "60" },
    keep: { type: "string" },
    binary: { type: "string", default: BINARY },
    postgres: { type: "string" },
  },
});
const runs = Number(options.runs);
const seconds = Number(options.seconds);
const isAsked = (part: string) => options.only.includes(part);

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
  const filled = await fillFolder(events);
  folders.push(filled);
  reportFilling(filled);
  if (isAsked("questions")) await askAll(filled);
}
table.print(`Reports: p50 / p95 / max in ms of ${runs} runs, and the answer's size`, folders.map(toTitle));
const largest = folders.at(-1);
if (largest !== undefined && isAsked("sustain")) await reportSustained(largest);
if (largest !== undefined && isAsked("proxied")) await reportProxied(largest);
if (isAsked("retention")) await reportRetention();
process.exit(0);

function fillFolder(events: number): Promise<Filled> {
  return fill(join(home, String(events)), { events, seed: SEED, untilUs });
}

function toTitle({ events }: Filled): string {
  return `${events / 1e6} M`;
}

function reportFilling({
  events,
  secondsInAll,
  writerSeconds,
  sizeBytes,
  combinations,
  sealing,
}: Filled): void {
  const rate = (inSeconds: number): Cell => toCount(events / inSeconds);
  table.report("filled, events a second", rate(secondsInAll));
  table.report("of it the writer, events a second", rate(writerSeconds));
  table.report("combinations", toCount(combinations));
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

function toCount(figure: number): Cell {
  return { text: figure.toFixed(0), figure };
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

/** Works on a copy: a kept folder stays as it was filled. */
async function withCopy(filled: Filled, work: (copy: Filled) => Promise<void>): Promise<void> {
  const dataDir = join(scratch, "copy");
  const copied = Bun.spawnSync(["cp", "-r", "--reflink=auto", filled.dataDir, dataDir], {
    stderr: "inherit",
  });
  try {
    if (copied.exitCode !== 0) throw new Error("the folder could not be copied");
    await work({ ...filled, dataDir });
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function reportSustained(filled: Filled): Promise<void> {
  for (const asks of [false, true]) {
    await withCopy(filled, async ({ dataDir }) => {
      const shape = { perSecond: WRITER_PER_SECOND, seconds, asks, retentionDays: null };
      reportWriting(asks ? "while reports are made" : "alone", await sustain(dataDir, shape));
    });
  }
  table.print(`Writing ${WRITER_PER_SECOND} events/s for ${seconds} s on ${toTitle(filled)}`, ["seen"]);
}

function reportWriting(circumstance: string, seen: Sustained): void {
  const { perSecond, backlog, drainMs, pauseMs, walMegabytesMax, questions } = seen;
  table.report(`recorded, events a second, ${circumstance}`, toCount(perSecond));
  table.report(
    `waiting in the journal, events, ${circumstance}`,
    `p50 ${backlog.p50}, p99 ${backlog.p99}, max ${backlog.max}, at the end ${backlog.atEnd}`,
    below(backlog.max, BACKLOG_GOAL, ""),
  );
  table.report(
    `all committed after the last event, ${circumstance}`,
    toMs(drainMs),
    below(drainMs, DRAIN_GOAL_MS, " ms"),
  );
  table.report(
    `between two commits, ${circumstance}`,
    `p99 ${toFigure(pauseMs.p99)}, max ${toFigure(pauseMs.max)} ms`,
  );
  table.report(`write-ahead log at its largest, ${circumstance}`, `${walMegabytesMax.toFixed(0)} MB`);
  for (const [name, times] of questions) {
    const figures = [percentile(times, 0.5), percentile(times, 0.95), Math.max(...times)].map(toFigure);
    table.report(`meanwhile, in process: ${name}`, `${figures.join(" / ")} ms, ${times.length} times`);
  }
}

/** At the pace of two open pages, which is what the goal is held to, and then as fast as one asker can. */
async function reportProxied(filled: Filled): Promise<void> {
  for (const reportsPerSecond of [REPORTS_PER_SECOND, Number.POSITIVE_INFINITY]) {
    await withCopy(filled, async (copy) => reportRounds(copy, reportsPerSecond));
    const pace = Number.isFinite(reportsPerSecond)
      ? `${reportsPerSecond} reports/s`
      : "reports without a pause";
    table.print(`Proxied requests at ${PROXIED_PER_SECOND}/s and ${pace} on ${toTitle(filled)}, in turns`, [
      "seen",
    ]);
  }
}

async function reportRounds(filled: Filled, reportsPerSecond: number): Promise<void> {
  const rounds = await measureProxied(options.binary, filled, {
    port: BASE_PORT + 10,
    perSecond: PROXIED_PER_SECOND,
    seconds: Math.min(PROXIED_SECONDS_MAX, seconds),
    rounds: PROXIED_ROUNDS,
    reportsPerSecond,
  });
  const [alone, asking] = [false, true].map((is) => rounds.filter((round) => round.isAsking === is));
  if (alone === undefined || asking === undefined) throw new Error("no rounds");
  const list = (figures: readonly number[]) => figures.map((figure) => figure.toFixed(2)).join(" ");
  for (const [name, of] of [
    ["alone", alone],
    ["while reports are made", asking],
  ] as const) {
    table.report(`p50, ${name}`, `${list(of.map(({ p50 }) => p50))} ms`);
    table.report(`p99, ${name}`, `${list(of.map(({ p99 }) => p99))} ms`);
  }
  table.report("reports a second meanwhile", list(asking.map((round) => round.answersPerSecond)));
  const median = (of: typeof rounds) =>
    percentile(
      of.map(({ p99 }) => p99),
      0.5,
    );
  const ratio = median(asking) / median(alone);
  const isHeld = Number.isFinite(reportsPerSecond);
  table.report(
    "p99, ratio of the medians",
    ratio.toFixed(2),
    isHeld ? below(ratio, PROXIED_GOAL, "") : undefined,
  );
}

async function reportRetention(): Promise<void> {
  const filled = await fillFolder(RETENTION_EVENTS);
  await withCopy(filled, async ({ dataDir }) => {
    const { slices, p99Ms, maxMs, secondsInAll } = measurePruning(dataDir, filled.untilUs, RETENTION_DAYS);
    table.report(
      "longest slice",
      `${toFigure(maxMs)} ms, p99 ${toFigure(p99Ms)}, ${slices} slices in ${secondsInAll.toFixed(1)} s`,
      below(maxMs, PAUSE_GOAL_MS, " ms"),
    );
  });
  for (const retentionDays of [null, RETENTION_DAYS]) {
    await withCopy(filled, async ({ dataDir }) => {
      const { pauseMs } = await sustain(dataDir, {
        perSecond: RETENTION_PER_SECOND,
        seconds: Math.min(RETENTION_SECONDS_MAX, seconds),
        asks: false,
        retentionDays,
      });
      table.report(
        `between two commits, ${RETENTION_PER_SECOND} events/s, ${retentionDays === null ? "no retention" : "rows are removed"}`,
        `max ${toFigure(pauseMs.max)} ms, p99 ${toFigure(pauseMs.p99)}`,
        below(pauseMs.max, PAUSE_GOAL_MS, " ms"),
      );
    });
  }
  table.print(`Retention: ${RETENTION_DAYS} of 365 days stay of ${toTitle(filled)}`, ["seen"]);
}
