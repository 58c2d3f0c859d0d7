import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** The proxy under test runs alone on one core; the upstream and the load share the other. */
const PROXY_CORE = "0";
const LOAD_CORE = "1";
const LISTEN_DEADLINE_MS = 10_000;

export interface Peer {
  readonly name: string;
  readonly origin: string;
  readonly authorization: string;
  readonly model: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface LockportPeer extends Peer {
  /** From the start of the process until a connection is accepted. */
  readonly listeningMs: number;
}

/** The answer of the unary upstream: what a short chat completion looks like, about 400 bytes. */
export const UNARY_ANSWER = JSON.stringify({
  id: "chatcmpl-bench",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "bench-upstream",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "A short answer of a few words." },
      finish_reason: "stop",
    },
  ],
  usage: {
    prompt_tokens: 21,
    completion_tokens: 8,
    total_tokens: 29,
    prompt_tokens_details: { cached_tokens: 0 },
  },
});

export function toUnaryBody(model: string): string {
  return JSON.stringify({
    model,
    messages: [
      { role: "system", content: "You are a terse assistant." },
      { role: "user", content: "Say something short, please. ".repeat(10) },
    ],
    temperature: 0.2,
  });
}

/** An epoll upstream that costs next to nothing: nginx answering from memory. */
export async function startNginxUpstream(port: number): Promise<Peer> {
  const server = `server { listen 127.0.0.1:${port} reuseport; default_type application/json;
    client_body_buffer_size 64k; location / { return 200 '${UNARY_ANSWER}'; } }`;
  return startNginx("upstream", port, LOAD_CORE, server);
}

export async function startNginxProxy(port: number, upstreamPort: number): Promise<Peer> {
  const server = `upstream bench { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 10000000; }
    server { listen 127.0.0.1:${port}; location / { proxy_pass http://bench; proxy_http_version 1.1;
    proxy_set_header Connection ""; proxy_buffering off; client_body_buffer_size 64k; } }`;
  return startNginx("nginx", port, PROXY_CORE, server);
}

async function startNginx(name: string, port: number, core: string, server: string): Promise<Peer> {
  const folder = mkdtempSync(join(tmpdir(), "lockport-bench-nginx-"));
  mkdirSync(join(folder, "logs"));
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; master_process off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log crit;
     events { worker_connections 20000; } worker_rlimit_nofile 40000;
     http { access_log off; keepalive_requests 10000000; keepalive_timeout 600s; client_max_body_size 64m;
     client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
     ${server} }`,
  );
  const child = Bun.spawn(["taskset", "-c", core, "nginx", "-p", folder, "-c", join(folder, "nginx.conf")], {
    stdout: "ignore",
    stderr: "inherit",
  });
  await untilListening(port);
  return {
    name,
    origin: `http://127.0.0.1:${port}`,
    authorization: "Bearer none",
    model: "bench",
    pid: child.pid,
    async stop() {
      child.kill();
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Bun's own server and `fetch` without any work in between: the ceiling of every proxy on this runtime. */
export async function startBareProxy(port: number, upstreamPort: number): Promise<Peer> {
  const words = [
    process.execPath,
    resolve(import.meta.dir, "bare.ts"),
    String(port),
    `http://127.0.0.1:${upstreamPort}`,
  ];
  const child = Bun.spawn(["taskset", "-c", PROXY_CORE, ...words], {
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: "65336" },
    stdout: "ignore",
    stderr: "inherit",
  });
  await untilListening(port);
  return {
    name: "bare Bun.serve and fetch",
    origin: `http://127.0.0.1:${port}`,
    authorization: "Bearer none",
    model: "bench",
    pid: child.pid,
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}

/** The built executable with recording on, a provider for each upstream and one key. */
export async function startLockport(
  port: number,
  upstreams: Readonly<Record<string, string>>,
): Promise<LockportPeer> {
  const binary = resolve(import.meta.dir, "../dist/lockport");
  const dataDir = mkdtempSync(join(tmpdir(), "lockport-bench-"));
  const env = {
    PATH: process.env["PATH"] ?? "",
    PROXY_DATA_DIR: dataDir,
    PROXY_PORT: String(port),
    PROXY_LOG: "warn",
  };
  const command = (...words: string[]) => {
    const done = Bun.spawnSync([binary, ...words], { env, stderr: "inherit" });
    if (done.exitCode !== 0)
      throw new Error(`lockport ${words.slice(0, 2).join(" ")} ended with ${done.exitCode}`);
    return done.stdout.toString();
  };
  const { key } = JSON.parse(command("admin", "bootstrap", "--json")) as { key: string };
  for (const [name, origin] of Object.entries(upstreams)) {
    command("provider", "add", name, "--base-url", `${origin}/v1`);
    command(
      "model",
      "add",
      name,
      "--provider",
      name,
      "--upstream-name",
      `${name}-upstream`,
      "--price",
      "input_tokens=2.5",
      "--price",
      "output_tokens=10",
    );
  }
  const startedMs = performance.now();
  const child = Bun.spawn(["taskset", "-c", PROXY_CORE, binary, "serve"], {
    env,
    stdout: "ignore",
    stderr: "inherit",
  });
  await untilListening(port);
  const listeningMs = performance.now() - startedMs;
  return {
    name: "lockport",
    origin: `http://127.0.0.1:${port}`,
    authorization: `Bearer ${key}`,
    model: Object.keys(upstreams)[0] ?? "",
    pid: child.pid,
    listeningMs,
    async stop() {
      child.kill();
      await child.exited;
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export function pinLoad(words: readonly string[]): string[] {
  return ["taskset", "-c", LOAD_CORE, ...words];
}

/** Resident memory in megabytes (10⁶ bytes), from the kernel's own account. */
export function readResidentMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return (Number(kilobytes) * 1024) / 1e6;
}

/** User and system time of a process so far, in milliseconds (100 ticks a second on Linux). */
export function readCpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

export async function untilListening(port: number): Promise<void> {
  const deadline = performance.now() + LISTEN_DEADLINE_MS;
  for (;;) {
    const open = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).catch(() => null);
    if (open !== null) {
      open.end();
      return;
    }
    if (performance.now() > deadline) throw new Error(`nothing listens on port ${port}`);
    await Bun.sleep(1);
  }
}
