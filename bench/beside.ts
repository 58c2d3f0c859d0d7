/** Requests at a steady rate on a server that does something else meanwhile, such as reports or a re-pricing. */
import { createChance, shuffle } from "./chance.ts";
import { createAsk, freePort, readCpuMs, serve, type Server } from "./executable.ts";
import type { Filled } from "./fill.ts";
import { askOnce, toQuestions } from "./questions.ts";
import { percentile } from "./table.ts";
import { runLoad, toRequest, writeRequests, type Upstream } from "./wire.ts";
import { underWitness } from "./witness.ts";

export const LOAD = { connections: 64, rate: 500, seconds: 2 };
const LOOK_INTERVAL_MS = 50;
/** Pairs of rounds, with reports and without, in an order drawn by chance. */
const PAIRS = 8;
const REPORTS_PER_SECOND = 8;

export interface Observed {
  readonly seconds: number;
  /** Processor time of all threads of the server, requests included. */
  readonly cpuSeconds: number;
  /** Microseconds, a figure a round. */
  readonly p99Us: readonly number[];
  readonly p50Us: readonly number[];
}

export class SteadyRequests {
  readonly #server: Server;
  readonly #requests: string;

  private constructor(server: Server, requests: string) {
    this.#server = server;
    this.#requests = requests;
  }

  /** For a model of this upstream without a price, so that the requests change no cost. */
  static async on(server: Server, key: string, { port }: Upstream): Promise<SteadyRequests> {
    const ask = createAsk(server.origin, key);
    const model = `bench-${port}`;
    const base_url = `http://127.0.0.1:${port}/v1`;
    await ask("/admin/v1/providers", { name: model, base_url, verify_tls: false });
    const names = { alias: model, provider: model, upstream_name: "bench-upstream" };
    await ask("/admin/v1/models", { ...names, capabilities: ["chat"] });
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "x".repeat(900) }] });
    const headers = `authorization: Bearer ${key}\r\n`;
    const requests = writeRequests([toRequest("/v1/chat/completions", headers, body)]);
    await runLoad(requests, server.port, LOAD);
    return new SteadyRequests(server, requests);
  }

  /** Rounds of requests until it is over, which is asked all the time. */
  async observe(isOver: (rounds: number) => Promise<boolean>): Promise<Observed> {
    const { pid, port } = this.#server;
    const [p50Us, p99Us]: [number[], number[]] = [[], []];
    const [startedMs, startedCpuMs] = [performance.now(), readCpuMs(pid)];
    let endedMs: number | null = null;
    let endedCpuMs = startedCpuMs;
    while (endedMs === null) {
      const load = runLoad(this.#requests, port, LOAD);
      while (Bun.peek.status(load) === "pending") {
        if (endedMs === null && (await isOver(p99Us.length))) {
          endedMs = performance.now();
          endedCpuMs = readCpuMs(pid);
        }
        await Bun.sleep(LOOK_INTERVAL_MS);
      }
      const { latencyUs, failures, firstFailure } = await load;
      if (failures > 0 || latencyUs === null) throw new Error(`the load failed: ${firstFailure}`);
      p50Us.push(latencyUs.p50);
      p99Us.push(latencyUs.p99);
    }
    const cpuSeconds = (endedCpuMs - startedCpuMs) / 1000;
    return { seconds: (endedMs - startedMs) / 1000, cpuSeconds, p50Us, p99Us };
  }
}

export interface BesideReports {
  /** Milliseconds, a figure a pair of rounds. */
  readonly p99Ms: readonly number[];
  readonly p99AloneMs: readonly number[];
  readonly ratio: number;
  readonly reportsPerSecond: number;
  /** Why none of it is to be printed; null where the machine was quiet. */
  readonly refusal: string | null;
}

/**
 * Requests on a filled folder, which they change: in turns with reports, asked for one after the other and at most so many a
 * second, and without any.
 */
export async function measureBesideReports(
  filled: Filled,
  { binary, seed }: { readonly binary: string; readonly seed: number },
): Promise<BesideReports> {
  const chance = createChance(seed);
  const p99Us: Record<"reports" | "alone", number[]> = { reports: [], alone: [] };
  const questions = toQuestions(filled, "sqlite").filter(({ page }) => page === undefined);
  const rates: number[] = [];
  const server = await serve(binary, filled.dataDir, freePort());
  const [, refusal] = await underWitness(async (look, upstream) => {
    const requests = await SteadyRequests.on(server, filled.admin.key, upstream);
    for (let pair = 0; pair < PAIRS; pair += 1) {
      await look();
      for (const what of shuffle(chance, ["reports", "alone"] as const)) {
        let isOver = false;
        const asking = what === "reports" ? askAll(() => isOver) : null;
        p99Us[what].push(...(await requests.observe(async () => true)).p99Us);
        isOver = true;
        if (asking !== null) rates.push((await asking) / LOAD.seconds);
      }
    }
  });
  await server.stop();
  return {
    p99Ms: p99Us.reports.map((us) => us / 1000),
    p99AloneMs: p99Us.alone.map((us) => us / 1000),
    ratio: percentile(p99Us.reports, 0.5) / percentile(p99Us.alone, 0.5),
    reportsPerSecond: percentile(rates, 0.5),
    refusal,
  };

  async function askAll(isOver: () => boolean): Promise<number> {
    let answered = 0;
    for (const question of shuffle(chance, questions)) {
      if (isOver()) break;
      const dueMs = performance.now() + 1_000 / REPORTS_PER_SECOND;
      await askOnce(server.origin, question, question.path);
      answered += 1;
      await Bun.sleep(Math.max(0, dueMs - performance.now()));
    }
    return answered;
  }
}
