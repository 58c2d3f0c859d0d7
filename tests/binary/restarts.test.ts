import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findFreePort } from "../support/free-port.ts";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { makeInstallation, provide, type Installation } from "../support/installation.ts";
import { startProcess, type RunningProcess } from "../support/process.ts";
import { readNumber } from "../support/scale.ts";
import { until } from "../support/waiting.ts";
import { startMixedUpstream, type MixedUpstream } from "./mixed-load.ts";

/** A rolling restart behind the load balancers of `docs/scaling.md`, set up with the lines that stand there. */

const RESTARTS = readNumber("LOCKPORT_RESTARTS") ?? 2;
const SETUP_MS_MAX = 120_000;
const TEST_MS_MAX = 120_000 + RESTARTS * 30_000;
const CALLERS = 16;
const PAGE = readFileSync(join(import.meta.dir, "../../docs/scaling.md"), "utf8");

interface Ports {
  readonly front: number;
  readonly replicas: readonly [number, number];
}

interface Balancer {
  readonly name: string;
  /** The name of its configuration file, what stands in it around the lines of the page, and its arguments. */
  readonly file: string;
  readonly wrap: (lines: string, ports: Ports) => string;
  readonly args: readonly string[];
}

const BALANCERS: readonly Balancer[] = [
  {
    name: "haproxy",
    file: "haproxy.cfg",
    wrap: (lines, { front }) => `defaults
  mode http
  timeout client 30s
  timeout server 30s
frontend in
  bind 127.0.0.1:${front}
  default_backend lockport
${lines}`,
    args: ["-db", "-f", "haproxy.cfg"],
  },
  {
    name: "nginx",
    file: "nginx.conf",
    wrap(lines, { front }) {
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (kind) => `${kind}_temp_path ${kind};`,
      );
      const served = lines.replace("127.0.0.1:8080", `127.0.0.1:${front}`);
      return `pid pid; daemon off; master_process off; events {} http { access_log off; ${temporary.join(" ")} ${served} }`;
    },
    args: ["-p", ".", "-c", "nginx.conf", "-e", "error.log"],
  },
  {
    name: "caddy",
    file: "Caddyfile",
    wrap: (lines, { front }) =>
      `{\n\tadmin off\n\tauto_https off\n}\nhttp://:${front} {\n\tbind 127.0.0.1\n${lines}}\n`,
    args: ["run", "--adapter", "caddyfile", "--config", "Caddyfile"],
  },
];

let lockport: string;
let upstream: MixedUpstream;
let folder: ReturnType<typeof makeFolder>;
let installations: readonly [Installation, Installation];
const running = new Set<{ kill(): void; readonly exited: Promise<unknown> }>();

beforeAll(async () => {
  lockport = await executable();
}, SETUP_MS_MAX);
beforeEach(async () => {
  upstream = await startMixedUpstream();
  folder = makeFolder();
  installations = [await makeInstallation(lockport), await makeInstallation(lockport)];
}, SETUP_MS_MAX);
afterEach(async () => {
  for (const child of running) child.kill();
  await Promise.all(Array.from(running, ({ exited }) => exited));
  running.clear();
  for (const installation of installations) await installation.remove();
  await upstream.stop();
  folder.remove();
}, SETUP_MS_MAX);

describe("a rolling restart", () => {
  for (const balancer of BALANCERS) {
    const path = Bun.which(balancer.name, { PATH: `${process.env["PATH"]}:/usr/sbin` });
    if (path === null) console.log(`skipped: there is no ${balancer.name}`);
    test.skipIf(path === null)(
      `behind ${balancer.name}, as the page sets it up, breaks no request`,
      async () => {
        const ports: Ports = {
          front: findFreePort(),
          replicas: [findFreePort(), findFreePort()],
        };
        const servers: [RunningProcess, RunningProcess] = [await start(ports, 0), await start(ports, 1)];
        for (const { url } of servers) {
          const { adminKey } = installations[0];
          await provide(url, adminKey, { name: "mixed", baseUrl: upstream.baseUrl, models: { m: "um" } });
        }
        await startBalancer(path ?? "", balancer, ports);
        const load = startLoad(ports.front);
        for (let restart = 0; restart < RESTARTS; restart += 1) {
          const index = restart % 2 === 0 ? 0 : 1;
          servers[index].signal("SIGTERM");
          expect(await servers[index].exited).toBe(0);
          servers[index] = await start(ports, index);
          await until(
            () => hasServed(servers[index].url),
            () => "the load balancer does not see it again",
          );
        }
        const { sent, broken } = await load.stop();
        console.log(`${balancer.name}: ${sent} requests over ${RESTARTS} restarts, ${broken.length} broken`);
        expect(broken).toEqual([]);
        expect(sent).toBeGreaterThan(RESTARTS * CALLERS);
        // None reached the provider twice.
        expect(Array.from(upstream.arrivals.values()).filter((count) => count !== 1)).toEqual([]);
        for (const server of servers) expect(await server.stop()).toBe(0);
      },
      TEST_MS_MAX,
    );
  }
});

async function start({ replicas }: Ports, index: 0 | 1): Promise<RunningProcess> {
  const server = await startProcess([lockport], {
    env: { PROXY_DATA_DIR: installations[index].dataDir },
    port: replicas[index],
  });
  running.add({ kill: () => server.signal("SIGKILL"), exited: server.exited });
  return server;
}

async function startBalancer(path: string, { name, file, wrap, args }: Balancer, ports: Ports) {
  const lines = new RegExp(`\`\`\`${name}\n(.*?)\`\`\``, "s").exec(PAGE)?.[1] ?? "";
  const [first, second] = ports.replicas;
  const set = lines.replaceAll("127.0.0.1:4000", `127.0.0.1:${first}`);
  writeFileSync(
    join(folder.path, file),
    wrap(set.replaceAll("127.0.0.1:4001", `127.0.0.1:${second}`), ports),
  );
  const child = Bun.spawn([path, ...args], {
    cwd: folder.path,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder.path },
    stdio: ["ignore", "ignore", "pipe"],
  });
  running.add({ kill: () => child.kill("SIGKILL"), exited: child.exited });
  const isUp = () =>
    fetch(`http://127.0.0.1:${ports.front}/healthz`).then(
      ({ status }) => status === 200,
      () => false,
    );
  await until(isUp, () => `${name} does not start`);
}

/** True when a request to a model has been answered since its start. */
async function hasServed(url: string): Promise<boolean> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return /^proxy_requests_total\{.*\} [1-9]/m.test(text);
}

function startLoad(port: number) {
  let sent = 0;
  const broken: string[] = [];
  const stopping = new AbortController();
  const caller = async () => {
    while (!stopping.signal.aborted) {
      sent += 1;
      const id = `r${sent}`;
      try {
        const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${installations[0].adminKey}`, "x-proxy-tags": `id:${id}` },
          body: JSON.stringify({ model: "m", user: id, kind: "unary" }),
          keepalive: false,
        });
        await response.text();
        if (response.status !== 200) broken.push(`${id} at ${performance.now()}: ${response.status}`);
      } catch (cause) {
        broken.push(`${id}: ${String(cause)}`);
      }
    }
  };
  const callers = Array.from({ length: CALLERS }, caller);
  return {
    async stop() {
      stopping.abort();
      await Promise.all(callers);
      return { sent, broken };
    },
  };
}
