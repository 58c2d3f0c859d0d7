import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { request, Agent } from "node:http";
import net from "node:net";
import { join } from "node:path";
import { openCaller } from "../forward/caller.ts";
import { withinASecond } from "../support/turns.ts";
import {
  callApi,
  makeInstallation,
  provide,
  requestLog,
  type Installation,
  type LoggedRequest,
} from "../support/installation.ts";
import { checkLedger } from "../support/invariants.ts";
import { executable } from "../support/executable.ts";
import { errorsOf, runProcess, type RunningProcess } from "../support/process.ts";
import {
  openBlackHole,
  startUpstream,
  type ScriptedUpstream,
  type UpstreamCall,
} from "../support/upstream.ts";

const SETUP_MS_MAX = 120_000;
const TEST_MS_MAX = 60_000;
const CHAT = "/v1/chat/completions";
const COMPLETION = '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}';
const HELLO = 'data: {"choices":[{"index":0,"delta":{"content":"hello"}}]}\n\n';
const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}\n\n';
const FILES_MAX = 64;
/** The pause of a laptop's disk under load; injected before each sync. */
const SLOW_SYNC_US = 300_000;
/** A log of the catalog that is longer is copied into the database. */
const LOG_BYTES_MAX = 4 * 1024 * 1024;
const DONE = "data: [DONE]\n\n";

let lockport: string;
let installation: Installation;
const upstreams: ScriptedUpstream[] = [];

beforeAll(async () => {
  lockport = await executable();
}, SETUP_MS_MAX);
beforeEach(async () => {
  installation = await makeInstallation(lockport);
});
afterEach(async () => {
  await installation.remove();
  for (const upstream of upstreams.splice(0)) await upstream.stop();
});

type Script = (call: UpstreamCall) => unknown;
const replyWhole: Script = (call) => call.reply({ body: COMPLETION });

/** A server and its upstream; without a script the test answers each request itself. */
async function startPair(script?: Script, options: Parameters<Installation["start"]>[0] = {}, more = {}) {
  const upstream = await startUpstream(script === undefined ? {} : { script });
  upstreams.push(upstream);
  const server = await installation.start(options);
  await provide(server.url, installation.adminKey, {
    name: "up",
    baseUrl: upstream.baseUrl,
    models: { m: "um" },
    more,
  });
  return { upstream, server, port: Number(new URL(server.url).port) };
}

const post = (server: RunningProcess, body: object = {}, path = CHAT) =>
  callApi(server.url, installation.adminKey, "POST", path, { model: "m", ...body });
const call = (port: number, body: object, path = CHAT) =>
  openCaller({
    port,
    path,
    body: { model: "m", ...body },
    headers: [`authorization: Bearer ${installation.adminKey}`],
  });
const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

/** The log, once there are this many events in it. */
async function events(server: RunningProcess, count: number): Promise<LoggedRequest[]> {
  for (;;) {
    const log = await requestLog(server.url, installation.adminKey);
    if (log.length >= count) return log;
    await turn();
  }
}

/** SIGTERM, exit 0, and a ledger in which everything adds up, with an event for each of so many requests. */
async function endWell(server: RunningProcess, eventCount: number): Promise<void> {
  expect(await server.stop()).toBe(0);
  checkLedger(installation.dataDir, { eventCount, isAtRest: true });
}

const countBy = (log: readonly LoggedRequest[]) => {
  const counts: Record<string, number> = {};
  for (const { outcome } of log) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
};

