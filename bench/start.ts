/**
 * Time until the executable listens, and its memory while idle: `bun bench/start.ts [--runs 15] [NAME=EXECUTABLE …]`. Pinned to
 * one core; several executables take turns.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BINARY, endWithUs, PROXY_CORE, readResidentMb, untilListening } from "./executable.ts";

/** Memory is read this long after the start of listening: collections and the allocator's own purges are through by then. */
const IDLE_MS = 20_000;
/** Idle memory is the same for every run; the executable is read from the disk for it, so that these runs do not count as starts. */
const IDLE_RUNS = 5;
const FIRST_PORT = 28_700;

const { values, positionals } = parseArgs({
  options: { runs: { type: "string", default: "15" } },
  allowPositionals: true,
});
const runs = Number(values.runs);
const contenders = (positionals.length > 0 ? positionals : [`lockport=${BINARY}`]).map((word) => {
  const at = word.indexOf("=");
  return { name: word.slice(0, at), binary: word.slice(at + 1), figures: new Map<string, number[]>() };
});
let port = FIRST_PORT;

interface Started {
  readonly pid: number;
  readonly listeningMs: number;
  stop(): Promise<void>;
}

async function start(binary: string): Promise<Started> {
  port += 1;
  const dataDir = mkdtempSync(join(tmpdir(), "lockport-start-"));
  const env = {
    PATH: process.env["PATH"] ?? "",
    PROXY_DATA_DIR: dataDir,
    PROXY_PORT: String(port),
    PROXY_LOG: "warn",
  };
  const startedMs = performance.now();
  const child = endWithUs(
    Bun.spawn([...PROXY_CORE, binary, "serve"], { env, stdio: ["ignore", "ignore", "inherit"] }),
  );
  await untilListening(port);
  return {
    pid: child.pid,
    listeningMs: performance.now() - startedMs,
    async stop() {
      child.kill();
      await child.exited;
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** The part of the resident memory that is not of files: the process's alone, whatever else runs. */
function readAnonymousMb(pid: number): number {
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return (Number(kilobytes) * 1024) / 1e6;
}

/**
 * How much of a file a process has mapped depends on the pieces in which the system keeps it: an executable that was just
 * written has 4 MB more in memory than the same bytes that were read from the disk as they were needed. So all of them are.
 */
function dropFromCache(path: string): void {
  Bun.spawnSync(["sync", path]);
  Bun.spawnSync(["dd", `if=${path}`, "iflag=nocache", "count=0"], { stderr: "ignore" });
}

// The first run only brings the executable into the page cache.
for (let run = -1; run < runs + IDLE_RUNS; run += 1) {
  for (const { binary, figures } of contenders) {
    const note = (what: string, value: number) => figures.set(what, [...(figures.get(what) ?? []), value]);
    const isIdle = run >= runs;
    if (isIdle) dropFromCache(binary);
    const server = await start(binary);
    if (isIdle) {
      await Bun.sleep(IDLE_MS);
      note("idle, resident, MB", readResidentMb(server.pid));
      note("idle, anonymous, MB", readAnonymousMb(server.pid));
    } else if (run >= 0) note("listening, ms", server.listeningMs);
    await server.stop();
  }
}

const toMedian = (found: readonly number[]) =>
  found.toSorted((one, other) => one - other)[found.length >> 1] ?? 0;
for (const { name, figures } of contenders) {
  console.log(`\n${name}: median (least to most) of ${runs}`);
  for (const [what, found] of figures) {
    const range = `${Math.min(...found).toFixed(1)} to ${Math.max(...found).toFixed(1)}`;
    console.log(`${what.padEnd(38)} ${toMedian(found).toFixed(1).padStart(7)}   (${range})`);
  }
}
