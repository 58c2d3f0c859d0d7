import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import net from "node:net";
import { listRoutes } from "#http/local.ts";
import { executable } from "../support/executable.ts";
import { callApi, makeInstallation, type Installation } from "../support/installation.ts";
import type { RunningProcess } from "../support/process.ts";
import { busyLimit } from "../support/waiting.ts";

/** The goals of the whole process (reliability). */
const RESIDENT_BYTES_MAX = 512e6;
const HEALTH_MS_MAX = 1_000;
/** More than a JSON body may have. */
const BODY_BYTES = 1_200_000;
const PATHS = listRoutes()
  .filter(({ method }) => method === "POST")
  .map(({ path }) => path);

let installation: Installation;
let server: RunningProcess;
let upstream: Bun.Server<unknown>;
let relayToken: string;
const credentials: { [name: string]: string } = { nobody: "" };
beforeAll(async () => {
  upstream = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => Response.json({ bytes: (await request.bytes()).length }),
  });
  installation = await makeInstallation(await executable());
  server = await installation.start({
    env: { PROXY_MESSAGES_BASE_URL: `http://127.0.0.1:${upstream.port}` },
  });
  const admin = installation.adminKey;
  const made = await callApi(server.url, admin, "POST", "/my/relay-tokens", {});
  relayToken = ((await made.json()) as { token: string }).token;
  const member = await installation.run("principal", "create", "ada");
  expect(member.code).toBe(0);
  const key = await installation.run("key", "create", "--principal", "ada");
  expect(key.messages + String(key.code)).toEndWith("0");
  credentials["member"] = key.data.trim();
  credentials["admin"] = admin;
}, 60_000);
afterAll(async () => {
  await installation.remove();
  await upstream.stop(true);
});

/** Sends the whole body, as far as it is taken, and resolves to the status of the answer when the connection has closed. */
function send(path: string, key: string, chunkBytes: number): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const authorization = key === "" ? "" : `authorization: Bearer ${key}\r\n`;
  const head = `POST ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n${authorization}content-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n`;
  const chunk = `${chunkBytes.toString(16)}\r\n${"x".repeat(chunkBytes)}\r\n`;
  const body = Buffer.from(`${chunk.repeat(Math.ceil(BODY_BYTES / chunkBytes))}0\r\n\r\n`);
  return new Promise((resolve) => {
    let answer = "";
    const socket = net.connect(Number(port), hostname, () => {
      socket.write(head);
      socket.write(body);
    });
    socket.on("data", (piece) => (answer += piece.toString("latin1")));
    // A refusal may close the connection while the rest is still being sent.
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(answer.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length)));
  });
}

/** Asks for /healthz again and again, and tells the longest time that an answer took. */
async function slowestHealthMs(during: Promise<unknown>): Promise<number> {
  const over = new AbortController();
  void during.finally(() => over.abort());
  let slowestMs = 0;
  while (!over.signal.aborted) {
    const askedMs = performance.now();
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    slowestMs = Math.max(slowestMs, performance.now() - askedMs);
  }
  return slowestMs;
}

test.each([1, 100])(
  "a body in chunks of %d bytes, whoever sends it to whichever route, neither takes the memory nor keeps /healthz from answering",
  async (chunkBytes) => {
    for (const pattern of PATHS) {
      const path = pattern.replace(":token/*", `${relayToken}/v1/messages`).replace(":id", "principal_x");
      const sent = Promise.all(Object.values(credentials).map((key) => send(path, key, chunkBytes)));
      const slowestMs = await slowestHealthMs(sent);
      const statuses = await sent;
      expect({ pattern, statuses, failed: statuses.some((status) => status >= "500") }).toEqual({
        pattern,
        statuses,
        failed: false,
      });
      expect(slowestMs, pattern).toBeLessThan(busyLimit(HEALTH_MS_MAX));
    }
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1];
    expect(Number(peak) * 1024).toBeLessThan(RESIDENT_BYTES_MAX);
  },
  120_000,
);

test("a route without credentials reads nothing past its limit: a body that never ends is 413, and its connection closes", async () => {
  const { hostname, port } = new URL(server.url);
  for (const path of ["/auth/password", "/auth/login-link"]) {
    const answer = await new Promise<string>((resolve) => {
      let text = "";
      const socket = net.connect(Number(port), hostname, () => {
        socket.write(
          `POST ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
        );
        // One more than may come, and no end.
        socket.write(`4001\r\n${"x".repeat(0x4001)}\r\n`);
      });
      socket.on("data", (piece) => (text += piece.toString("latin1")));
      socket.on("close", () => resolve(text));
    });
    expect(answer).toStartWith("HTTP/1.1 413 ");
    expect(answer.toLowerCase()).toContain("\r\nconnection: close\r\n");
    expect(answer).toContain('"request_too_large"');
  }
});
