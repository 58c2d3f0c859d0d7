/**
 * What recording costs, in two parts. Paced: processor time per event on the data plane's thread and on the writer's, with
 * all threads on one core, at a steady rate, as under load (Linux; wants taskset). Bulk: events per second into usage.db
 * and bytes per event on disk, as fast as they come. Run: bun bench/ledger.ts [bulk events=1000000]
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "#kernel/clock.ts";
import { createLog } from "#kernel/log.ts";
import { filterBy } from "#stats/filter.ts";
import type { UsageEnding, UsageBeginning } from "#usage/event.ts";
import type { OpenUsage, UsageLedger } from "#usage/store.ts";
import { openLedger } from "../tests/support/ledger.ts";

const eventCount = Number(process.argv[2] ?? 1_000_000);
const SPREAD_DAYS = 90;
const BATCH = 500;
/** One object, as a catalog hands it out. */
const PRICES = { input_tokens: 2_500_000, output_tokens: 10_000_000, cached_input_tokens: 1_250_000 };
const PACED_EVENTS = 60_000;
const PACED_PER_SECOND = 20_000;
/** Requests under way at once: one more ends the oldest. */
const PACED_OPEN = 64;

if (process.argv[3] === "paced") {
  await measurePaced(Number(process.argv[2]));
  process.exit();
}
for (const combinationCount of [1, 200]) {
  const script = [process.execPath, import.meta.path, String(combinationCount), "paced"];
  const pin = Bun.which("taskset") === null ? [] : ["taskset", "-c", "1"];
  Bun.spawnSync([...pin, ...script], { stdio: ["ignore", "inherit", "inherit"] });
}
if (eventCount > 0) await measureBulk();

/** As fast as they come, spread over days and callers. */
async function measureBulk(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "lockport-bench-"));
  const startUs = Date.UTC(2026, 0, 1) * 1000;
  const stepUs = Math.floor((SPREAD_DAYS * 86_400e6) / eventCount);
  let nowUs = startUs;
  const clock: Clock = { nowUs: () => nowUs, monotonicMs: () => performance.now() };
  const log = createLog({
    level: "warn",
    json: false,
    write: (line) => process.stderr.write(line),
    timestamp: () => "",
  });
  const opened = await openLedger({ dataDir, clock, log, sync: "interval", retentionDays: null });

  const random = createRandom();
  const combinations = toCombinations(random, 1200);

  let busyMs = 0;
  const startedMs = performance.now();
  for (let index = 0; index < eventCount;) {
    const batch = Array.from({ length: Math.min(BATCH, eventCount - index) }, (_, at) => ({
      subject: {
        ...combinations[random(combinations.length)]!,
        arrivedAtUs: startUs + (index + at) * stepUs + random(stepUs),
      },
      ending: toEnding(random),
    }));
    const beganMs = performance.now();
    for (const { subject, ending: end } of batch) void opened.ledger.open(subject).end(end);
    busyMs += performance.now() - beganMs;
    index += batch.length;
    await Bun.sleep(0);
  }
  const journaledMs = performance.now() - startedMs;
  await opened.ledger.flush();
  const committedMs = performance.now() - startedMs;
  const sizeBytes = statSync(join(dataDir, "usage.db")).size + statSync(join(dataDir, "usage.db-wal")).size;
  nowUs = startUs + SPREAD_DAYS * 86_400e6;
  await opened.maintain();
  const sealedMs = performance.now() - startedMs - committedMs;

  const query = {
    window: { sinceUs: null, untilUs: null },
    filter: filterBy({ models: ["model-7"] }),
    providers: { include: null, exclude: [] },
    principalId: null,
  };
  const listedMs: number[] = [];
  for (const offset of [0, 0, 0, 5000]) {
    const beganMs = performance.now();
    await opened.stats.listRequests(query, { limit: 100, offset });
    listedMs.push(Math.round((performance.now() - beganMs) * 10) / 10);
  }
  await opened.close();
  const closedBytes = statSync(join(dataDir, "usage.db")).size;
  rmSync(dataDir, { recursive: true });

  console.log({
    events: eventCount,
    mainMicrosPerOpenAndEnd: Math.round((busyMs / eventCount) * 1e5) / 100,
    journaledPerSecond: Math.round(eventCount / (journaledMs / 1000)),
    committedPerSecond: Math.round(eventCount / (committedMs / 1000)),
    bytesPerEvent: Math.round((sizeBytes / eventCount) * 10) / 10,
    bytesPerEventSealed: Math.round((closedBytes / eventCount) * 10) / 10,
    sealingMs: Math.round(sealedMs),
    filteredPageMs: listedMs,
  });
}

type Random = (below: number) => number;

function createRandom(): Random {
  let seed = 7;
  return (below) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
}

function toCombinations(random: Random, length: number): UsageBeginning[] {
  return Array.from({ length }, () => toSubject(random));
}

