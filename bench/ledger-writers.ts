/**
 * How many events a second the writers of several replicas bring into one PostgreSQL, each from its own journal, decoding and
 * totals included: processes of their own, and a server with `fsync`. The journals are filled before the clock runs.
 * Run: bun bench/ledger-writers.ts [writers=2] [seconds=30]
 */
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { segmentPath } from "#storage/journal/segments.ts";
import { migrate } from "#storage/postgres/connection/migrate.ts";
import { openPostgres } from "#storage/postgres/connection/postgres.ts";
import { runStep } from "#storage/postgres/ledger/maintenance.ts";
import { makePartitions } from "#storage/postgres/ledger/partitions.ts";
import { PostgresWriter } from "#storage/postgres/ledger/postgres-writer.ts";
import { UsageWriter } from "#storage/writer/writer.ts";
import type { UsageBeginning, UsageEnding } from "#usage/event.ts";
import { JournalEncoder } from "#usage/journal-encoder.ts";
import { LineBuffer } from "#usage/line-buffer.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { createChance, createZipf } from "./chance.ts";
import { silentLog } from "./population.ts";

const SCHEMA = "lockport";
const COMBINATIONS = 1_200;
/** Few callers make most of the requests, as `bench/fill.ts` has it. */
const POPULARITY = 1.1;
/** What no writer reaches: each has more to do until the end. */
const PER_WRITER_PER_SECOND = 60_000;
const SEGMENT_BYTES = 8 * 1024 * 1024;
/** One object, as a catalog hands it out. */
const PRICES = { input_tokens: 2_500_000, output_tokens: 10_000_000, cached_input_tokens: 1_250_000 };

if (process.argv[2] === "write") await write();
else await measure(Number(process.argv[2] ?? 2), Number(process.argv[3] ?? 30));

async function measure(writers: number, seconds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "lockport-bench-"));
  await using server = await startPostgres({
    fsync: true,
    settings: { shared_buffers: "512MB", max_wal_size: "8GB", autovacuum_naptime: "1min" },
  });
  const database = await openPostgres({
    target: { url: server.url, schema: SCHEMA },
    purpose: "bench",
    connectionsMax: 2,
    callMsMax: 60_000,
    log: silentLog,
  });
  await migrate(database);
  while (await runStep(database, () => makePartitions(toStartUs())));
  const lanes = Array.from({ length: writers }, (_, index) => index + 1);
  for (const lane of lanes) {
    await database.run("INSERT INTO spool (lane, id, run) VALUES ($1, $2, 1)", [lane, `spool-${lane}`]);
    fillJournal(join(folder, String(lane)), lane, seconds * PER_WRITER_PER_SECOND);
  }
  const children = lanes.map((lane) =>
    Bun.spawn(
      [process.execPath, import.meta.path, "write", String(lane), join(folder, String(lane)), server.url],
      { stdin: "pipe", stdout: "pipe", stderr: "inherit" },
    ),
  );
  const readers = children.map((child) => child.stdout.getReader());
  for (const reader of readers) await reader.read();
  const [cpuBefore, loadBefore] = [readCpuMs(server.pid), loadavg()[0]];
  const startedMs = performance.now();
  // All begin at the same moment.
  for (const child of children) void child.stdin.write(`${seconds}\n`);
  for (const child of children) void child.stdin.flush();
  const results = await Promise.all(
    readers.map(async (reader): Promise<Written> => {
      const { value } = await reader.read();
      return JSON.parse(new TextDecoder().decode(value));
    }),
  );
  const tookMs = performance.now() - startedMs;
  const serverCpuMs = readCpuMs(server.pid) - cpuBefore;
  await Promise.all(children.map((child) => child.exited));
  const events = results.reduce((sum, { events: count }) => sum + count, 0);
  const writerCpuMs = results.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  const [sums] = await database.all<{ rows: number; days: number; hours: number; bytes: number }>(
    `SELECT (SELECT count(*) FROM event) AS rows, (SELECT sum(requests) FROM open_cell) AS days,
       (SELECT sum(requests) FROM hour_total) AS hours, pg_database_size(current_database()) AS bytes`,
  );
  console.log({
    writers,
    load: loadBefore,
    events,
    perSecond: Math.round(events / (tookMs / 1000)),
    eachPerSecond: results.map(({ events: count, ms }) => Math.round(count / (ms / 1000))),
    batches: results.map(({ batches }) => batches),
    serverCpuMicrosPerEvent: Math.round((serverCpuMs * 10_000) / events) / 10,
    writerCpuMicrosPerEvent: Math.round((writerCpuMs * 10_000) / events) / 10,
    bytesPerEvent: Math.round((sums?.bytes ?? 0) / events),
    // Each event is a row, and counted once in either table of totals.
    isExact: sums?.rows === events && sums.days === events && sums.hours === events,
  });
  await database.close();
  rmSync(folder, { recursive: true });
}

