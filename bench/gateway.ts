/**
 * The proxy beside nginx, in one run: `npm run build && npm run bench` (needs nginx, wrk and taskset; two cores).
 * Prints a table; the figures in docs/performance.md come from it. Bounded: about two minutes.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { holdStreams, measureChunks, measureLatency } from "./load.ts";
import {
  pinLoad,
  readCpuMs,
  readResidentMb,
  startBareProxy,
  startLockport,
  startNginxProxy,
  startNginxUpstream,
  toUnaryBody,
  type Peer,
} from "./peers.ts";
import { percentile, startStreamUpstream } from "./wire.ts";

const ROUNDS = 3;
const UNARY_SECONDS = 6;
const UNARY_CONNECTIONS = 64;
const OPEN_STREAMS = 5_000;
const BASE_PORT = 18_100;
const PIN_MARK = "LOCKPORT_BENCH_PINNED";

if (process.env[PIN_MARK] === undefined) {
  const again = Bun.spawnSync(pinLoad([process.execPath, import.meta.path]), {
    env: { ...process.env, [PIN_MARK]: "1" },
    stdio: ["ignore", "inherit", "inherit"],
  });
  process.exit(again.exitCode);
}

const rows: [string, string][] = [];
const report = (what: string, figure: string) => {
  rows.push([what, figure]);
  console.error(`${what}: ${figure}`);
};
const median = (values: readonly number[]) => percentile(values, 0.5);

const streams = startStreamUpstream();
const upstream = await startNginxUpstream(BASE_PORT);
const nginx = await startNginxProxy(BASE_PORT + 1, BASE_PORT);
const nginxStreams = await startNginxProxy(BASE_PORT + 2, streams.port);
const lockport = await startLockport(BASE_PORT + 3, {
  unary: upstream.origin,
  stream: `http://127.0.0.1:${streams.port}`,
});
const bare = await startBareProxy(BASE_PORT + 4, BASE_PORT);
const peers: Peer[] = [nginx, bare, lockport];
const streamBody = JSON.stringify({
  model: "stream",
  stream: true,
  messages: [{ role: "user", content: "hello" }],
});

try {
  report("listening after start", `${lockport.listeningMs.toFixed(0)} ms`);
  await Bun.sleep(1_000);
  report("idle, resident", `${readResidentMb(lockport.pid).toFixed(0)} MB`);

  const rates = new Map<string, number[]>();
  const costs = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const peer of peers) {
      const before = readCpuMs(peer.pid);
      const { requests, rate } = runWrk(peer, peer === lockport ? "unary" : "bench");
      rates.set(peer.name, [...(rates.get(peer.name) ?? []), rate]);
      costs.set(peer.name, [
        ...(costs.get(peer.name) ?? []),
        ((readCpuMs(peer.pid) - before) * 1000) / requests,
      ]);
    }
  }
  for (const { name } of peers) {
    report(
      `unary, ${name}`,
      `${median(rates.get(name) ?? []).toFixed(0)} requests/s, ${median(costs.get(name) ?? []).toFixed(1)} µs of CPU each`,
    );
  }
  const ratios = (rates.get("lockport") ?? []).map(
    (rate, round) => rate / (rates.get("nginx")?.[round] ?? Number.NaN),
  );
  report("unary, lockport : nginx", ratios.map((ratio) => ratio.toFixed(3)).join(" "));

  const latency = async (port: number, authorization: string, model: string) =>
    measureLatency(port, authorization, toUnaryBody(model));
  const direct = await latency(BASE_PORT, "Bearer none", "bench");
  for (const peer of peers) {
    const through = await latency(portOf(peer), peer.authorization, peer === lockport ? "unary" : "bench");
    report(
      `latency at 3,000 requests/s, ${peer.name}`,
      `p50 ${micros(through.p50)}, p99 ${micros(through.p99)}; added p50 ${micros(through.p50 - direct.p50)} over direct (${micros(direct.p50)})`,
    );
  }

  const directChunk = await measureChunks(streams, streams.port, "Bearer none", streamBody);
  for (const peer of [nginxStreams, lockport]) {
    const through = await measureChunks(streams, portOf(peer), peer.authorization, streamBody);
    report(
      `delay per SSE chunk, ${peer.name}`,
      `p50 ${micros(through.p50)}; added p50 ${micros(through.p50 - directChunk.p50)} over direct (${micros(directChunk.p50)}), n ${through.n}`,
    );
  }

  const held = await holdStreams(streams, portOf(lockport), lockport.authorization, streamBody, {
    count: OPEN_STREAMS,
    events: 3,
    onOpen: () =>
      report(`${OPEN_STREAMS} open streams, resident`, `${readResidentMb(lockport.pid).toFixed(0)} MB`),
  });
  report(`${OPEN_STREAMS} open streams, events delivered`, `${held.delivered} of ${held.expected}`);
} finally {
  for (const peer of [lockport, bare, nginxStreams, nginx, upstream]) await peer.stop();
  streams.stop();
}

console.log(
  `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores, Bun ${Bun.version}\n`,
);
console.log(
  ["| what | figure |", "|---|---|", ...rows.map(([what, figure]) => `| ${what} | ${figure} |`)].join("\n"),
);
process.exit(0);

function runWrk(peer: Peer, model: string): { requests: number; rate: number } {
  const script = join(mkdtempSync(join(tmpdir(), "lockport-bench-wrk-")), "post.lua");
  writeFileSync(
    script,
    `wrk.method = "POST"\nwrk.body = [==[${toUnaryBody(model)}]==]\nwrk.headers["content-type"] = "application/json"\nwrk.headers["authorization"] = "${peer.authorization}"\n`,
  );
  const done = Bun.spawnSync(
    pinLoad([
      "wrk",
      "-t1",
      `-c${UNARY_CONNECTIONS}`,
      `-d${UNARY_SECONDS}s`,
      "-s",
      script,
      `${peer.origin}/v1/chat/completions`,
    ]),
    { stderr: "inherit" },
  );
  const text = done.stdout.toString();
  if (/Non-2xx/.test(text)) throw new Error(`${peer.name} refused requests:\n${text}`);
  return {
    requests: Number(/(\d+) requests in/.exec(text)?.[1]),
    rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]),
  };
}

function portOf(peer: Peer): number {
  return Number(new URL(peer.origin).port);
}

function micros(ms: number): string {
  return `${(ms * 1000).toFixed(0)} µs`;
}
