/**
 * Time until the executable listens, and its memory while idle: `bun bench/start.ts [--runs 15] [NAME=EXECUTABLE …]`. Pinned to
 * one core; several executables take turns.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BINARY, freePort, PROXY_CORE, readResidentMb, serve } from "./executable.ts";
import { percentile } from "./table.ts";

/** Memory is read this long after the start of listening: collections and the allocator's own purges are through by then. */
const IDLE_MS = 20_000;
/** Idle memory is the same for every run; the executable is read from the disk for it, so that these runs do not count as starts. */
const IDLE_RUNS = 5;

/** A value a run. */
export interface Starts {
  readonly listeningMs: number[];
  readonly residentMb: number[];
  readonly anonymousMb: number[];
}

export async function measureStarts(
  binaries: readonly string[],
  runs: number,
  idleRuns = IDLE_RUNS,
): Promise<readonly Starts[]> {
  const seen = binaries.map((): Starts => ({ listeningMs: [], residentMb: [], anonymousMb: [] }));
  // The first run only brings the executable into the page cache.
  for (let run = -1; run < runs + idleRuns; run += 1) {
    for (const [at, binary] of binaries.entries()) {
      const isIdle = run >= runs;
      if (isIdle) dropFromCache(binary);
      const dataDir = mkdtempSync(join(tmpdir(), "lockport-start-"));
      const server = await serve(binary, dataDir, freePort(), {}, PROXY_CORE);
      if (isIdle) {
        await Bun.sleep(IDLE_MS);
        seen[at]?.residentMb.push(readResidentMb(server.pid));
        seen[at]?.anonymousMb.push(readAnonymousMb(server.pid));
      } else if (run >= 0) seen[at]?.listeningMs.push(server.listeningMs);
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  }
  return seen;
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

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { runs: { type: "string", default: "15" } },
    allowPositionals: true,
  });
  const named = (positionals.length > 0 ? positionals : [`lockport=${BINARY}`]).map((word) =>
    word.split("="),
  );
  const all = await measureStarts(
    named.map(([, binary = ""]) => binary),
    Number(values.runs),
  );
  for (const [at, { listeningMs, residentMb, anonymousMb }] of all.entries()) {
    console.log(`\n${named[at]?.[0]}: median (least to most)`);
    print("listening, ms", listeningMs);
    print("idle, resident, MB", residentMb);
    print("idle, anonymous, MB", anonymousMb);
  }
}

function print(what: string, found: readonly number[]): void {
  const range = `${Math.min(...found).toFixed(1)} to ${Math.max(...found).toFixed(1)}`;
  console.log(`${what.padEnd(24)} ${percentile(found, 0.5).toFixed(1).padStart(7)}   (${range})`);
}
