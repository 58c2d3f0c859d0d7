/** Says whether the machine is quiet: nginx does little and always the same, so a slow one is the machine's doing. */
import { Absent, toNginx, type Running } from "./contenders.ts";
import { percentile } from "./table.ts";
import { runLoad, startUpstream, toRequest, writeRequests, type Load, type Upstream } from "./wire.ts";

const LOAD = { connections: 64, rate: 3_000, seconds: 1.5 };
/** Its p99 on a quiet machine is 0.5 to 2 ms, and tens to hundreds where others work; `BENCH_QUIET_MS` is another limit. */
const QUIET_P99_MS_MAX = Number(process.env["BENCH_QUIET_MS"] ?? 2.5);

export class Witness {
  readonly #upstream: Upstream;
  readonly #running: Running;
  readonly #requests = writeRequests([toRequest("/v1/chat/completions", "", '{"model":"x","messages":[]}')]);

  private constructor(upstream: Upstream, running: Running) {
    this.#upstream = upstream;
    this.#running = running;
  }

  /** Null where nginx is not installed. */
  static async start(upstream: Upstream): Promise<Witness | null> {
    try {
      return new Witness(upstream, await toNginx().start(`http://127.0.0.1:${upstream.port}`));
    } catch (failure) {
      if (failure instanceof Absent) return null;
      throw failure;
    }
  }

  async look(): Promise<Load> {
    await this.#upstream.set({});
    return runLoad(this.#requests, this.#running.port, LOAD);
  }

  stop(): Promise<void> {
    return this.#running.stop();
  }
}

/** Work that has the witness look now and then, and why its figures are not to be printed; null where they are. */
export async function underWitness<Result>(
  work: (look: () => Promise<void>, upstream: Upstream) => Promise<Result>,
): Promise<readonly [result: Result, refusal: string | null]> {
  const upstream = await startUpstream();
  const witness = await Witness.start(upstream);
  const looks: number[] = [];
  const look = async () => void (witness === null || looks.push(toP99Ms(await witness.look())));
  try {
    return [await work(look, upstream), toRefusal(looks)];
  } finally {
    await witness?.stop();
    await upstream.stop();
  }
}

/** The witness's p99 in milliseconds. */
export function toP99Ms({ latencyUs }: Load): number {
  return latencyUs === null ? Number.POSITIVE_INFINITY : latencyUs.p99 / 1000;
}

/** Why figures of these looks are not printed; null where the machine was quiet. */
export function toRefusal(p99Ms: readonly number[]): string | null {
  const median = percentile(p99Ms, 0.5);
  if (p99Ms.length === 0 || median <= QUIET_P99_MS_MAX) return null;
  const range = `${Math.min(...p99Ms).toFixed(1)} to ${Math.max(...p99Ms).toFixed(1)}`;
  return `the machine was busy: nginx answered ${LOAD.rate} requests/s with a p99 of ${median.toFixed(1)} ms (median of ${p99Ms.length} looks, ${range}), and above ${QUIET_P99_MS_MAX} ms nothing is printed`;
}
