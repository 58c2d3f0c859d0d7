/** Compiles and runs `upstream.c` and `load.c`, the two ends of the benchmarks; both stay off the core of what is measured. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { endWithUs, freePort, LOAD_CORE, untilListening } from "./executable.ts";

export const CACHE = resolve(import.meta.dir, "../node_modules/.cache/bench");

/** Microseconds. */
export interface Percentiles {
  readonly n: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** The figures that `load` prints. */
export interface Load {
  readonly requests: number;
  readonly failures: number;
  readonly firstFailure: string;
  /** Due and never sent: the far end could not keep the rate. */
  readonly unsent: number;
  readonly events: number;
  readonly seconds: number;
  readonly latencyUs: Percentiles | null;
  /** From when a stream was due to its first event. */
  readonly openUs: Percentiles | null;
  readonly delayUs: Percentiles | null;
}

export interface Answers {
  /** Bytes of text in a unary answer. */
  readonly answer?: number;
  /** Events of a stream before the one with its usage. */
  readonly events?: number;
  /** Bytes of an event; absent: as few as it needs. */
  readonly size?: number;
  /** Between the events of a stream, in microseconds; 0 sends as fast as they are taken. */
  readonly interval?: number;
}

export interface Upstream {
  readonly port: number;
  set(answers: Answers): Promise<void>;
  /** Ends every stream, in order, with its usage. */
  finish(): Promise<void>;
  seen(): Promise<{ readonly requests: number; readonly open: number }>;
  stop(): Promise<void>;
}

/** The compiled program; a new source is a new file. */
function compile(name: "upstream" | "load"): string {
  const source = join(import.meta.dir, `${name}.c`);
  const text = readFileSync(source, "utf8") + readFileSync(join(import.meta.dir, "wire.h"), "utf8");
  const program = join(CACHE, `${name}-${Bun.hash(text).toString(36)}`);
  if (existsSync(program)) return program;
  if (Bun.which("gcc") === null) throw new Error("the upstream and the load are C: install gcc");
  mkdirSync(CACHE, { recursive: true });
  const done = Bun.spawnSync(["gcc", "-O2", "-Wall", "-o", program, source], { stderr: "inherit" });
  if (done.exitCode !== 0) throw new Error(`gcc refused ${source}`);
  return program;
}

export async function startUpstream(): Promise<Upstream> {
  const port = freePort();
  const child = endWithUs(
    Bun.spawn([...LOAD_CORE, compile("upstream"), String(port)], {
      stdio: ["ignore", "ignore", "inherit"],
    }),
  );
  await untilListening(port);
  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/${path}`);
    return (await response.json()) as { requests: number; open: number };
  };
  return {
    port,
    async set({ answer = 30, events = 200, size = 0, interval = 0 }) {
      await ask(`set?answer=${answer}&events=${events}&size=${size}&interval=${interval}`);
    },
    async finish() {
      await ask("finish");
    },
    seen: () => ask("seen"),
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}

/** An upstream whose streams never end and are as fast as they are read. */
export async function startEndless(): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const event = Buffer.from(`data: ${"x".repeat(6_000)}\n\n`);
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", () => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
      const goOn = () => {
        for (let count = 0; count < 200; count += 1) if (socket.destroyed || !socket.write(event)) return;
        setTimeout(goOn, 5);
      };
      socket.on("drain", goOn);
      goOn();
    });
  });
  const port = freePort();
  await new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening));
  return { port, stop: async () => void server.close() };
}

export type LoadOptions = Readonly<
  Partial<Record<"connections" | "seconds" | "warm" | "rate" | "hold" | "ramp", number>>
>;

let requestsFolder: string | null = null;
let requestsFiles = 0;

/** A file for `load`, removed when this process ends. */
export function writeRequests(requests: readonly string[]): string {
  const parts = requests.flatMap((request) => {
    const bytes = Buffer.from(request);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return [length, bytes];
  });
  if (requestsFolder === null) {
    const made = mkdtempSync(join(tmpdir(), "lockport-bench-load-"));
    process.once("exit", () => rmSync(made, { recursive: true, force: true }));
    requestsFolder = made;
  }
  const path = join(requestsFolder, `requests-${(requestsFiles += 1)}`);
  writeFileSync(path, Buffer.concat(parts));
  return path;
}

/** Runs a load to its end. `onLine` hears what it says before, of streams that are held. */
export async function runLoad(
  requestsPath: string,
  port: number,
  options: LoadOptions,
  onLine: (line: string) => Promise<void> = async () => {},
): Promise<Load> {
  const words = Object.entries({ ...options, port }).map(([name, value]) => `${name}=${value}`);
  const child = endWithUs(
    Bun.spawn([...LOAD_CORE, compile("load"), requestsPath, ...words], {
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
  let rest = "";
  let last = "";
  const decoder = new TextDecoder();
  for await (const bytes of child.stdout) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      last = line;
      await onLine(line);
    }
  }
  if ((await child.exited) !== 0) throw new Error("the load ended with an error");
  return JSON.parse(last) as Load;
}

/** A request as official SDKs send it; `headers` are whole lines. */
export function toRequest(path: string, headers: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
