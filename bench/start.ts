/**
 * Time until the executable listens, its memory while idle, and how long the first requests
 * take: `bun bench/start.ts [--runs 15] [NAME=EXECUTABLE …]`. Pinned to one core; several executables take turns.
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BINARY, endWithUs, readResidentMb, untilListening } from "./executable.ts";

/** Memory is read this long after the start of listening: collections and the allocator's own purges are through by then. */
const IDLE_MS = 20_000;
/** Idle memory is the same for every run. */
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
  readonly origin: string;
  readonly listeningMs: number;
  readonly cpuMs: number;
  stop(): Promise<void>;
}

const toEnvironment = (dataDir: string) => ({
  PATH: process.env["PATH"] ?? "",
  PROXY_DATA_DIR: dataDir,
  PROXY_PORT: String(port),
  PROXY_LOG: "warn",
});

async function start(binary: string, dataDir: string): Promise<Started> {
  port += 1;
  const startedMs = performance.now();
  const child = endWithUs(
    Bun.spawn(["taskset", "-c", "0", binary, "serve"], {
      env: toEnvironment(dataDir),
      stdio: ["ignore", "ignore", "inherit"],
    }),
  );
  await untilListening(port);
  const listeningMs = performance.now() - startedMs;
  return {
    pid: child.pid,
    origin: `http://127.0.0.1:${port}`,
    listeningMs,
    cpuMs: readThreadsMs(child.pid),
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}

/** CPU time of all threads that there are, finer than the ticks of `stat`. The first process image counts with its main thread. */
function readThreadsMs(pid: number): number {
  let sumNs = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    sumNs += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
  }
  return sumNs / 1e6;
}

/** The part of the resident memory that is not of files: the process's alone, whatever else runs. */
function readAnonymousMb(pid: number): number {
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return (Number(kilobytes) * 1024) / 1e6;
}

async function ask(url: string, key: string): Promise<number> {
  const startedMs = performance.now();
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${key}`, accept: "text/html, */*" },
  });
  await response.bytes();
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return performance.now() - startedMs;
}

/**
 * How much of a file a process has mapped depends on the pieces in which the system keeps it: an executable that was just
 * written has 4 MB more in memory than the same bytes that were read from the disk as they were needed. So all of them are.
 */
function dropFromCache(path: string): void {
  Bun.spawnSync(["sync", path]);
  Bun.spawnSync(["dd", `if=${path}`, "iflag=nocache", "count=0"], { stderr: "ignore" });
}

function makeFolder(): string {
  return mkdtempSync(join(tmpdir(), "lockport-start-"));
}

function bootstrap(binary: string, dataDir: string): string {
  const child = Bun.spawnSync([binary, "admin", "bootstrap", "--json"], { env: toEnvironment(dataDir) });
  const made: unknown = JSON.parse(child.stdout.toString());
  if (typeof made !== "object" || made === null || !("key" in made) || typeof made.key !== "string")
    throw new Error("admin bootstrap gave no key");
  return made.key;
}

const folders = contenders.map(({ binary }) => {
  const dataDir = makeFolder();
  return { dataDir, key: bootstrap(binary, dataDir) };
});
try {
  for (let run = -1; run < runs; run += 1) {
    for (const [index, { binary, figures }] of contenders.entries()) {
      const { dataDir, key } = folders[index] ?? { dataDir: "", key: "" };
      const note = (what: string, value: number) => {
        // The first run only brings the executable into the page cache, and makes the ledger.
        if (run >= 0) figures.set(what, [...(figures.get(what) ?? []), value]);
      };
      if (run >= 0 && run < IDLE_RUNS) {
        const folder = makeFolder();
        dropFromCache(binary);
        const idle = await start(binary, folder);
        await Bun.sleep(IDLE_MS);
        note("idle, resident, MB", readResidentMb(idle.pid));
        note("idle, anonymous, MB", readAnonymousMb(idle.pid));
        await ask(`${idle.origin}/healthz`, key);
        note("after /healthz, resident, MB", readResidentMb(idle.pid));
        await idle.stop();
        rmSync(folder, { recursive: true, force: true });
      }
      const empty = makeFolder();
      const first = await start(binary, empty);
      note("empty folder: listening, ms", first.listeningMs);
      note("empty folder: CPU until then, ms", first.cpuMs);
      await first.stop();
      rmSync(empty, { recursive: true, force: true });

      const server = await start(binary, dataDir);
      note("folder with data: listening, ms", server.listeningMs);
      note("folder with data: CPU until then, ms", server.cpuMs);
      note("first GET /, ms", await ask(`${server.origin}/`, key));
      note("second GET /, ms", await ask(`${server.origin}/`, key));
      note("first GET /stats, ms", await ask(`${server.origin}/stats/summary`, key));
      note("second GET /stats, ms", await ask(`${server.origin}/stats/summary`, key));
      note("after those, resident, MB", readResidentMb(server.pid));
      await server.stop();
      const listStartedMs = performance.now();
      Bun.spawnSync(["taskset", "-c", "0", binary, "model", "list"], { env: toEnvironment(dataDir) });
      note("lockport model list, ms", performance.now() - listStartedMs);
    }
  }
} finally {
  for (const { dataDir } of folders) rmSync(dataDir, { recursive: true, force: true });
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
