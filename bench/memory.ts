/**
 * Memory and pauses of the executable under callers that are hard on it: `bun bench/memory.ts [SCENE …] [--count N]
 * [--megabytes M] [--way WAY] [--binary FILE]` (after `npm run build`). Each scene and way has a server of its own, on all cores.
 *
 *   answers   so many unary answers of so many megabytes at once, a quarter of the callers reading slowly
 *   uploads   as many request bodies, a quarter of the callers sending slowly
 *   unread    callers that never read, of streams that never end, watched for 20 s
 *
 * Ways: `length`, `chunked`, `relay` and `relay-chunked` of the first two, `length` and `relay` of `unread`.
 */
import { connect, type Socket } from "node:net";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { BINARY, readPeakMb, readResidentMb } from "./executable.ts";
import { toLockport, type RunningLockport } from "./contenders.ts";
import { startEndless } from "./wire.ts";

const SCENES = ["answers", "uploads", "unread"] as const;
const WAYS = ["length", "chunked", "relay", "relay-chunked"] as const;
type Scene = (typeof SCENES)[number];
type Way = (typeof WAYS)[number];

const COUNTS: { readonly [scene in Scene]: number } = { answers: 32, uploads: 32, unread: 200 };
const PIECE_BYTES = 256 * 1024;
const SLOW_PAUSE_MS = 50;
const WATCHED_MS = 20_000;
const PROBE_MS = 5;
const GOAL_MB = 512;
const STATUS_END = "HTTP/1.1 200".length;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: "string" },
    megabytes: { type: "string", default: "60" },
    way: { type: "string" },
    binary: { type: "string", default: BINARY },
  },
});

for (const scene of SCENES) {
  if (positionals.length > 0 && !positionals.includes(scene)) continue;
  for (const way of WAYS) {
    if (scene === "unread" && way.endsWith("chunked")) continue;
    if (options.way === undefined || options.way === way) await measure(scene, way);
  }
}
process.exit(0);

interface Exchanged {
  readonly status: string;
  readonly bytes: number;
}

async function measure(scene: Scene, way: Way): Promise<void> {
  const megabytes = Number(options.megabytes);
  const count = Number(options.count ?? COUNTS[scene]);
  const upstream =
    scene === "unread" ? await startEndless() : startAnswering(scene === "answers" ? megabytes : 0);
  const running = await toLockport(options.binary).start(`http://127.0.0.1:${upstream.port}`, {
    isOnAllCores: true,
  });
  const waits = watchHealth(running.port);
  try {
    const startMb = readResidentMb(running.pid);
    const startedMs = performance.now();
    const statuses = await run(scene, {
      running,
      way,
      count,
      fillBytes: scene === "uploads" ? megabytes * 1e6 : 0,
    });
    const seconds = (performance.now() - startedMs) / 1000;
    const peakMb = readPeakMb(running.pid);
    console.log(
      `${scene}, ${way}: ${count}${scene === "answers" || scene === "uploads" ? ` × ${megabytes} MB` : ""} in ${seconds.toFixed(1)} s (${statuses}), ${startMb.toFixed(0)} MB at first, peak ${peakMb.toFixed(0)} MB: ${peakMb <= GOAL_MB ? "met" : "**missed**"}, ${readResidentMb(running.pid).toFixed(0)} MB in the end, slowest /healthz ${waits.stop().toFixed(0)} ms, load ${loadavg()[0]?.toFixed(1)}`,
    );
  } finally {
    waits.stop();
    await running.stop();
    await upstream.stop();
  }
}

interface Run {
  readonly running: RunningLockport;
  readonly way: Way;
  readonly count: number;
  readonly fillBytes: number;
}

