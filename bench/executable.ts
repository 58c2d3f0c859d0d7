/** Processes of the benchmarks: the built executable, where each runs, what it costs. */
import type { Subprocess } from "bun";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

/** The measured process has one core for all of its threads; the upstream and the load share the other. */
export const PROXY_CORE: readonly string[] = ["taskset", "-c", "0"];
export const LOAD_CORE: readonly string[] = ["taskset", "-c", "1"];
const LISTEN_DEADLINE_MS = 60_000;

/** The built executable on a data folder. */
export interface Server {
  readonly origin: string;
  readonly port: number;
  readonly pid: number;
  /** From the start of the process until it answers. */
  readonly listeningMs: number;
  stop(): Promise<void>;
}

export const BINARY = resolve(import.meta.dir, "../dist/lockport");

/** On all cores, unless `cores` says otherwise. */
export async function serve(
  binary: string,
  dataDir: string,
  port: number,
  settings: Readonly<Record<string, string>> = {},
  cores: readonly string[] = [],
): Promise<Server> {
  const env = {
    ...settings,
    PATH: process.env["PATH"] ?? "",
    PROXY_DATA_DIR: dataDir,
    PROXY_PORT: String(port),
    PROXY_LOG: "warn",
  };
  const startedMs = performance.now();
  const child = endWithUs(
    Bun.spawn([...cores, binary, "serve"], { env, stdio: ["ignore", "ignore", "inherit"] }),
  );
  await untilListening(port);
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    pid: child.pid,
    listeningMs: performance.now() - startedMs,
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}

/** A JSON answer of a server's own routes; with a body it is a POST. */
export type Ask = <Answer>(path: string, body?: unknown) => Promise<Answer>;

export function createAsk(origin: string, key: string): Ask {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return async <Answer>(path: string, body?: unknown) => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(origin + path, { ...init, headers });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Answer;
  };
}

/** A child that does not outlive the benchmark, also when that is interrupted. */
export function endWithUs<Child extends Subprocess>(child: Child): Child {
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  void child.exited.finally(() => process.removeListener("exit", end));
  return child;
}

/** Below those that a system hands out (ip(7), `ip_local_port_range`): whoever asks for any port would get it before the server listens. */
const PORTS = { from: 20_000, count: 12_000 };

export function freePort(): number {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * PORTS.count);
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
      return port;
    } catch {
      // Another process listens there.
    }
  }
}

/** What listens for a moment, to see whether the address is free, answers with this (`boot/settings/listen-address`). */
const STATUS_NOT_YET = 503;

/** Until something answers there, whatever it says. Fails when the process ends before. */
export async function untilListening(port: number, child?: Subprocess): Promise<void> {
  const deadline = performance.now() + LISTEN_DEADLINE_MS;
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`, { keepalive: false }).catch(() => null);
    await response?.bytes().catch(() => undefined);
    if (response !== null && response.status !== STATUS_NOT_YET) return;
    if (child !== undefined && child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    if (performance.now() > deadline) throw new Error(`nothing listens on port ${port}`);
    await Bun.sleep(1);
  }
}

/** A process and its children. */
function toFamily(pid: number): readonly number[] {
  const path = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(path)) return [];
  const children = readFileSync(path, "utf8").split(" ").filter(Boolean).map(Number);
  return [pid, ...children.flatMap(toFamily)];
}

function readStatus(pid: number, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return (Number(found?.[1] ?? 0) * 1024) / 1e6;
}

/** Resident memory of a process and its children in megabytes (10⁶ bytes), from the kernel's own account. */
export function readResidentMb(pid: number): number {
  return toFamily(pid).reduce((sum, member) => sum + readStatus(member, "VmRSS"), 0);
}

export function readPeakMb(pid: number): number {
  return toFamily(pid).reduce((sum, member) => sum + readStatus(member, "VmHWM"), 0);
}

/** User and system time so far of a process and its children, all of their threads, in milliseconds (100 ticks a second on Linux). */
export function readCpuMs(pid: number): number {
  let ticks = 0;
  for (const member of toFamily(pid)) {
    const text = readFileSync(`/proc/${member}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * 10;
}
