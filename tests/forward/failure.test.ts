import { afterEach, describe, expect, test } from "bun:test";
import net from "node:net";
import type { Provider } from "#catalog/provider.ts";
import { type ConnectionFailure, toConnectionFailure } from "#kernel/system-code.ts";
import type { UpstreamScript } from "../support/upstream.ts";
import { startUpstream } from "../support/upstream.ts";
import { openCaller } from "./caller.ts";
import { CHAT, SSE_HELLO, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

const open: { stop(): unknown }[] = [];
afterEach(async () => {
  await stopPairs();
  for (const each of open.splice(0)) await each.stop();
});

const fixture = (name: string) => Bun.file(`${import.meta.dir}/../fixtures/tls/${name}`).text();
const [key = "", cert = ""] = await Promise.all(["upstream.key.pem", "upstream.cert.pem"].map(fixture));

async function secure(): Promise<string> {
  const upstream = await startUpstream({ tls: { key, cert }, script: (call) => call.reply({ body: "{}" }) });
  open.push(upstream);
  return upstream.baseUrl;
}

/** A host that says `answer` to whatever comes, and nothing when there is none. */
async function listen(answer?: string): Promise<string> {
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", () => void (answer !== undefined && socket.end(answer)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({ stop: () => server.close() });
  const address = server.address();
  return `https://127.0.0.1:${typeof address === "object" ? address?.port : 0}/v1`;
}

interface Cell {
  readonly baseUrl?: () => Promise<string> | string;
  readonly script?: UpstreamScript;
  readonly provider?: Partial<Provider>;
  readonly body?: object;
  readonly error: "connection_error" | "timeout";
  readonly failure: ConnectionFailure;
}

const CELLS: { readonly [name: string]: Cell } = {
  "nothing listens": {
    baseUrl: () => "http://127.0.0.1:1/v1",
    error: "connection_error",
    failure: "refused",
  },
  "its name is unknown": {
    baseUrl: () => "http://no-such-host.invalid/v1",
    error: "connection_error",
    failure: "name_not_found",
  },
  "nobody trusts its certificate": { baseUrl: secure, error: "connection_error", failure: "tls" },
  "it speaks no TLS": {
    baseUrl: () => listen("HTTP/1.1 400 Bad Request\r\n\r\n"),
    error: "connection_error",
    failure: "tls",
  },
  "it closes without a word": {
    script: (call) => call.finish(),
    error: "connection_error",
    failure: "reset",
  },
  "it breaks a body off": {
    script: async (call) => (
      await call.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\nxx"),
      call.reset()
    ),
    error: "connection_error",
    failure: "reset",
  },
  "it breaks a stream off": {
    script: async (call) => (await call.beginStream(), call.reset()),
    body: STREAMED_CHAT,
    error: "connection_error",
    failure: "reset",
  },
  "its head makes no sense": {
    script: (call) => call.send("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"),
    error: "connection_error",
    failure: "malformed",
  },
  "its status is none": {
    script: (call) => call.send("HTTP/1.1 999 No\r\ncontent-length: 0\r\n\r\n"),
    error: "connection_error",
    failure: "malformed",
  },
  "TLS is not answered in time": {
    baseUrl: () => listen(),
    provider: { timeoutConnectSeconds: 0.1 },
    error: "timeout",
    failure: "connect_timeout",
  },
  "it does not answer in time": {
    script: () => undefined,
    provider: { timeoutReadSeconds: 0.1 },
    error: "timeout",
    failure: "read_timeout",
  },
};

describe("an upstream that gives no answer: its row and the log say why, and its caller is not told", () => {
  test.each(Object.entries(CELLS))(
    "%s",
    async (_, { baseUrl, script, provider, body = CHAT, error, failure }) => {
      const { proxy } = await startPair(script, {
        ...(baseUrl !== undefined && { baseUrl: await baseUrl() }),
        ...(provider !== undefined && { provider }),
      });
      for (let sent = 0; sent < 2; sent += 1) {
        const response = await proxy.post(body);
        expect(response.status).toBe(502);
        // What a caller gets is made of this alone.
        expect(await response.json()).toEqual({ unreachable: error });
      }
      await proxy.drained();
      for (const event of proxy.events)
        expect(event).toMatchObject({ outcome: "unreachable", errorKind: error, failure, statusCode: 502 });
      expect(proxy.events).toHaveLength(2);
      // Once for as many as fail in a minute.
      expect(proxy.logLines).toEqual([
        { message: "a provider gave no answer", fields: { provider: "acme", failure } },
      ]);
    },
  );

  test("it is too slow for a queue of max_concurrency", async () => {
    const { upstream, proxy } = await startPair(undefined, {
      provider: { maxConcurrency: 1, timeoutReadSeconds: 0.3 },
    });
    const running = openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const call = await upstream.nextCall();
    await call.beginStream();
    await call.sendChunk(SSE_HELLO);
    const keepsAlive = setInterval(() => void call.sendChunk(SSE_HELLO), 50);
    expect(await (await proxy.post(CHAT)).json()).toEqual({ unreachable: "timeout" });
    clearInterval(keepsAlive);
    expect(proxy.events).toMatchObject([{ errorKind: "timeout", failure: "queue_timeout" }]);
    (await running).hangUp();
    await proxy.drained();
  });

  test("an answer has no failure, whatever its status", async () => {
    const { proxy } = await startPair((call) => call.reply({ status: 500, body: "{}" }));
    await (await proxy.post(CHAT)).text();
    expect((await proxy.onlyEvent()).failure).toBeUndefined();
    expect(proxy.logLines).toEqual([]);
  });
});

test("codes of the system are told apart, and one that says nothing is no failure", () => {
  const kinds = [
    "EHOSTUNREACH",
    "ENETUNREACH",
    "EAI_AGAIN",
    "CERT_HAS_EXPIRED",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
  ];
  expect(kinds.map(toConnectionFailure)).toEqual(["no_route", "no_route", "name_not_found", "tls", "tls"]);
  expect(toConnectionFailure("EWHATEVER")).toBeUndefined();
  expect(toConnectionFailure(null)).toBeUndefined();
});