function toSubject(random: Random): UsageBeginning {
  const principal = random(200);
  return {
    arrivedAtUs: 0,
    principalId: `0190c3a1-0000-7000-8000-${String(principal).padStart(12, "0")}`,
    principalName: `principal-${principal}`,
    keyId: `0190c3a2-0000-7000-8000-${String(random(500)).padStart(12, "0")}`,
    relayTokenId: null,
    providerId: `0190c3a3-0000-7000-8000-${String(random(12)).padStart(12, "0")}`,
    model: `model-${random(60)}`,
    upstreamName: `upstream-model-${random(60)}`,
    endpoint: "chat",
    client: `OpenAI/Python 1.${random(50)}.0`,
    tags: [`app:service-${random(60)}`, `env:prod`],
    fixedTags: [],
    streamed: random(2) === 1,
  };
}

function toEnding(random: Random): UsageEnding {
  const [input, output, cached] = [random(8000), random(1500), random(4000)];
  return {
    statusCode: 200,
    outcome: "ok",
    errorKind: null,
    durationUs: 200_000 + random(20_000_000),
    timeToFirstByteUs: 100_000 + random(900_000),
    usage: {
      shape: "inclusive",
      quantities: { input_tokens: input, output_tokens: output, cached_input_tokens: cached },
    },
    prices: PRICES,
    costPico: BigInt(input) * 2_500_000n + BigInt(output) * 10_000_000n,
    unpriced: false,
  };
}

/** The same steady stream of calls twice, once into nothing: the difference is what recording costs. */
async function measurePaced(combinationCount: number): Promise<void> {
  const random = createRandom();
  const subjects = toCombinations(random, combinationCount);
  const usages = Array.from({ length: PACED_EVENTS }, () => ({
    subject: { ...subjects[random(combinationCount)]! },
    ending: toEnding(random),
  }));
  const dataDir = mkdtempSync(join(tmpdir(), "lockport-bench-"));
  const opened = await openLedger({
    dataDir,
    clock: { nowUs: () => Date.now() * 1000, monotonicMs: () => performance.now() },
    log: createLog({ level: "warn", json: false, write: console.error, timestamp: () => "" }),
    sync: "interval",
    retentionDays: null,
  });
  const open = { background: () => Promise.resolve(), end: () => Promise.resolve() };
  const nothing = { open: () => open };
  const cpuMicros: Record<"idle" | "recording", ReadonlyMap<string, number>>[] = [];
  // The first round warms up.
  for (let round = 0; round < 2; round += 1) {
    const idle = await measureThreads(() => pace(nothing, usages));
    const recording = await measureThreads(async () => {
      await pace(opened.ledger, usages);
      await opened.ledger.flush();
    });
    cpuMicros.push({ idle, recording });
  }
  await opened.close();
  rmSync(dataDir, { recursive: true });
  const { idle, recording } = cpuMicros.at(-1)!;
  const perEvent = (thread: string) =>
    Math.round((((recording.get(thread) ?? 0) - (idle.get(thread) ?? 0)) / PACED_EVENTS) * 100) / 100;
  console.log({
    combinations: combinationCount,
    perSecond: PACED_PER_SECOND,
    mainCpuMicrosPerEvent: perEvent("main"),
    workerCpuMicrosPerEvent: perEvent("Worker"),
    otherCpuMicrosPerEvent: perEvent("other"),
  });
}

async function pace(
  ledger: { open: UsageLedger["open"] },
  usages: readonly { readonly subject: UsageBeginning; readonly ending: UsageEnding }[],
): Promise<void> {
  const startedMs = performance.now();
  const startedUs = Date.now() * 1000;
  const open: { readonly usage: OpenUsage; readonly ending: UsageEnding }[] = [];
  for (let index = 0; index < usages.length;) {
    const due = Math.min(usages.length, ((performance.now() - startedMs) / 1000) * PACED_PER_SECOND);
    for (; index < due; index += 1) {
      const { subject, ending } = usages[index]!;
      const arrivedAtUs = startedUs + Math.floor((index * 1e6) / PACED_PER_SECOND);
      open.push({ usage: ledger.open({ ...subject, arrivedAtUs }), ending });
      const oldest = open.length > PACED_OPEN ? open.shift() : undefined;
      if (oldest !== undefined) await oldest.usage.end(oldest.ending);
    }
    await Bun.sleep(1);
  }
  await Promise.all(open.map(({ usage, ending }) => usage.end(ending)));
}

/** Processor time in microseconds by kind of thread: `main`, `Worker`, `other`. */
async function measureThreads(work: () => Promise<void>): Promise<ReadonlyMap<string, number>> {
  const before = readThreads();
  await work();
  return new Map([...readThreads()].map(([thread, micros]) => [thread, micros - (before.get(thread) ?? 0)]));
}

function readThreads(): ReadonlyMap<string, number> {
  const micros = new Map<string, number>();
  for (const id of readdirSync("/proc/self/task")) {
    const name = readFileSync(`/proc/self/task/${id}/comm`, "utf8").trim();
    const thread = Number(id) === process.pid ? "main" : name === "Worker" ? name : "other";
    // The first figure is the time on a processor in nanoseconds (kernel: Documentation/scheduler/sched-stats.rst).
    const [nanos] = readFileSync(`/proc/self/task/${id}/schedstat`, "utf8").split(" ");
    micros.set(thread, (micros.get(thread) ?? 0) + Number(nanos) / 1000);
  }
  return micros;
}
