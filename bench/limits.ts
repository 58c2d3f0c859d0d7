/**
 * The cost of limits: `bun bench/limits.ts [request] [rebuild] [--keep DIR] [--events 10000000]`. `request`: the gate's
 * part of one request, in process, against a gate without limits. `rebuild`: what a start adds up of a filled ledger, which takes minutes to fill; `--keep` is where
 * filled folders stay, as for `bench/stats.ts`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { HOUR_US } from "#kernel/clock.ts";
import { createLog } from "#kernel/log.ts";
import { Limits } from "#limits/limits.ts";
import { type Limit, LIMIT_WINDOWS } from "#limits/limit.ts";
import type { UseWatch } from "#limits/use-watch.ts";
import { LimitNotices } from "#notices/limit-notices.ts";
import { openForWriting } from "#storage/sqlite/ledger/file/database.ts";
import { sumLimits } from "#storage/reports/limit-sums.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import type { UsageBeginning, UsageEnding } from "#usage/event.ts";
import { LIMIT } from "../tests/limits/limit.ts";
import { fill } from "./fill.ts";
import { below, createTable, percentile } from "./table.ts";

const REQUESTS = 400_000;
const KEYS = 10_000;
const ROUNDS = 5;
const SEED = 7;
const FILLED_UNTIL_US = Date.UTC(2026, 10, 20, 15) * 1000;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { keep: { type: "string" }, events: { type: "string", default: "10000000" } },
});
const isAsked = (name: string) => positionals.length === 0 || positionals.includes(name);
const log = createLog({ level: "error", json: false, write: console.error, timestamp: () => "" });

const SUBJECT: UsageBeginning = {
  arrivedAtUs: 0,
  principalId: "",
  principalName: "",
  keyId: null,
  relayTokenId: null,
  providerId: "provider",
  model: "m",
  upstreamName: "um",
  endpoint: "chat",
  client: "bench",
  tags: ["app:a", "team:b"],
  fixedTags: [],
  streamed: false,
};
const ENDING: UsageEnding = {
  statusCode: 200,
  outcome: "ok",
  errorKind: null,
  durationUs: 1_000,
  timeToFirstByteUs: 900,
  usage: { shape: "inclusive", quantities: { input_tokens: 10, output_tokens: 10 } },
  prices: {},
  costPico: 1_000n,
  unpriced: false,
};

function toLimit(index: number, more: Partial<Limit>): Limit {
  const [id, name] = [`limit-${index}`, `limit ${index}`];
  return { ...LIMIT, id, name, measure: "cost", amount: 10n ** 24n, window: "month", ...more };
}

/** A thousand: some for everybody and each, most for a person, a key or a tag of their own. */
function makeLimits(count: number): readonly Limit[] {
  return Array.from({ length: count }, (_, index) => {
    if (index === 0) return toLimit(index, { each: { kind: "key" }, measure: "requests", window: "minute" });
    if (index === 1) return toLimit(index, { each: { kind: "principal" }, window: "month" });
    if (index === 2) return toLimit(index, { measure: "tokens", window: "day" });
    const window = LIMIT_WINDOWS[index % LIMIT_WINDOWS.length] ?? "day";
    const id = `${index % 3 === 0 ? "principal" : "key"}-${index}`;
    if (index % 3 === 0) return toLimit(index, { subject: { kind: "principal", id, name: id }, window });
    if (index % 3 === 1) return toLimit(index, { subject: { kind: "key", id }, window });
    return toLimit(index, { subject: { kind: "tag", pair: `team:t${index}` }, window });
  });
}

const requests = Array.from({ length: KEYS }, (_, index): UsageBeginning => {
  const principal = `principal-${index % 1_000}`;
  return {
    ...SUBJECT,
    principalId: principal,
    principalName: principal,
    keyId: `key-${index}`,
    tags: ["app:a", `team:t${index % 1_000}`],
  };
});