describe("a caller's hang-up closes the upstream's connection within a second, and is one event", () => {
  const halfABody: Script = (upstream) =>
    upstream.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\nxx");
  const streaming =
    (text: string): Script =>
    async (upstream) => {
      await upstream.beginStream();
      if (text !== "") await upstream.sendChunk(text);
    };
  const phases: readonly [string, object, Script, string, object][] = [
    ["before the head, unary", {}, () => undefined, "", { outcome: "cancelled", status_code: 499 }],
    [
      "before the head, streamed",
      { stream: true },
      () => undefined,
      "",
      { outcome: "cancelled", status_code: 499 },
    ],
    ["inside a unary body", {}, halfABody, "", { outcome: "cancelled" }],
    ["after the head of a stream", { stream: true }, streaming(""), "", { outcome: "cancelled" }],
    [
      "after one event",
      { stream: true },
      streaming(HELLO),
      "hello",
      { outcome: "cancelled", status_code: 200 },
    ],
    [
      "after the usage",
      { stream: true },
      streaming(HELLO + USAGE),
      "usage",
      { outcome: "cancelled", units: { input_tokens: 7, output_tokens: 3 } },
    ],
    [
      "after [DONE]",
      { stream: true },
      streaming(HELLO + USAGE + DONE),
      "[DONE]",
      { outcome: "ok", units: { input_tokens: 7, output_tokens: 3 } },
    ],
  ];
  test(
    "in each phase",
    async () => {
      const { upstream, server, port } = await startPair();
      for (const [index, [phase, body, script, seen, expected]] of phases.entries()) {
        const caller = await call(port, body);
        const asked = await upstream.nextCall();
        await script(asked);
        if (seen !== "") await caller.waitFor(seen);
        expect(asked.isClosed()).toBe(false);
        caller.hangUp();
        await withinASecond(asked.closed, `closing the upstream ${phase}`);
        const [event] = await events(server, index + 1);
        expect({ phase, ...event }).toMatchObject({ phase, ...expected });
      }
      await endWell(server, phases.length);
    },
    TEST_MS_MAX,
  );

  test(
    "an embeddings request, and one that stands in line for the only slot, which then reaches no upstream",
    async () => {
      const { upstream, server, port } = await startPair(undefined, {}, { max_concurrency: 1 });
      const first = await call(port, { input: "a" }, "/v1/embeddings");
      const asked = await upstream.nextCall();
      const second = await call(port, {});
      // It is in line once a request that came later on its connection's side has been answered.
      expect((await post(server, { model: "none" })).status).toBe(404);
      second.hangUp();
      await events(server, 1);
      first.hangUp();
      await withinASecond(asked.closed, "closing the upstream");
      expect(countBy(await events(server, 2))).toEqual({ cancelled: 2 });
      expect(upstream.requests).toHaveLength(1);
      const third = post(server);
      await replyWhole(await upstream.nextCall());
      expect((await third).status).toBe(200);
      await endWell(server, 3);
    },
    TEST_MS_MAX,
  );

  test(
    "while connecting, and while the caller reads nothing",
    async () => {
      const { upstream, server, port } = await startPair();
      const hole = await openBlackHole();
      if (hole !== null) {
        await provide(server.url, installation.adminKey, {
          name: "hole",
          baseUrl: hole.baseUrl,
          models: { h: "um" },
        });
        const lost = await call(port, { model: "h" });
        expect((await post(server, { model: "none" })).status).toBe(404);
        lost.hangUp();
        expect(await withinASecond(events(server, 1), "giving up")).toMatchObject([{ outcome: "cancelled" }]);
        hole.stop();
      }
      const caller = await call(port, { stream: true });
      const asked = await upstream.nextCall();
      await asked.beginStream();
      await asked.sendChunk(HELLO);
      await caller.waitFor("hello");
      caller.stopReading();
      const piece = `: ${"x".repeat(100_000)}\n\n`;
      let sentAtMs = performance.now();
      const sending = (async () => {
        while (await asked.sendChunk(piece)) sentAtMs = performance.now();
      })();
      // All the buffers in between are full once nothing has been taken for a while.
      while (performance.now() - sentAtMs < 100) await turn();
      caller.hangUp();
      await withinASecond(sending, "closing the upstream");
      expect((await events(server, hole === null ? 1 : 2))[0]).toMatchObject({
        outcome: "cancelled",
        status_code: 200,
      });
      await endWell(server, hole === null ? 1 : 2);
    },
    TEST_MS_MAX,
  );
});

