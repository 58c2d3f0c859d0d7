/**
 * What recording costs: microseconds per open and end on the data plane's thread, events per second into usage.db, bytes
 * per event on disk. Run: bun bench/ledger.ts [events=1000000]
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "#kernel/clock.ts";
import { createLog } from "#kernel/log.ts";
import { openLedger } from "#storage/sqlite/usage/ledger.ts";
import type { UsageEnding, UsageSubject } from "#usage/event.ts";

const eventCount = Number(process.argv[2] ?? 1_000_000);
const SPREAD_DAYS = 90;
const BATCH = 500;

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

let seed = 7;
const random = (below: number) => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
};
const combinations = Array.from({ length: 1200 }, (): UsageSubject => {
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
    streamed: random(2) === 1,
  };
});

const ending = (): UsageEnding => {
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
      cacheCreationTokens: null,
    },
    prices: { input_tokens: 2_500_000, output_tokens: 10_000_000, cached_input_tokens: 1_250_000 },
    costPico: BigInt(input) * 2_500_000n + BigInt(output) * 10_000_000n,
    unpriced: false,
  };
};

let busyMs = 0;
const startedMs = performance.now();
for (let index = 0; index < eventCount;) {
  const batch = Array.from({ length: Math.min(BATCH, eventCount - index) }, (_, at) => ({
    subject: {
      ...combinations[random(combinations.length)]!,
      arrivedAtUs: startUs + (index + at) * stepUs + random(stepUs),
    },
    ending: ending(),
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
  filter: {
    principal: null,
    keyId: null,
    model: "model-7",
    clientPrefix: null,
    tags: [],
    outcomes: null,
  },
  providers: { include: null, exclude: [] },
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
