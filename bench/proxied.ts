/** Latency of proxied requests beside reports: a part of `bun bench/stats.ts` (`--only proxied`). */
import { resolve } from "node:path";
import { endWithUs, serve } from "./executable.ts";
import type { Filled } from "./fill.ts";
import { toQuestions } from "./questions.ts";
import { runLoad, startUpstream, toRequest, writeRequests } from "./wire.ts";

const CONNECTIONS = 256;
const WARM_UP_SECONDS = 4;

export interface Round {
  readonly isAsking: boolean;
  /** Milliseconds, from when a request was due to the end of its answer. */
  readonly p50: number;
  readonly p99: number;
  readonly requests: number;
  /** Reports answered meanwhile, a second. */
  readonly answersPerSecond: number;
}

/**
 * The executable on a filled folder at a steady rate of proxied requests, in turns with reports asked for one after the
 * other, at most so many a second, and without any.
 */
export async function measureProxied(
  binary: string,
  filled: Filled,
  shape: {
    readonly port: number;
    readonly perSecond: number;
    readonly seconds: number;
    readonly rounds: number;
    readonly reportsPerSecond: number;
  },
): Promise<readonly Round[]> {
  const { port, perSecond, seconds, rounds, reportsPerSecond } = shape;
  const upstream = await startUpstream();
  const server = await serve(binary, filled.dataDir, port);
  try {
    const authorization = `Bearer ${filled.admin.key}`;
    const post = async (path: string, body: unknown) => {
      const response = await fetch(server.origin + path, {
        method: "POST",
        headers: { authorization, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      // The copy may have served before.
      if (response.status !== 201 && response.status !== 409)
        throw new Error(`${path}: ${response.status} ${await response.text()}`);
    };
    await post("/admin/v1/providers", { name: "bench", base_url: `http://127.0.0.1:${upstream.port}/v1` });
    await post("/admin/v1/models", {
      alias: "bench",
      provider: "bench",
      upstream_name: "bench",
      pricing: { input_tokens: 1 },
    });

    const body = JSON.stringify({
      model: "bench",
      messages: [{ role: "user", content: "Say something. ".repeat(60) }],
    });
    const headers = `authorization: ${authorization}\r\n`;
    const requests = writeRequests([toRequest("/v1/chat/completions", headers, body)]);
    const measure = (forSeconds: number) =>
      runLoad(requests, port, { connections: CONNECTIONS, rate: perSecond, seconds: forSeconds });
    await measure(WARM_UP_SECONDS);
    const paths = toQuestions(filled, "sqlite")
      .filter(
        ({ asker, page, accept }) => asker === filled.admin && page === undefined && accept === undefined,
      )
      .map(({ path }) => path);
    const served = [];
    for (const path of paths)
      if ((await getStatus(server.origin + path, authorization)) === 200) served.push(path);
    if (served.length === 0) throw new Error("no report is served");

    const done: Round[] = [];
    for (let round = 0; round < rounds * 2; round += 1) {
      // Which of the two comes first changes from pair to pair: a machine that slows down hits both alike.
      const isAsking = (round % 2 === 1) !== (Math.floor(round / 2) % 2 === 1);
      const asker = isAsking
        ? startAsking(server.origin, filled.admin.key, { perSecond: reportsPerSecond, paths: served })
        : null;
      if (asker !== null) await Bun.sleep(1_000);
      const load = await measure(seconds);
      if (load.latencyUs === null || load.failures + load.unsent > 0)
        throw new Error(`${load.unsent} never sent, ${load.failures} failed ${load.firstFailure}`);
      const answers = (await asker?.stop()) ?? 0;
      done.push({
        isAsking,
        p50: load.latencyUs.p50 / 1000,
        p99: load.latencyUs.p99 / 1000,
        requests: load.requests,
        answersPerSecond: answers,
      });
    }
    return done;
  } finally {
    await server.stop();
    await upstream.stop();
  }
}

async function getStatus(url: string, authorization: string): Promise<number> {
  const response = await fetch(url, { headers: { authorization } });
  await response.bytes();
  return response.status;
}

function startAsking(
  origin: string,
  key: string,
  { perSecond, paths }: { readonly perSecond: number; readonly paths: readonly string[] },
) {
  const startedMs = performance.now();
  const words = [
    process.execPath,
    resolve(import.meta.dir, "asker.ts"),
    origin,
    key,
    String(perSecond),
    ...paths,
  ];
  const child = endWithUs(Bun.spawn(words, { stdio: ["ignore", "pipe", "inherit"] }));
  const said = new Response(child.stdout).text();
  return {
    /** Ends it; answers a second. */
    async stop(): Promise<number> {
      child.kill();
      await child.exited;
      const answers = (await said).split("\n").reduce((sum, line) => sum + Number(line), 0);
      return answers / ((performance.now() - startedMs) / 1000);
    },
  };
}