describe("SIGTERM", () => {
  test(
    "with streams open, a unary call under way, an idle connection and a caller that leaves: all end, all are recorded, exit 0",
    async () => {
      const { upstream, server, port } = await startPair();
      const idle = new Agent({ keepAlive: true });
      await new Promise((resolve, reject) => {
        request(`${server.url}/healthz`, { agent: idle }, (answer) => answer.resume().once("end", resolve))
          .once("error", reject)
          .end();
      });
      const streams = await Promise.all([1, 2, 3].map(() => call(port, { stream: true })));
      const asked = [await upstream.nextCall(), await upstream.nextCall(), await upstream.nextCall()];
      for (const each of asked) {
        await each.beginStream();
        await each.sendChunk(HELLO);
      }
      await Promise.all(streams.map((stream) => stream.waitFor("hello")));
      const unary = post(server);
      const unaryAsked = await upstream.nextCall();
      const leaving = await call(port, { stream: true });
      const leavingAsked = await upstream.nextCall();

      server.signal("SIGTERM");
      while ((await fetch(`${server.url}/healthz`).catch(() => null)) !== null) await turn();
      leaving.hangUp();
      await withinASecond(leavingAsked.closed, "closing the upstream");
      await replyWhole(unaryAsked);
      expect(await (await unary).text()).toBe(COMPLETION);
      for (const each of asked) {
        await each.sendChunk(USAGE + DONE);
        await each.endStream();
      }
      expect(await Promise.all(streams.map((stream) => stream.body()))).toEqual(
        [1, 2, 3].map(() => HELLO + USAGE + DONE),
      );
      expect(await server.exited).toBe(0);
      idle.destroy();

      const again = await installation.start();
      expect(countBy(await requestLog(again.url, installation.adminKey))).toEqual({ ok: 4, cancelled: 1 });
      await endWell(again, 5);
    },
    TEST_MS_MAX,
  );
});

