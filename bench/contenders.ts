/** The contenders of a benchmark: no proxy at all, nginx, a bare proxy on the same runtime, and Lockport. */
import type { Subprocess } from "bun";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import {
  BINARY,
  createAsk,
  endWithUs,
  freePort,
  PROXY_CORE,
  untilListening,
  type Ask,
} from "./executable.ts";

export interface Contender {
  readonly name: string;
  readonly version: string;
  /** Its record of each request; null: none. */
  readonly records: string | null;
  /** Starts it before the upstream at this origin. */
  start(upstream: string): Promise<Running>;
}

/** A caller of a contender. */
export interface Caller {
  /** Whole lines, for each request. */
  readonly headers: string;
  readonly model: string;
}

export interface Running extends Caller {
  readonly port: number;
  /** The process that is measured; null where there is none. */
  readonly pid: number | null;
  /** Callers that take turns; absent: itself alone. */
  readonly callers?: readonly Caller[];
  /** The number of requests recorded so far; null where it records none. */
  countRecorded(): Promise<number | null>;
  stop(): Promise<void>;
}

/** Why one that was asked for does not take part. */
export class Absent extends Error {}

interface Launched extends Running {
  readonly pid: number;
}

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
async function launch({
  command,
  port,
  env,
  cwd,
  headers,
  folder,
  isOnAllCores,
  countRecorded,
}: Launch): Promise<Launched> {
  const child: Subprocess = endWithUs(
    Bun.spawn([...(isOnAllCores === true ? [] : PROXY_CORE), ...command], {
      env: env ?? { PATH: process.env["PATH"] ?? "" },
      cwd: cwd ?? tmpdir(),
      stdio: ["ignore", "ignore", process.env["BENCH_DEBUG"] === undefined ? "ignore" : "inherit"],
    }),
  );
  await untilListening(port, child);
  return {
    port,
    pid: child.pid,
    headers: headers ?? "",
    model: "bench",
    countRecorded: countRecorded ?? (async () => null),
    async stop() {
      child.kill();
      await child.exited;
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A contender's own way of writing down may collect rows for some seconds. */
const RECORDED_DEADLINE_MS = 12_000;

/** The number that it recorded, once that is as many as were sent, or else in the end. */
export async function untilRecorded(running: Running, sent: number): Promise<number | null> {
  const deadline = performance.now() + RECORDED_DEADLINE_MS;
  for (;;) {
    const recorded = await running.countRecorded();
    if (recorded === null || recorded >= sent || performance.now() > deadline) return recorded;
    await Bun.sleep(250);
  }
}

function makeFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `lockport-bench-${name}-`));
}

function readVersion(...command: readonly string[]): string {
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

/** A process that runs the source beside a probe, in place of the program as it is shipped (`bench/probe.ts`). */
export interface Probed {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Bun's own server and `fetch` without any work in between: the ceiling of every proxy on this runtime. */
export function toBare(probed?: Probed): Contender {
  return {
    name: "bare",
    version: `Bun ${Bun.version}`,
    records: null,
    async start(upstream) {
      const port = freePort();
      return launch({
        command: [
          ...(probed?.command ?? [process.execPath, resolve(import.meta.dir, "bare.ts")]),
          String(port),
          upstream,
        ],
        port,
        env: {
          PATH: process.env["PATH"] ?? "",
          BUN_CONFIG_MAX_HTTP_REQUESTS: "65336",
          ...probed?.env,
        },
        isOnAllCores: probed !== undefined,
      });
    },
  };
}

export interface RunningLockport extends Launched {
  /** The relay's path, which holds its token. */
  readonly relayPath: string;
  readonly ask: Ask;
}

interface Lockport extends Contender {
  /** `isOnAllCores` where memory is what is measured. */
  start(upstream: string, options?: { readonly isOnAllCores?: boolean }): Promise<RunningLockport>;
}

/** An executable, or the source, with one provider, one priced model and one key. */
export function toLockport(
  binary: string | readonly string[] = BINARY,
  name = "Lockport",
  probed?: Probed,
): Lockport {
  const program = [binary].flat();
  return {
    name,
    version: readVersion(...program, "--version"),
    records: "a row a request in its ledger, begun before the upstream is called",
    async start(upstream, { isOnAllCores } = {}) {
      const dataDir = makeFolder("lockport");
      const port = freePort();
      const env = {
        PATH: process.env["PATH"] ?? "",
        PROXY_DATA_DIR: dataDir,
        PROXY_PORT: String(port),
        PROXY_LOG: "warn",
        PROXY_MESSAGES_BASE_URL: upstream,
      };
      const command = (...words: string[]) => {
        const done = Bun.spawnSync([...program, ...words], { env, stderr: "pipe" });
        if (done.exitCode !== 0) throw new Error(`lockport ${words.join(" ")}: ${done.stderr.toString()}`);
        return done.stdout.toString();
      };
      const { key } = JSON.parse(command("admin", "bootstrap", "--json")) as { key: string };
      const ask = createAsk(`http://127.0.0.1:${port}`, key);
      const running = await launch({
        command: probed?.command ?? [...program, "serve"],
        port,
        env: { ...env, ...probed?.env },
        isOnAllCores: isOnAllCores ?? probed !== undefined,
        headers: `authorization: Bearer ${key}\r\n`,
        folder: dataDir,
        async countRecorded() {
          return (await ask<{ total: number }>("/admin/v1/requests?limit=1")).total;
        },
      });
      const provider = { name: "bench", base_url: `${upstream}/v1`, verify_tls: false };
      const { pricing, capabilities } = MODEL;
      await ask("/admin/v1/providers", provider);
      await ask("/admin/v1/models", {
        alias: "bench",
        provider: "bench",
        upstream_name: "bench-upstream",
        pricing,
        capabilities,
      });
      const { token } = await ask<{ token: string }>("/my/relay-tokens", {});
      return { ...running, relayPath: `/transparent/messages/${token}/v1/messages`, ask };
    },
  };
}

const MODEL = {
  pricing: { input_tokens: 2.5, output_tokens: 10 },
  capabilities: ["chat", "chat_stream", "embeddings"],
};
