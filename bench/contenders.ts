/** The contenders of a benchmark: no proxy at all, nginx, and a bare proxy on the same runtime. Lockport has a file of its own. */
import type { Subprocess } from "bun";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { endWithUs, freePort, PROXY_CORE, untilListening } from "./executable.ts";

export interface Contender {
  readonly name: string;
  readonly version: string;
  /** Its record of each request; null: none. */
  readonly records: string | null;
  /** Starts it before the upstream at this origin. */
  start(upstream: string, options?: StartOptions): Promise<Running>;
}

export interface StartOptions {
  /** A data folder of Lockport that was made before. */
  readonly dataDir?: string;
  /** On all cores, where memory is what is measured. */
  readonly isOnAllCores?: boolean;
}

export interface Running {
  readonly port: number;
  /** The process that is measured; null where there is none. */
  readonly pid: number | null;
  /** Whole lines, for each request. */
  readonly headers: string;
  readonly model: string;
  readonly listeningMs: number;
  /** The number of requests recorded so far; null where it records none. */
  countRecorded(): Promise<number | null>;
  stop(): Promise<void>;
}

/** Why one that was asked for does not take part. */
export class Absent extends Error {}

interface Launch {
  readonly command: readonly string[];
  readonly port: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly headers?: string;
  /** Removed in the end. */
  readonly folder?: string;
  readonly isOnAllCores?: boolean | undefined;
  readonly countRecorded?: () => Promise<number | null>;
}

/** Starts it on the core of what is measured, unless it may have all, and waits until it listens. */
export async function launch({
  command,
  port,
  env,
  cwd,
  headers,
  folder,
  isOnAllCores,
  countRecorded,
}: Launch): Promise<Launched> {
  const startedMs = performance.now();
  const child: Subprocess = endWithUs(
    Bun.spawn([...(isOnAllCores === true ? [] : PROXY_CORE), ...command], {
      env: env ?? { PATH: process.env["PATH"] ?? "" },
      cwd: cwd ?? tmpdir(),
      stdio: ["ignore", "ignore", process.env["BENCH_DEBUG"] === undefined ? "ignore" : "inherit"],
    }),
  );
  await untilListening(port, child);
  const listeningMs = performance.now() - startedMs;
  return {
    port,
    pid: child.pid,
    headers: headers ?? "",
    model: "bench",
    listeningMs,
    countRecorded: countRecorded ?? (async () => null),
    async stop() {
      child.kill();
      await child.exited;
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function makeFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `lockport-bench-${name}-`));
}

export function readVersion(...command: readonly string[]): string {
  const found = Bun.which(command[0] ?? "");
  if (found === null) throw new Absent(`${command[0]} is not installed`);
  const done = Bun.spawnSync([...command], { stderr: "pipe" });
  return /\d+\.\d+\.\d+/.exec(`${done.stdout.toString()}${done.stderr.toString()}`)?.[0] ?? "unknown";
}

export function toDirect(): Contender {
  return {
    name: "direct",
    version: "",
    records: null,
    async start(upstream) {
      return {
        port: Number(new URL(upstream).port),
        pid: null,
        headers: "",
        model: "bench",
        listeningMs: 0,
        countRecorded: async () => null,
        stop: async () => {},
      };
    },
  };
}

export function toNginx(): Contender {
  return {
    name: "nginx",
    version: readVersion("nginx", "-v"),
    records: null,
    async start(upstream) {
      const port = freePort();
      const folder = makeFolder("nginx");
      mkdirSync(join(folder, "logs"));
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (name) => `${name}_temp_path ${folder}/${name};`,
      );
      writeFileSync(
        join(folder, "nginx.conf"),
        `daemon off; master_process off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log crit;
         events { worker_connections 20000; } worker_rlimit_nofile 40000;
         http { access_log off; keepalive_requests 10000000; keepalive_timeout 600s; proxy_read_timeout 600s;
         client_max_body_size 64m; client_body_buffer_size 64k; ${temporary.join(" ")}
         upstream bench { server ${new URL(upstream).host}; keepalive 256; keepalive_requests 10000000; }
         server { listen 127.0.0.1:${port} backlog=16384; location / { proxy_pass http://bench; proxy_http_version 1.1;
         proxy_set_header Connection ""; proxy_buffering off; } } }`,
      );
      return launch({ command: ["nginx", "-p", folder, "-c", join(folder, "nginx.conf")], port, folder });
    },
  };
}

/** Bun's own server and `fetch` without any work in between: the ceiling of every proxy on this runtime. */
export function toBare(): Contender {
  return {
    name: "bare",
    version: `Bun ${Bun.version}`,
    records: null,
    async start(upstream) {
      const port = freePort();
      return launch({
        command: [process.execPath, resolve(import.meta.dir, "bare.ts"), String(port), upstream],
        port,
        env: {
          PATH: process.env["PATH"] ?? "",
          BUN_CONFIG_MAX_HTTP_REQUESTS: "65336",
        },
      });
    },
  };
}

export interface Launched extends Running {
  readonly pid: number;
}
