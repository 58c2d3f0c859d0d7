/**
 * Memory of the executable under streams that are hard on it: `bun bench/stalled.ts [COUNT] [BINARY] [SCENE]` (after
 * `npm run build`; 200 callers that never read, a fifth as many streams with one event of 15 MB, plain and gzipped). Through
 * `/v1` and relayed, each on a server of its own.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { BINARY, endWithUs, untilListening } from "./executable.ts";

const COUNT = Number(process.argv[2] ?? 200);
const EXECUTABLE = resolve(process.argv[3] ?? BINARY);
const PORT = 18_710;
const EVENT_BYTES = 15e6;
/** How long the callers that never read are watched, and how long a long event stays without its end. */
const WATCHED_MS = 20_000;
const HELD_BACK_MS = 4_000;

const SCENES = ["endless", "long", "gzip"] as const;
type Scene = (typeof SCENES)[number];

const beginning = Buffer.from(`data: {"choices":[{"delta":{"content":"${"z".repeat(EVENT_BYTES)}`);
const end = Buffer.from('"}}]}\n\ndata: {"usage":{"prompt_tokens":7}}\n\n');
const zipped = gzipSync(Buffer.concat([beginning, end]));
const piece = Buffer.from(`data: ${"x".repeat(6_000)}\n\n`);
const framedPiece = Buffer.concat([
  Buffer.from(`${piece.length.toString(16)}\r\n`),
  piece,
  Buffer.from("\r\n"),
]);
const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";

const answerWith: { readonly [scene in Scene]: (socket: Socket) => void } = {
  endless(socket) {
    socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`);
    const goOn = () => {
      for (let count = 0; count < 200; count += 1) if (!socket.write(framedPiece)) return;
      setTimeout(goOn, 5);
    };
    socket.on("drain", goOn);
    goOn();
  },
  long(socket) {
    socket.write(`${HEAD}\r\n`);
    socket.write(beginning);
    setTimeout(() => socket.end(end), HELD_BACK_MS);
  },
  gzip(socket) {
    socket.write(`${HEAD}content-encoding: gzip\r\n\r\n`);
    socket.write(zipped.subarray(0, -12));
    setTimeout(() => socket.end(zipped.subarray(-12)), HELD_BACK_MS);
  },
};

const onlyScene = process.argv[4];
for (const scene of SCENES) {
  if (onlyScene !== undefined && onlyScene !== scene) continue;
  for (const way of ["v1", "relay"] as const) await measure(scene, way);
}
process.exit(0);

async function measure(scene: Scene, way: "v1" | "relay"): Promise<void> {
  const upstream = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", () => answerWith[scene](socket));
  });
  const upstreamPort = await new Promise<number>((listening) =>
    upstream.listen(0, "127.0.0.1", () => {
      const address = upstream.address();
      listening(typeof address === "object" && address !== null ? address.port : 0);
    }),
  );
  const origin = `http://127.0.0.1:${upstreamPort}`;
  const dataDir = mkdtempSync(join(tmpdir(), "lockport-bench-stalled-"));
  const env = {
    PATH: process.env["PATH"] ?? "",
    PROXY_DATA_DIR: dataDir,
    PROXY_PORT: String(PORT),
    PROXY_MESSAGES_BASE_URL: origin,
    PROXY_LOG: "warn",
  };
  const child = endWithUs(Bun.spawn([EXECUTABLE, "serve"], { env, stdio: ["ignore", "ignore", "inherit"] }));
  const residentMb = (name: "VmRSS" | "VmHWM") => {
    const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
    return Math.round((Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / 1e6);
  };
  const callers: Socket[] = [];
  try {
    await untilListening(PORT);
    const bootstrap = Bun.spawnSync([EXECUTABLE, "admin", "bootstrap", "--json"], { env, stderr: "inherit" });
    const { key } = JSON.parse(bootstrap.stdout.toString()) as { key: string };
    const post = async (path: string, body: unknown) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      return (await fetch(`http://127.0.0.1:${PORT}${path}`, init)).json();
    };
    await post("/admin/v1/providers", { name: "p", base_url: `${origin}/v1` });
    const model = { alias: "m", provider: "p", upstream_name: "u", capabilities: ["chat", "chat_stream"] };
    await post("/admin/v1/models", model);
    const { token } = (await post("/my/relay-tokens", {})) as { token: string };
    const path = way === "relay" ? `/transparent/messages/${token}/v1/messages` : "/v1/chat/completions";
    const body = '{"model":"m","stream":true}';
    const request = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${PORT}\r\nauthorization: Bearer ${key}\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const reads = scene !== "endless";
    const count = reads ? Math.ceil(COUNT / 5) : COUNT;
    const startMb = residentMb("VmRSS");
    const closed = Array.from(
      { length: count },
      () =>
        new Promise<void>((close) => {
          const socket = connect(PORT, "127.0.0.1", () => socket.write(request));
          socket.on("error", () => undefined);
          socket.on("close", () => close());
          if (reads) socket.resume();
          else socket.pause();
          callers.push(socket);
        }),
    );
    await (reads ? Promise.all(closed) : Bun.sleep(WATCHED_MS));
    const metrics = await (await fetch(`http://127.0.0.1:${PORT}/metrics`)).text();
    const lag = /^proxy_event_loop_lag_max_seconds (.*)$/m.exec(metrics)?.[1];
    console.log(
      `${scene}, ${way}: ${count} streams, ${startMb} MB at first, peak ${residentMb("VmHWM")} MB, ${residentMb("VmRSS")} MB in the end, event loop late by at most ${Number(lag).toFixed(2)} s, ${callers.filter((caller) => !caller.closed).length} open`,
    );
  } finally {
    for (const caller of callers) caller.destroy();
    child.kill("SIGKILL");
    await child.exited;
    upstream.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