/** Runs the callers to their end; how many had which status. */
async function run(scene: Scene, { running, way, count, fillBytes }: Run): Promise<string> {
  const { port, headers, model, relayPath } = running;
  const isRelay = way.startsWith("relay");
  const isChunked = way.endsWith("chunked");
  const path = isRelay ? relayPath : scene === "unread" ? "/v1/chat/completions" : "/v1/embeddings";
  const fields = JSON.stringify({ model, input: "x", messages: [], stream: scene === "unread" });
  const framing = isChunked ? "transfer-encoding: chunked" : `content-length: ${fields.length + fillBytes}`;
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${headers}content-type: application/json\r\nconnection: close\r\n${framing}\r\n\r\n`;
  if (scene === "unread") {
    const sockets = Array.from({ length: count }, () => {
      const socket = connect(port, "127.0.0.1", () => socket.write(head + fields));
      socket.on("error", () => undefined);
      return socket.pause();
    });
    await Bun.sleep(WATCHED_MS);
    const open = sockets.filter((socket) => !socket.closed).length;
    for (const socket of sockets) socket.destroy();
    return `${open} open`;
  }
  // Blanks behind the fields are as much to be read, scanned and sent as any other bytes.
  const body = Buffer.concat([Buffer.from(fields), Buffer.alloc(fillBytes, " ")]);
  const callers = Array.from({ length: count }, (_, index) => {
    const isSlow = index % 4 === 3;
    return exchange(port, (socket) => {
      socket.write(head);
      sendBody(socket, body, { isChunked, isSlow });
      if (!isSlow) return;
      socket.on("data", () => {
        socket.pause();
        setTimeout(() => socket.resume(), SLOW_PAUSE_MS);
      });
    });
  });
  return toStatuses(await Promise.all(callers));
}

function sendBody(
  socket: Socket,
  body: Buffer,
  {
    isChunked,
    isSlow,
    at = 0,
  }: { readonly isChunked: boolean; readonly isSlow: boolean; readonly at?: number },
): void {
  const piece = body.subarray(at, at + PIECE_BYTES);
  if (piece.length === 0) {
    if (isChunked) socket.write("0\r\n\r\n");
    return;
  }
  const framed = isChunked
    ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")])
    : piece;
  const goOn = () => sendBody(socket, body, { isChunked, isSlow, at: at + piece.length });
  socket.write(framed, (failure) => {
    if (failure) return;
    if (isSlow) setTimeout(goOn, SLOW_PAUSE_MS);
    else goOn();
  });
}

/** The status and size of an answer, read until the connection closed. */
function exchange(port: number, send: (socket: Socket) => unknown): Promise<Exchanged> {
  return new Promise((ended) => {
    let bytes = 0;
    let beginning = "";
    const socket = connect({ host: "127.0.0.1", port }, () => send(socket));
    socket.on("data", (piece) => {
      if (beginning.length < STATUS_END) beginning += piece.toString("latin1", 0, STATUS_END);
      bytes += piece.length;
    });
    socket.on("error", () => undefined);
    socket.on("close", () => ended({ status: beginning.slice(9, STATUS_END) || "nothing", bytes }));
  });
}

function toStatuses(all: readonly Exchanged[]): string {
  const groups = Map.groupBy(all, ({ status }) => status);
  return [...groups].map(([status, of]) => `${of.length} × ${status}`).join(", ");
}

/** Reads each body to its end and answers with embeddings of so many megabytes, in chunks where the request came so. */
function startAnswering(megabytes: number): { readonly port: number; stop(): Promise<void> } {
  const entry = JSON.stringify({
    object: "embedding",
    index: 0,
    embedding: Array.from({ length: 1_536 }, (_, index) => Math.sin(index) / 30),
  });
  const entries = Array.from(
    { length: Math.max(1, Math.floor((megabytes * 1e6) / entry.length)) },
    () => entry,
  );
  const answer = Buffer.from(
    `{"object":"list","data":[${entries.join(",")}],"usage":{"prompt_tokens":7,"input_tokens":7,"output_tokens":0}}`,
  );
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    idleTimeout: 0,
    async fetch(request) {
      const isChunked = request.headers.get("transfer-encoding") !== null;
      for await (const piece of request.body ?? []) void piece;
      const headers = { "content-type": "application/json" };
      if (!isChunked) return new Response(new Blob([answer]), { headers });
      const body = new ReadableStream({
        type: "direct",
        async pull(controller: ReadableStreamDirectController) {
          for (let at = 0; at < answer.length; at += PIECE_BYTES)
            await controller.write(answer.subarray(at, at + PIECE_BYTES));
          controller.close();
        },
      });
      return new Response(body, { headers });
    },
  });
  return { port: server.port ?? 0, stop: () => server.stop(true) };
}

/** Asks a small question again and again; the longest time that its answer took. */
function watchHealth(port: number): { stop(): number } {
  let longestMs = 0;
  const over = new AbortController();
  const ask = async () => {
    while (!over.signal.aborted) {
      const askedMs = performance.now();
      await (await fetch(`http://127.0.0.1:${port}/healthz`)).text();
      longestMs = Math.max(longestMs, performance.now() - askedMs);
      await Bun.sleep(PROBE_MS);
    }
  };
  void ask().catch(() => undefined);
  return {
    stop() {
      over.abort();
      return longestMs;
    },
  };
}
