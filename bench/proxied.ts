import { resolve } from "node:path";
import { untilListening, toUnaryBody } from "./peers.ts";
import { endWithUs, serve } from "./executable.ts";
import type { Filled } from "./fill.ts";
import { toQuestions } from "./questions.ts";
import { openUnary, percentile, toRequest } from "./wire.ts";

const CONNECTIONS = 64;
const WARM_UP_SECONDS = 4;

export interface Round {
  readonly isAsking: boolean;
  readonly p50: number;
  readonly p99: number;
  readonly requests: number;
  /** Reports answered meanwhile, a second. */
  readonly answersPerSecond: number;
}

/**
 * The executable on a filled folder at a steady rate of proxied requests, in turns with reports asked for one after the
 * other, at most so many a second, and without any. The load sleeps between requests, so that it takes little from the two cores.
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
  const words = [process.execPath, resolve(import.meta.dir, "answer.ts"), String(port + 1)];
  const upstream = endWithUs(Bun.spawn(words, { stdio: ["ignore", "ignore", "inherit"] }));
  await untilListening(port + 1);
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
    await post("/admin/v1/providers", { name: "bench", base_url: `http://127.0.0.1:${port + 1}/v1` });
    await post("/admin/v1/models", {
      alias: "bench",
      provider: "bench",
      upstream_name: "bench",
      pricing: { input_tokens: 1 },
    });

    const request = toRequest(`127.0.0.1:${port}`, authorization, toUnaryBody("bench"));
    const measure = (forSeconds: number) => paceRequests(port, request, { perSecond, seconds: forSeconds });
    await measure(WARM_UP_SECONDS);
    const paths = toQuestions(filled)
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
      const delays = await measure(seconds);
      const answers = (await asker?.stop()) ?? 0;
      done.push({
        isAsking,
        p50: percentile(delays, 0.5),
        p99: percentile(delays, 0.99),
        requests: delays.length,
        answersPerSecond: answers,
      });
    }
    return done;
  } finally {
    await server.stop();
    upstream.kill();
    await upstream.exited;
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

/** Delays in milliseconds, from the send to the last byte. */
async function paceRequests(
  port: number,
  request: string,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<readonly number[]> {
  const all = await Promise.all(Array.from({ length: CONNECTIONS }, () => openUnary(port)));
  const idle = [...all];
  const delays: number[] = [];
  const running = new Set<Promise<void>>();
  const startedMs = performance.now();
  let late = 0;
  for (let sent = 0; sent < perSecond * seconds;) {
    const due = Math.min(perSecond * seconds, ((performance.now() - startedMs) / 1000) * perSecond);
    for (; sent < due; sent += 1) {
      const connection = idle.pop();
      if (connection === undefined) {
        late += 1;
        continue;
      }
      const one = connection.send(request).then((ms) => {
        delays.push(ms);
        idle.push(connection);
      });
      running.add(one);
      void one.finally(() => running.delete(one));
    }
    await Bun.sleep(1);
  }
  await Promise.all(running);
  for (const connection of all) connection.close();
  // One that found no connection waited longer than any that is counted.
  return [...delays, ...Array.from({ length: late }, () => Number.POSITIVE_INFINITY)];
}
