import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { getPriority } from "node:os";
import { executable } from "../support/executable.ts";
import { isOnPostgres } from "../support/engine.ts";
import { callApi, makeInstallation, provide, type Installation } from "../support/installation.ts";
import { listThreads, mayReturn, SCHED_IDLE, SCHED_NORMAL, type Thread } from "../support/threads.ts";
import { until } from "../support/waiting.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";

const SETUP_MS_MAX = 120_000;
const TEST_MS_MAX = 120_000;
/** More than one batch of the writer would take with what an idle thread gets of a full core. */
const REQUESTS = 300;
const ANSWER =
  '{"id":"x","object":"chat.completion","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}';

let lockport: string;
let installation: Installation;
let upstream: ScriptedUpstream;

beforeAll(async () => {
  lockport = await executable();
}, SETUP_MS_MAX);
beforeEach(async () => {
  upstream = await startUpstream({
    script: (call) => call.reply({ headers: ["content-type: application/json"], body: ANSWER }),
  });
  installation = await makeInstallation(lockport);
}, SETUP_MS_MAX);
afterEach(async () => {
  await installation.remove();
  await upstream.stop();
});

/** A server, on one core, that answers for the model `m`. */
async function startServer() {
  const server = await installation.start({ wrapper: ["taskset", "-c", "0"] });
  await provide(server.url, installation.adminKey, {
    name: "quick",
    baseUrl: upstream.baseUrl,
    models: { m: "um" },
  });
  return server;
}

async function send(url: string): Promise<void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.adminKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [] }),
  });
  expect(response.status).toBe(200);
  await response.bytes();
}

async function countWritten(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^proxy_writer_events_total (\d+)$/m.exec(text)?.[1]);
}

/** The threads that compete with the serving one, and what each has then; collectors begin only under load. */
const niceness = getPriority();
const BACK = { policy: SCHED_NORMAL, niceness: niceness + 10 };
const WORKER = { policy: mayReturn() ? SCHED_IDLE : SCHED_NORMAL, niceness: niceness + 5 };
const EXPECTED: { readonly [name: string]: Pick<Thread, "policy" | "niceness"> } = {
  lockport: { policy: SCHED_NORMAL, niceness },
  "HTTP Client": { policy: SCHED_NORMAL, niceness },
  "Bun Pool 0": { policy: SCHED_NORMAL, niceness },
  JITWorker: BACK,
  JSCWarmUp: BACK,
  "mi-scavenger": BACK,
  "usage writer": WORKER,
  "usage reader": WORKER,
};

describe.skipIf(process.platform !== "linux")("the threads of a server", () => {
  test(
    "that compile, purge, write and read are behind those that serve, which stay as they were started",
    async () => {
      const server = await startServer();
      for (let count = 0; count < REQUESTS; count += 1) await send(server.url);
      // Starts the reader.
      await callApi(server.url, installation.adminKey, "GET", "/stats/summary");
      const differing = () => {
        const threads = listThreads(server.pid);
        return Object.entries(EXPECTED).flatMap(([name, { policy, niceness: steps }]) => {
          const found = threads.filter((thread) => thread.name === name);
          if (found.length === 0) return [`${name} is not there`];
          return found.flatMap((thread) =>
            thread.policy === policy && thread.niceness === steps
              ? []
              : [`${name} has ${thread.policy}, ${thread.niceness}`],
          );
        });
      };
      await until(
        () => differing().length === 0,
        () =>
          `${differing().join("; ")} of ${listThreads(server.pid)
            .map(({ name }) => name)
            .join(", ")}`,
      );
      expect(listThreads(server.pid).filter(({ name }) => name === "Worker")).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test.skipIf(isOnPostgres)(
    "bring what is recorded into the database also while another process takes the whole core",
    async () => {
      const server = await startServer();
      const hog = Bun.spawn(["taskset", "-c", "0", "sh", "-c", "while :; do :; done"], {
        stdio: ["ignore", "ignore", "ignore"],
      });
      try {
        for (let count = 0; count < REQUESTS; count += 1) await send(server.url);
        await until(
          async () => (await countWritten(server.url)) === REQUESTS,
          () => "not everything is committed",
        );
        expect(hog.exitCode).toBeNull();
        expect(upstream.requests.length).toBe(REQUESTS);
      } finally {
        hog.kill("SIGKILL");
        await hog.exited;
      }
      expect(await server.stop()).toBe(0);
    },
    TEST_MS_MAX,
  );
});