async function openGate(
  limits: readonly Limit[],
  clock: { nowUs(): number },
  watch: UseWatch | null = null,
): Promise<Limits> {
  const set = { limits };
  const gate = new Limits({
    store: { peek: () => set, snapshot: async () => set },
    ledger: { sumLimits: async () => [] },
    clock: { ...clock, monotonicMs: () => performance.now() },
    log,
    ...(watch !== null && { watch }),
  });
  await gate.follow();
  return gate;
}

function runRequest(gate: Limits, request: UsageBeginning, arrivedAtUs: number): void {
  const begun = { ...request, arrivedAtUs };
  void gate.current(begun);
  gate.admit(begun, () => true);
  gate.began(begun);
  gate.ended(begun, ENDING);
}

/** Microseconds of CPU a request, of all threads of the process; the least of some rounds. */
function time(gate: Limits | null): number {
  let leastUs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    for (let index = 0; index < REQUESTS; index += 1) {
      const request = requests[index % KEYS] ?? SUBJECT;
      if (gate === null) sink({ ...request, arrivedAtUs: nowUs() });
      else runRequest(gate, request, nowUs());
    }
    const { user, system } = process.cpuUsage(before);
    leastUs = Math.min(leastUs, user + system);
  }
  return leastUs / REQUESTS;
}

let kept: UsageBeginning = SUBJECT;
const sink = (request: UsageBeginning) => void (kept = request);
const startUs = Date.now() * 1000;
const nowUs = () => startUs + Math.round(performance.now() * 1000);

async function measureRequest(): Promise<void> {
  const table = createTable();
  const baseUs = time(null);
  for (const count of [0, 10, 1_000]) {
    const gate = await openGate(makeLimits(count), { nowUs });
    const us = time(gate) - baseUs;
    table.report(`µs a request, ${count} limits`, us.toFixed(2), below(us, count === 0 ? 1 : 4, ""));
    gate.close();
  }
  const watched = await openGate(makeLimits(1_000), { nowUs }, new LimitNotices(() => undefined));
  const watchedUs = time(watched) - baseUs;
  table.report("µs a request, 1000 limits and notices", watchedUs.toFixed(2), below(watchedUs, 4, ""));
  watched.close();
  table.print(`the gate's part of one request, ${KEYS} keys`, ["figure"]);
}

async function measureRebuild(events: number): Promise<void> {
  const scratch = options.keep ?? mkdtempSync(join(tmpdir(), "lockport-bench-limits-"));
  try {
    const filled = await fill(join(scratch, `limits-${events}`), {
      events,
      seed: SEED,
      untilUs: FILLED_UNTIL_US,
    });
    const database = openForWriting(join(filled.dataDir, "usage.db"));
    const table = createTable();
    const cases: readonly (readonly [string, readonly Limit[]])[] = [
      ...LIMIT_WINDOWS.map((window) => [`everybody, ${window}`, [toLimit(0, { window })]] as const),
      ["each principal, month", [toLimit(0, { each: { kind: "principal" } })]],
      ["one of each window", LIMIT_WINDOWS.map((window, index) => toLimit(index, { window }))],
      ["1,000 limits", makeLimits(1_000)],
    ];
    for (const [name, limits] of cases) {
      const times: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const startedMs = performance.now();
        readFrom(database, sumLimits({ limits, nowUs: filled.untilUs - HOUR_US / 2 }));
        times.push(performance.now() - startedMs);
      }
      const leastMs = Math.min(...times);
      table.report(
        `ms, ${name}`,
        `${leastMs.toFixed(1)} (${percentile(times, 0.5).toFixed(1)})`,
        below(leastMs, 100, ""),
      );
    }
    table.print("what a start adds up: least (median) of five", [`${events} events`]);
    database.close();
  } finally {
    if (options.keep === undefined) rmSync(scratch, { recursive: true, force: true });
  }
}

if (isAsked("request")) await measureRequest();
if (isAsked("rebuild")) await measureRebuild(Number(options.events));
if (isAsked("request") && kept === SUBJECT) console.error("no request was timed without a gate");
