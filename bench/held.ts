/**
 * Memory of the executable while it passes on many large bodies at once, unary answers or requests:
 * `bun bench/held.ts [answers|requests|both] [COUNT] [MEGABYTES] [BINARY] [WAY]` (after `npm run build`; 12 answers of 60 MB
 * unless told otherwise). Through `/v1` with a length (`length`) and without one (`chunked`), and relayed (`relay`,
 * `relay-chunked`); each on a server of its own. A quarter of the callers are slow. With `both` each request is as large as
 * its answer.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { BINARY, endWithUs, untilListening } from "./executable.ts";

const MODES = ["answers", "requests", "both"] as const;
const mode = MODES.find((name) => name === process.argv[2]) ?? "answers";
const [count, megabytes, binary, onlyWay] = process.argv.slice(process.argv[2] === mode ? 3 : 2);
const COUNT = Number(count ?? 12);
const MEGABYTES = Number(megabytes ?? 60);
const EXECUTABLE = resolve(binary ?? BINARY);
const PORT = 18_700;
const PIECE_BYTES = 256 * 1024;
const SLOW_PAUSE_MS = 50;
const STATUS_LINE_LENGTH = "HTTP/1.1 200".length;
const LAG_PROBE_MS = 20;

const embedding = Array.from({ length: 1_536 }, (_, index) => Math.sin(index) / 30);
const entry = JSON.stringify({ object: "embedding", index: 0, embedding });
const entryCount = mode === "requests" ? 1 : Math.floor((MEGABYTES * 1e6 - 200) / (entry.length + 1));
/** Blanks behind the fields of a request, which are as much to be read, looked through and sent as any other bytes. */
const fill = Buffer.alloc(mode === "answers" ? 0 : MEGABYTES * 1e6, " ");
const takenBytes: number[] = [];
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
    let bytes = 0;
    for await (const piece of request.body ?? []) bytes += piece.length;
    takenBytes.push(bytes);
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

const WAYS = ["length", "chunked", "relay", "relay-chunked"] as const;
for (const way of WAYS) if (onlyWay === undefined || onlyWay === way) await measure(way);
await upstream.stop(true);

async function measure(way: (typeof WAYS)[number]): Promise<void> {
  const isChunked = way.endsWith("chunked");
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
    const path = way.startsWith("relay") ? `/transparent/messages/${token}/v1/messages` : "/v1/embeddings";
    const alias = isChunked ? "chunked" : "length";
    const fields = JSON.stringify({ model: alias, input: "x" });
    const bodyBytes = fields.length + fill.length;
    const framing = isChunked ? "transfer-encoding: chunked" : `content-length: ${bodyBytes}`;
    const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${PORT}\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\nconnection: close\r\n${framing}\r\n\r\n`;
    takenBytes.length = 0;
    const lags = watchLag();
    const startedMs = performance.now();
    const answers = await Promise.all(
      Array.from({ length: COUNT }, (_, index) =>
        exchange({ head, fields, isChunked, isSlow: index % 4 === 3 }),
      ),
    );
    const tookMs = performance.now() - startedMs;
    const lagMs = lags.stop();
    const whole = answers.filter(({ bytes }) => bytes >= answer.length).length;
    // The upstream's name of the model is as long as ours.
    const taken = takenBytes.filter((bytes) => bytes === bodyBytes).length;
    const refused = answers.filter(({ status }) => status !== "200").map(({ status }) => status);
    const { requests } = (await (
      await fetch(`http://127.0.0.1:${PORT}/admin/v1/requests?limit=500`, {
        headers: { authorization: `Bearer ${key}` },
      })
    ).json()) as { requests: { outcome: string; units: { input_tokens?: number } }[] };
    const metered = requests.filter(({ outcome, units }) => outcome === "ok" && units.input_tokens === 7);
    const peakMb =
      (Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) * 1024) / 1e6;
    console.log(
      `${mode}, ${way}: ${COUNT} × ${MEGABYTES} MB, peak ${peakMb.toFixed(0)} MB, ${taken} taken, ${whole} whole, ${metered.length} metered, refused ${refused.length === 0 ? "none" : refused.join(" ")}, ${(tookMs / 1000).toFixed(1)} s, slowest /healthz ${lagMs.toFixed(0)} ms`,
    );
  } finally {
    child.kill();
    await child.exited;
    rmSync(dataDir, { recursive: true, force: true });
  }
}

interface Sent {
  readonly head: string;
  readonly fields: string;
  readonly isChunked: boolean;
  /** It rests after each piece that it sends or reads. */
  readonly isSlow: boolean;
}

/** What came until the connection closed. */
function exchange({ head, fields, isChunked, isSlow }: Sent): Promise<{ status: string; bytes: number }> {
  return new Promise((ended) => {
    let bytes = 0;
    let statusLine = "";
    let sentBytes = 0;
    const socket = connect({ host: "127.0.0.1", port: PORT }, () => {
      socket.write(head);
      send(Buffer.from(fields));
    });
    const send = (piece: Buffer) => {
      const framed = isChunked
        ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")])
        : piece;
      socket.write(framed, (failure) => {
        if (failure) return;
        if (sentBytes === fill.length) {
          if (isChunked) socket.write("0\r\n\r\n");
          return;
        }
        const next = fill.subarray(sentBytes, sentBytes + PIECE_BYTES);
        sentBytes += next.length;
        if (isSlow) setTimeout(() => send(next), SLOW_PAUSE_MS);
        else send(next);
      });
    };
    socket.on("data", (piece) => {
      if (statusLine.length < STATUS_LINE_LENGTH)
        statusLine += piece.toString("latin1", 0, STATUS_LINE_LENGTH);
      bytes += piece.length;
      if (!isSlow) return;
      socket.pause();
      setTimeout(() => socket.resume(), SLOW_PAUSE_MS);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => ended({ status: statusLine.slice(9, 12), bytes }));
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