describe("an upstream that fails", () => {
  const faults: readonly [string, Script, RegExp][] = [
    ["closes without a word", (asked) => asked.finish(), /connection_error/],
    ["resets", (asked) => asked.reset(), /connection_error/],
    [
      "sends garbage",
      async (asked) => (await asked.send("\u0000garbage\r\n\r\n"), asked.finish()),
      /connection_error/,
    ],
    ["is silent", () => undefined, /timeout/],
    [
      "ends inside a body",
      async (asked) => (await asked.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nxx"), asked.finish()),
      /connection_error/,
    ],
    [
      "never ends its body",
      async (asked) => {
        await asked.beginStream(["content-type: application/json"]);
        while (await asked.sendChunk("x".repeat(100_000)));
      },
      /response_too_large|timeout/,
    ],
  ];

  test(
    "is a 502 that names the fault, and the next request after its end succeeds in the same process",
    async () => {
      let script: Script = replyWhole;
      const env = { PROXY_MAX_RESPONSE_BYTES: "1000000" };
      const { upstream, server } = await startPair((asked) => script(asked), { env }, { timeout_read: 1 });
      for (const [fault, failing, named] of faults) {
        script = failing;
        const failed = await post(server);
        expect({ fault, status: failed.status, text: await failed.text() }).toEqual({
          fault,
          status: 502,
          text: expect.stringMatching(named),
        });
        expect(failed.headers.get("x-proxy-error-source")).toBe("proxy");
        script = replyWhole;
        expect({ fault, text: await (await post(server)).text() }).toEqual({ fault, text: COMPLETION });
      }
      // One that is gone, and comes back where it was.
      const { port } = upstream;
      await upstream.stop();
      expect((await post(server)).status).toBe(502);
      const back = Bun.serve({ hostname: "127.0.0.1", port, fetch: () => new Response(COMPLETION) });
      expect((await post(server)).status).toBe(200);
      await back.stop(true);
      expect(countBy(await events(server, 2 * faults.length + 2))).toEqual({
        ok: faults.length + 1,
        unreachable: faults.length + 1,
      });
      await endWell(server, 2 * faults.length + 2);
    },
    TEST_MS_MAX,
  );
});

describe("a process that may open 64 files", () => {
  test(
    "answers what it cannot forward with a clear error, loses no event, and is well again when there is room",
    async () => {
      const wrapper = ["/bin/bash", "-c", `ulimit -n ${FILES_MAX}; exec "$0" "$@"`];
      const { upstream, server, port } = await startPair(replyWhole, { wrapper });
      const crowd = await Promise.all(Array.from({ length: FILES_MAX }, () => connect(port)));
      // A connection is let in with its first bytes.
      const asks = crowd.map((_, index) => (index % 2 === 0 ? `POST ${CHAT}` : "GET /admin/v1/requests"));
      for (const [index, { socket }] of crowd.entries()) socket.write(`${asks[index]} HTTP/1.1\r\n`);
      // It lets in as many as it can, and the others wait at its door.
      while (countFiles(server.pid) < FILES_MAX) await turn();
      const body = JSON.stringify({ model: "m" });
      const rest = `host: 127.0.0.1\r\nauthorization: Bearer ${installation.adminKey}\r\ncontent-length: ${body.length}`;
      for (const { socket } of crowd) socket.write(`${rest}\r\n\r\n${body}`);
      // Neither a call to the upstream nor the first report, which needs a thread of its own, has a file to work with.
      const wholeAnswers = () =>
        crowd.map((member) => member.received()).filter((text) => text.endsWith("}"));
      const has = (status: number) => wholeAnswers().some((text) => text.startsWith(`HTTP/1.1 ${status}`));
      while (!has(502) || !has(500)) await turn();
      const answers = wholeAnswers();
      for (const answer of answers) {
        expect(answer).toMatch(/^HTTP\/1\.1 50[02] /);
        expect(answer).toContain("x-proxy-error-source: proxy");
        expect(answer).toMatch(/"provider_unreachable"|"internal_error"/);
      }
      for (const { socket } of crowd) socket.destroy();

      let well = await post(server).catch(() => null);
      while (well?.status !== 200) {
        await turn();
        well = await post(server).catch(() => null);
      }
      expect(await well.text()).toBe(COMPLETION);
      const unreachable = answers.filter((answer) => answer.startsWith("HTTP/1.1 502"));
      // The crowd's last requests may reach the upstream, and the log, after the one that was well.
      const isRecorded = (counts: Record<string, number>) =>
        (counts["unreachable"] ?? 0) >= unreachable.length &&
        (counts["ok"] ?? 0) + (counts["cancelled"] ?? 0) >= upstream.requests.length;
      while (!isRecorded(countBy(await events(server, 0)))) await turn();
      expect(server.output()).not.toMatch(/uncaught|unhandled/);
      expect(await server.stop()).toBe(0);
      checkLedger(installation.dataDir, { isAtRest: true });
    },
    TEST_MS_MAX,
  );
});

describe("a process whose callers have all of its files", () => {
  test(
    "closes what waits to be let in, makes no connection until some are free, and goes on serving those that it has",
    async () => {
      const wrapper = ["/bin/bash", "-c", `ulimit -n ${2 * FILES_MAX}; exec "$0" "$@"`];
      const { server, port } = await startPair(replyWhole, { wrapper });
      const [first, ...others] = await Promise.all(
        Array.from({ length: 3 * FILES_MAX }, () => connect(port)),
      );
      const closed: net.Socket[] = [];
      const ask = `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;
      first?.socket.write(ask);
      while (!(first?.received().includes("200 OK") ?? true)) await turn();
      for (const { socket } of others) {
        socket.once("close", () => closed.push(socket));
        socket.write("G");
      }
      while (!server.messages().includes("all descriptors are in use")) await turn();
      while (closed.length === 0) await turn();
      const newcomer = net.connect(port, "127.0.0.1");
      newcomer.on("error", () => undefined);
      first?.socket.write(ask);
      while ((first?.received().split("200 OK").length ?? 3) < 3) await turn();
      // Its first packet was dropped long before that answer.
      expect(newcomer.connecting).toBe(true);
      expect(closed.length).toBeLessThan(others.length);
      for (const { socket } of others) socket.destroy();
      while (!server.messages().includes("descriptors are free again")) await turn();
      expect((await post(server)).status).toBe(200);
      newcomer.destroy();
      first?.socket.destroy();
      expect(await server.stop()).toBe(0);
    },
    TEST_MS_MAX,
  );
});

/** Connects and sends nothing yet. */
async function connect(port: number) {
  const socket = net.connect(port, "127.0.0.1");
  let received = "";
  socket.on("data", (bytes: Buffer) => (received += bytes.toString("latin1")));
  socket.on("error", () => undefined);
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  return { socket, received: () => received };
}

const countFiles = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

describe("a data folder that cannot be used", () => {
  const serve = () => installation.run("serve", "--port", "0");

  test.each(["usage.db", "catalog.db"])(
    "with a damaged %s: one line, code 78, and the file stays as it is",
    async (name) => {
      const { server } = await startPair(replyWhole);
      expect((await post(server)).status).toBe(200);
      expect(await server.stop()).toBe(0);
      const path = join(installation.dataDir, name);
      // A write-ahead log would be written over the damage, as it should be.
      for (const log of [`${path}-wal`, `${path}-shm`]) rmSync(log, { force: true });
      const file = openSync(path, "r+");
      writeSync(file, Buffer.alloc(statSync(path).size, "no database "));
      closeSync(file);
      const before = readFileSync(path);
      const done = await serve();
      expect(errorsOf(done.messages)).toEqual([
        expect.stringMatching(new RegExp(`^The file .*${name} is damaged or is not a database`)),
      ]);
      expect(`${done.code} ${done.data}`).toBe("78 ");
      expect(Buffer.compare(readFileSync(path), before)).toBe(0);
    },
    TEST_MS_MAX,
  );

  test(
    "that is read-only: one line and code 77, whoever starts it",
    async () => {
      const isRoot = process.getuid?.() === 0;
      // Root may write anywhere, so the server is run by somebody else.
      const [user, as] = isRoot
        ? [65_534, ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]]
        : [process.getuid?.() ?? 0, []];
      if (isRoot && Bun.which("setpriv") === null) return console.log("skipped: there is no setpriv");
      chmodSync(installation.folder, 0o755);
      for (const name of ["", "catalog.db", "secret.key"])
        chownSync(join(installation.dataDir, name), user, user);
      chmodSync(installation.dataDir, 0o500);
      const env = { PROXY_DATA_DIR: installation.dataDir };
      const done = await runProcess([...as, lockport, "serve", "--port", "0"], { env });
      chmodSync(installation.dataDir, 0o700);
      expect(errorsOf(done.messages)).toEqual([expect.stringMatching(/^The folder .* cannot be written to/)]);
      expect(`${done.code} ${done.data}`).toBe("77 ");
    },
    TEST_MS_MAX,
  );
});

describe("a disk that confirms no write", () => {
  test(
    "costs no answer and no event, is told in the log, and is forgotten when it is well again",
    async () => {
      const { server } = await startPair(replyWhole);
      const fault = await faultSyncs(server.pid, "error=EIO");
      if (fault === null) return console.log("skipped: strace is not here, or may not attach");
      const told = () => server.output().includes("the disk did not confirm a write");
      let asked = 0;
      while (!told() || asked < 5) {
        expect(await (await post(server)).text()).toBe(COMPLETION);
        asked += 1;
      }
      await fault.end();
      expect((await post(server)).status).toBe(200);
      expect(countBy(await events(server, asked + 1))).toEqual({ ok: asked + 1 });
      expect(await server.stop()).toBe(0);

      const again = await installation.start();
      await endWell(again, asked + 1);
    },
    TEST_MS_MAX,
  );
});

describe("a disk that syncs slowly", () => {
  test(
    "holds up the change that waits for it, and no other request",
    async () => {
      const { server } = await startPair(replyWhole);
      const fault = await faultSyncs(server.pid, `delay_enter=${SLOW_SYNC_US}`);
      if (fault === null) return console.log("skipped: strace is not here, or may not attach");
      const answered: string[] = [];
      const change = callApi(server.url, installation.adminKey, "POST", "/my/keys", {}).then((response) => {
        answered.push("key");
        return toKey(response);
      });
      while (!answered.includes("key")) {
        expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
        answered.push("health");
      }
      // A thread that waited for the disk itself would have answered one of them, or two.
      expect(answered.filter((name) => name === "health").length).toBeGreaterThan(10);
      const key = await change;
      await fault.end();
      // Every answered change is in the file, whatever happens to the process.
      server.signal("SIGKILL");
      await server.exited;
      const again = await installation.start();
      expect((await callApi(again.url, key, "GET", "/my/keys")).status).toBe(200);
    },
    TEST_MS_MAX,
  );
});

describe("the log of changes", () => {
  test(
    "is copied into its database and begun anew by other threads than the one that serves",
    async () => {
      const { server } = await startPair(replyWhole);
      const output = join(installation.folder, "syncs");
      const trace = await traceSyncs(server.pid, output);
      if (trace === null) return console.log("skipped: strace is not here, or may not attach");
      const make = async (count: number) => {
        const makeOne = () => callApi(server.url, installation.adminKey, "POST", "/my/keys", {});
        for (const { status } of await Promise.all(Array.from({ length: count }, makeOne)))
          expect(status).toBe(201);
      };
      const log = join(installation.dataDir, "catalog.db-wal");
      const syncs = (file: string) =>
        readFileSync(output, "utf8")
          .split("\n")
          .filter((line) => line.includes(`/${file}>`));
      // Fewer than a principal may have.
      for (let round = 0; round < 8 && syncs("catalog.db").length === 0; round += 1) await make(50);
      while (statSync(log).size > LOG_BYTES_MAX) await turn();
      await make(1);
      await trace.end();
      expect(syncs("catalog.db").length).toBeGreaterThan(0);
      const byServingThread = [...syncs("catalog.db"), ...syncs("catalog.db-wal")].filter(
        (line) => Number.parseInt(line, 10) === server.pid,
      );
      expect(byServingThread).toEqual([]);
      expect(await server.stop()).toBe(0);
      checkLedger(installation.dataDir, { isAtRest: true });
    },
    TEST_MS_MAX,
  );
});

describe("a disk that does not confirm a change", () => {
  test(
    "refuses it as internal_error and never as made, and takes changes again when it is well",
    async () => {
      const { server } = await startPair(replyWhole);
      const fault = await faultSyncs(server.pid, "error=EIO");
      if (fault === null) return console.log("skipped: strace is not here, or may not attach");
      const make = () => callApi(server.url, installation.adminKey, "POST", "/my/keys", {});
      const refused = await make();
      expect([refused.status, await refused.text()]).toEqual([
        500,
        expect.stringContaining("internal_error"),
      ]);
      expect(await (await post(server)).text()).toBe(COMPLETION);
      await fault.end();
      const made = await make();
      expect(made.status).toBe(201);
      const key = await toKey(made);
      expect((await callApi(server.url, key, "GET", "/my/keys")).status).toBe(200);
    },
    TEST_MS_MAX,
  );
});

async function toKey(response: Response): Promise<string> {
  const made: any = await response.json();
  return made.key;
}

const SYNCS = "fdatasync,fsync";

/** Does this to every sync of the process until it is ended; null when it may not be traced. */
const faultSyncs = (pid: number, what: string) => traceSyncs(pid, "/dev/null", `inject=${SYNCS}:${what}`);

/** Writes which thread syncs which file, until it is ended; null when the process may not be traced. */
async function traceSyncs(
  pid: number,
  output: string,
  ...more: readonly string[]
): Promise<{ end(): Promise<void> } | null> {
  if (Bun.which("strace") === null) return null;
  const what = [`trace=${SYNCS}`, ...more].flatMap((one) => ["-e", one]);
  const child = Bun.spawn({
    cmd: ["strace", "-f", "-y", "-o", output, ...what, "-p", String(pid)],
    stdio: ["ignore", "ignore", "ignore"],
  });
  const isTraced = (status: string) => !/^TracerPid:\t0$/m.test(status);
  while (!readThreads(pid).every(isTraced)) {
    if (child.exitCode !== null) return null;
    await turn();
  }
  return {
    async end() {
      child.kill("SIGINT");
      await child.exited;
    },
  };
}

/** The kernel's status of each thread; one that has just ended is left out. */
function readThreads(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      return [readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8")];
    } catch {
      return [];
    }
  });
}
