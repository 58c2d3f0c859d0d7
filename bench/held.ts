/**
 * Memory of the executable while it passes on many large unary answers at once:
 * `bun bench/held.ts [COUNT] [MEGABYTES] [BINARY]` (after `npm run build`; 12 answers of 60 MB unless told otherwise).
 * Through `/v1` with a length and without one, and relayed; each on a server of its own. A quarter of the callers read slowly.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { BINARY, endWithUs } from "./executable.ts";
import { untilListening } from "./peers.ts";

const COUNT = Number(process.argv[2] ?? 12);
const MEGABYTES = Number(process.argv[3] ?? 60);
const EXECUTABLE = resolve(process.argv[4] ?? BINARY);
const PORT = 18_700;
const PIECE_BYTES = 256 * 1024;
const SLOW_PAUSE_MS = 50;
const LAG_PROBE_MS = 20;

const embedding = Array.from({ length: 1_536 }, (_, index) => Math.sin(index) / 30);
const entry = JSON.stringify({ object: "embedding", index: 0, embedding });
const entryCount = Math.floor((MEGABYTES * 1e6 - 200) / (entry.length + 1));
const answer = Buffer.from(
  `{"object":"list","data":[${Array.from({ length: entryCount }, () => entry).join(",")}],"usage":{"prompt_tokens":7,"input_tokens":7,"output_tokens":0}}`,
);
const blob = new Blob([answer]);

const upstream = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  idleTimeout: 0,
  async fetch(request) {
    await request.bytes();
    const headers = { "content-type": "application/json" };
    if (!new URL(request.url).pathname.startsWith("/chunked/")) return new Response(blob, { headers });
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
const origin = `http://127.0.0.1:${upstream.port}`;

for (const way of ["length", "chunked", "relay"] as const) await measure(way);
await upstream.stop(true);

async function measure(way: "length" | "chunked" | "relay"): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "lockport-bench-held-"));
  const env = {
    PATH: process.env["PATH"] ?? "",
    PROXY_DATA_DIR: dataDir,
    PROXY_PORT: String(PORT),
    PROXY_MESSAGES_BASE_URL: origin,
    PROXY_LOG: "warn",
  };
  const child = endWithUs(Bun.spawn([EXECUTABLE, "serve"], { env, stdio: ["ignore", "ignore", "inherit"] }));
  try {
    await untilListening(PORT);
    const bootstrap = Bun.spawnSync([EXECUTABLE, "admin", "bootstrap", "--json"], { env, stderr: "inherit" });
    const { key } = JSON.parse(bootstrap.stdout.toString()) as { key: string };
    const post = async (path: string, body: unknown) => {
      const response = await fetch(`http://127.0.0.1:${PORT}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return response.json();
    };
    await post("/admin/v1/providers", { name: "length", base_url: `${origin}/v1` });
    await post("/admin/v1/providers", { name: "chunked", base_url: `${origin}/chunked` });
    for (const name of ["length", "chunked"]) {
      const model = { alias: name, provider: name, upstream_name: name, capabilities: ["embeddings"] };
      await post("/admin/v1/models", model);
    }
    const { token } = (await post("/my/relay-tokens", {})) as { token: string };
    const path = way === "relay" ? `/transparent/messages/${token}/v1/messages` : "/v1/embeddings";
    const body = JSON.stringify({ model: way, input: "x" });
    const request = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${PORT}\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const lags = watchLag();
    const startedMs = performance.now();
    const received = await Promise.all(
      Array.from({ length: COUNT }, (_, index) => readWhole(request, index % 4 === 3)),
    );
    const tookMs = performance.now() - startedMs;
    const lagMs = lags.stop();
    const whole = received.filter((bytes) => bytes >= answer.length).length;
    const { requests } = (await (
      await fetch(`http://127.0.0.1:${PORT}/admin/v1/requests?limit=500`, {
        headers: { authorization: `Bearer ${key}` },
      })
    ).json()) as { requests: { outcome: string; units: { input_tokens?: number } }[] };
    const metered = requests.filter(({ outcome, units }) => outcome === "ok" && units.input_tokens === 7);
    const peakMb =
      (Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) * 1024) / 1e6;
    console.log(
      `${way}: ${COUNT} × ${(answer.length / 1e6).toFixed(1)} MB, peak ${peakMb.toFixed(0)} MB, ${whole} whole, ${metered.length} metered, ${(tookMs / 1000).toFixed(1)} s, slowest /healthz ${lagMs.toFixed(0)} ms`,
    );
  } finally {
    child.kill();
    await child.exited;
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Bytes received until the connection closes. A slow one rests after each of its pieces. */
function readWhole(request: string, slow: boolean): Promise<number> {
  return new Promise((received) => {
    let bytes = 0;
    const socket = connect({ host: "127.0.0.1", port: PORT }, () => void socket.write(request));
    socket.on("data", (piece) => {
      bytes += piece.length;
      if (!slow) return;
      socket.pause();
      setTimeout(() => socket.resume(), SLOW_PAUSE_MS);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => received(bytes));
  });
}

/** Asks a small question again and again, and remembers the longest time that its answer took. */
function watchLag(): { stop(): number } {
  let longestMs = 0;
  const timer = setInterval(() => {
    const askedMs = performance.now();
    void fetch(`http://127.0.0.1:${PORT}/healthz`)
      .then((response) => response.text())
      .then(() => (longestMs = Math.max(longestMs, performance.now() - askedMs)));
  }, LAG_PROBE_MS);
  return {
    stop() {
      clearInterval(timer);
      return longestMs;
    },
  };
}