interface Written {
  readonly events: number;
  readonly batches: number;
  readonly ms: number;
  readonly cpuMs: number;
}

/** A replica's writer, in a process of its own. */
async function write(): Promise<void> {
  const [, , , lane, journalDirectory = "", url = ""] = process.argv;
  const database = await openPostgres({
    target: { url, schema: SCHEMA },
    purpose: "writer",
    connectionsMax: 2,
    callMsMax: 10_000,
    log: silentLog,
  });
  let events = 0;
  let batches = 0;
  const writer = new UsageWriter({
    engine: new PostgresWriter({
      postgres: database,
      claim: { id: `spool-${lane}`, lane: Number(lane), run: 1 },
      log: silentLog,
    }),
    journalDirectory,
    onDamage: (damage) => console.error(damage),
    onCommit(commit) {
      events += commit.eventIds.length;
      batches += 1;
    },
  });
  process.stdout.write("ready\n");
  const { value } = await Bun.stdin.stream().getReader().read();
  const seconds = Number(new TextDecoder().decode(value));
  const [startedMs, cpu] = [performance.now(), process.cpuUsage()];
  while (performance.now() - startedMs < seconds * 1000 && (await writer.writeBatch()));
  const { user, system } = process.cpuUsage(cpu);
  const written: Written = {
    events,
    batches,
    ms: performance.now() - startedMs,
    cpuMs: (user + system) / 1000,
  };
  process.stdout.write(JSON.stringify(written));
  writer.close();
  await database.close();
  process.exit();
}

/** Segments as a server writes them, all of one day. */
function fillJournal(directory: string, lane: number, eventCount: number): void {
  mkdirSync(directory, { recursive: true });
  const chance = createChance(lane);
  const pick = createZipf(COMBINATIONS, POPULARITY);
  const subjects = Array.from({ length: COMBINATIONS }, (_, index) => toSubject(index));
  const lines = new LineBuffer(SEGMENT_BYTES);
  const encoder = new JournalEncoder(lines);
  let segment = 1;
  const store = () => {
    appendFileSync(segmentPath(directory, segment), lines.bytes.subarray(0, lines.sizeBytes));
    lines.drop(lines.sizeBytes);
    segment += 1;
  };
  for (let sequence = 1; sequence <= eventCount; sequence += 1) {
    encoder.enter(segment);
    const subject = subjects[pick(chance)] ?? toSubject(0);
    encoder.begin(sequence, { ...subject, arrivedAtUs: toStartUs() + sequence * 25 });
    encoder.end(sequence, toEnding(chance));
    if (lines.sizeBytes >= SEGMENT_BYTES) store();
  }
  store();
}

function toStartUs(): number {
  return Math.floor(Date.UTC(2026, 0, 1)) * 1000;
}

function toSubject(index: number): UsageBeginning {
  return {
    arrivedAtUs: 0,
    principalId: `0190c3a1-0000-7000-8000-${String(index % 200).padStart(12, "0")}`,
    principalName: `principal-${index % 200}`,
    keyId: `0190c3a2-0000-7000-8000-${String(index % 500).padStart(12, "0")}`,
    relayTokenId: null,
    providerId: `0190c3a3-0000-7000-8000-${String(index % 12).padStart(12, "0")}`,
    model: `model-${index % 60}`,
    upstreamName: `upstream-model-${index % 60}`,
    endpoint: "chat",
    client: `OpenAI/Python 1.${index}.0`,
    tags: [`app:service-${index % 60}`, "env:prod"],
    fixedTags: [],
    streamed: index % 2 === 1,
  };
}

function toEnding(chance: () => number): UsageEnding {
  const below = (limit: number) => Math.floor(chance() * limit);
  const [input, output, cached] = [below(8_000), below(1_500), below(4_000)];
  return {
    statusCode: 200,
    outcome: "ok",
    errorKind: null,
    durationUs: 200_000 + below(20_000_000),
    timeToFirstByteUs: 100_000 + below(900_000),
    usage: {
      shape: "inclusive",
      quantities: { input_tokens: input, output_tokens: output, cached_input_tokens: cached },
    },
    prices: PRICES,
    costPico: BigInt(input) * 2_500_000n + BigInt(output) * 10_000_000n,
    unpriced: false,
  };
}

/** Of the server and all its processes, also those that have ended (proc(5), fields 14 to 17 in hundredths of a second). */
function readCpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const own = [11, 12, 13, 14].reduce((sum, at) => sum + (fields[at] ?? 0), 0) * 10;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim();
  return children
    .split(" ")
    .filter(Boolean)
    .reduce((sum, child) => sum + readCpuMs(Number(child)), own);
}
