import { join } from "node:path";
import { cleanEnvironment } from "../../../support/process.ts";
import type { TestSchema } from "../../../support/postgres.ts";
import type { ChildOptions, ChildRequest, Load, LoadResult } from "./child.ts";

type Asked = ChildRequest extends infer One ? (One extends unknown ? Omit<One, "id"> : never) : never;

export interface Health {
  readonly trustLeftMs: number;
  readonly isDatabaseUp: boolean;
  readonly isServing: boolean;
  readonly loads: number;
  readonly slots: number;
}

/** A process that is a replica (`child.ts`). */
export interface TestReplica extends AsyncDisposable {
  readonly pid: number;
  /** Whether it would accept a request with the key, and whether it asked the database first. */
  accepts(key: string): Promise<{ readonly accepted: boolean; readonly asked: boolean }>;
  create(key: string): Promise<unknown>;
  /** How many rows that deleted, and whether own memory still has the key when it is answered. */
  delete(key: string): Promise<{ readonly touched: number; readonly stillHas: boolean }>;
  health(): Promise<Health>;
  /** Fulfilled when all of them are done. */
  load(load: Load): Promise<LoadResult>;
  stop(): Promise<void>;
  /** It stands still, or goes on, where it is. */
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
}

const CHILD = join(import.meta.dir, "child.ts");

export async function startReplica(
  target: Pick<TestSchema, "schema" | "url">,
  { lane = 1, graceMs = 2_000, hears = true, slotLeaseMs = 60_000 }: Partial<ChildOptions> = {},
): Promise<TestReplica> {
  const options: ChildOptions = { url: target.url, schema: target.schema, lane, graceMs, hears, slotLeaseMs };
  const child = Bun.spawn({
    cmd: [process.execPath, "--no-env-file", CHILD, JSON.stringify(options)],
    env: cleanEnvironment({}),
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const waiting = new Map<number, PromiseWithResolvers<never>>();
  let lastId = 0;
  let hasEnded = false;
  const expect = <Value>(id: number): Promise<Value> => {
    const one = Promise.withResolvers<never>();
    if (hasEnded) one.reject(new Error("the replica has ended"));
    waiting.set(id, one);
    return one.promise;
  };
  const ask = <Value>(request: Asked): Promise<Value> => {
    const id = (lastId += 1);
    const answer = expect<Value>(id);
    void child.stdin.write(`${JSON.stringify({ ...request, id })}\n`);
    void child.stdin.flush();
    return answer;
  };
  const ready = expect<string>(0);
  void readLines(child.stdout, (line) => {
    const { id, value, error } = JSON.parse(line);
    const one = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) one?.resolve(value);
    else one?.reject(new Error(`${error.name}: ${error.message}`));
  }).then(() => {
    hasEnded = true;
    for (const one of waiting.values()) one.reject(new Error("the replica has ended"));
  });
  await ready;
  const kill = async () => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return {
    pid: child.pid,
    accepts: (key) => ask({ kind: "accepts", key }),
    create: (key) => ask({ kind: "create", key }),
    delete: (key) => ask({ kind: "delete", key }),
    health: () => ask({ kind: "health" }),
    load: (load) => ask({ kind: "load", load }),
    async stop() {
      await ask({ kind: "close" });
      await kill();
    },
    pause: () => child.kill("SIGSTOP"),
    resume: () => child.kill("SIGCONT"),
    kill,
    [Symbol.asyncDispose]: kill,
  };
}

async function readLines(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  }
}
