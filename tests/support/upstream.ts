import { dlopen, ptr } from "bun:ffi";
import net from "node:net";
import tls from "node:tls";
import "./loopback.ts";

/** A request exactly as an upstream received it. */
export interface ReceivedRequest {
  readonly method: string;
  readonly target: string;
  /** The head's bytes as Latin-1 text, without the empty line at its end. */
  readonly head: string;
  /** Names in lower case; a repeated one holds its last value. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** One request together with the connection that it came on, for a script to answer. */
export interface UpstreamCall {
  readonly request: ReceivedRequest;
  /** Sends bytes as they are. False once the connection has gone. Resolves when the system has taken them. */
  send(bytes: string | Uint8Array): Promise<boolean>;
  /** One chunk of a chunked body. */
  sendChunk(bytes: string | Uint8Array): Promise<boolean>;
  /** A whole response with a content-length. */
  reply(response: ScriptedResponse): Promise<boolean>;
  /** The head of a chunked event stream. */
  beginStream(headers?: readonly string[]): Promise<boolean>;
  /** The last chunk. */
  endStream(): Promise<boolean>;
  /** Closes with FIN. */
  finish(): void;
  /** Closes with RST. */
  reset(): void;
  /** Fulfilled when the connection has closed, from whichever side. */
  readonly closed: Promise<void>;
  readonly isClosed: () => boolean;
}

export interface ScriptedResponse {
  readonly status?: number;
  readonly headers?: readonly string[];
  readonly body?: string | Uint8Array;
}

export type UpstreamScript = (call: UpstreamCall) => unknown;

export interface ScriptedUpstream {
  /** `http://127.0.0.1:<port>/v1` */
  readonly baseUrl: string;
  readonly port: number;
  /** Complete requests, in order of arrival. */
  readonly requests: readonly ReceivedRequest[];
  /** The request that came last; throws when none did. */
  lastRequest(): ReceivedRequest;
  /** The next request that no `nextCall` has given yet; it is then answered by whoever awaits it. */
  nextCall(): Promise<UpstreamCall>;
  /** Connections ever accepted. */
  connectionCount(): number;
  /** Fulfilled when no connection is open. */
  allClosed(): Promise<void>;
  stop(): Promise<void>;
}

export interface UpstreamOptions {
  /** Answers each request; without it requests wait for `nextCall`. */
  readonly script?: UpstreamScript;
  readonly tls?: { readonly key: string; readonly cert: string };
}

/**
 * A raw upstream on 127.0.0.1: it records the bytes of each request and plays a script of bytes, pauses, breaks and
 * resets. Nothing of an HTTP library stands between a test and the wire.
 */
export async function startUpstream(options: UpstreamOptions = {}): Promise<ScriptedUpstream> {
  const requests: ReceivedRequest[] = [];
  const waitingCalls: UpstreamCall[] = [];
  const waitingTests: ((call: UpstreamCall) => void)[] = [];
  const sockets = new Set<net.Socket>();
  let connectionCount = 0;

  const onCall = (call: UpstreamCall) => {
    requests.push(call.request);
    if (options.script !== undefined) {
      void (async () => options.script?.(call))();
      return;
    }
    const waiting = waitingTests.shift();
    if (waiting === undefined) waitingCalls.push(call);
    else waiting(call);
  };
  const onSocket = (socket: net.Socket) => {
    connectionCount += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    serveSocket(socket, onCall);
  };
  const server =
    options.tls === undefined
      ? net.createServer({ allowHalfOpen: true }, onSocket)
      : tls.createServer(options.tls, onSocket);
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the upstream does not listen");
  const { port } = address;

  return {
    baseUrl: `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${port}/v1`,
    port,
    requests,
    lastRequest() {
      const last = requests.at(-1);
      if (last === undefined) throw new Error("no request reached the upstream");
      return last;
    },
    nextCall() {
      const call = waitingCalls.shift();
      return call === undefined
        ? new Promise((resolve) => waitingTests.push(resolve))
        : Promise.resolve(call);
    },
    connectionCount: () => connectionCount,
    async allClosed() {
      for (const socket of sockets) {
        if (!socket.closed) await new Promise<void>((resolve) => socket.once("close", () => resolve()));
      }
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function serveSocket(socket: net.Socket, onCall: (call: UpstreamCall) => void): void {
  let received: Buffer = Buffer.alloc(0);
  let gone = false;
  const closed = new Promise<void>((resolve) => {
    const onGone = () => {
      gone = true;
      resolve();
    };
    socket.on("close", onGone);
    // The other side has closed: that it can no longer be written to would show only later.
    socket.on("end", () => {
      socket.destroy();
      onGone();
    });
  });
  socket.on("error", () => undefined);
  socket.on("data", (bytes: Buffer) => {
    received = received.length === 0 ? bytes : Buffer.concat([received, bytes]);
    for (;;) {
      const parsed = parseRequest(received);
      if (parsed === null) return;
      received = parsed.rest;
      onCall(createCall(socket, parsed.request, closed, () => gone));
    }
  });
}

function createCall(
  socket: net.Socket,
  request: ReceivedRequest,
  closed: Promise<void>,
  isClosed: () => boolean,
): UpstreamCall {
  const send = (bytes: string | Uint8Array) => {
    if (isClosed()) return Promise.resolve(false);
    const taken = new Promise<boolean>((resolve) => {
      socket.write(toBuffer(bytes), (error) => resolve(!error));
    });
    return Promise.race([taken, closed.then(() => false)]);
  };
  const sendChunk = (bytes: string | Uint8Array) => {
    const chunk = toBuffer(bytes);
    return send(Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]));
  };
  return {
    request,
    send,
    sendChunk,
    reply({ status = 200, headers = ["content-type: application/json"], body = "" }) {
      const bytes = toBuffer(body);
      const lines = [`HTTP/1.1 ${status} Scripted`, ...headers, `content-length: ${bytes.length}`];
      return send(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), bytes]));
    },
    beginStream: (headers = ["content-type: text/event-stream"]) =>
      send(`${["HTTP/1.1 200 OK", ...headers, "transfer-encoding: chunked"].join("\r\n")}\r\n\r\n`),
    endStream: () => send("0\r\n\r\n"),
    finish: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
    closed,
    isClosed,
  };
}

function toBuffer(bytes: string | Uint8Array): Buffer {
  return typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes);
}

function parseRequest(received: Buffer): { request: ReceivedRequest; rest: Buffer } | null {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return null;
  const head = received.toString("latin1", 0, headEnd);
  const [requestLine = "", ...lines] = head.split("\r\n");
  const [method = "", target = ""] = requestLine.split(" ");
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const bodyStart = headEnd + 4;
  const body = readBody(received.subarray(bodyStart), headers);
  if (body === null) return null;
  return {
    request: { method, target, head, headers, body: body.bytes },
    rest: received.subarray(bodyStart + body.size),
  };
}

function readBody(
  received: Buffer,
  headers: ReadonlyMap<string, string>,
): { bytes: Buffer; size: number } | null {
  if (headers.get("transfer-encoding") === undefined) {
    const size = Number(headers.get("content-length") ?? 0);
    return received.length < size ? null : { bytes: Buffer.from(received.subarray(0, size)), size };
  }
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = received.indexOf("\r\n", at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(received.toString("latin1", at, lineEnd), 16);
    if (Number.isNaN(size)) throw new Error("a chunk of the request has no size");
    if (received.length < lineEnd + 2 + size + 2) return null;
    if (size === 0) return { bytes: Buffer.concat(chunks), size: lineEnd + 4 };
    chunks.push(received.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 4 + size;
  }
}

export interface BlackHole {
  readonly baseUrl: string;
  stop(): void;
}

/**
 * An address on loopback that answers no connection attempt: a listening socket that nobody accepts from, with its
 * backlog used up, so that the kernel drops every further SYN. Linux only; null elsewhere.
 */
export async function openBlackHole(): Promise<BlackHole | null> {
  if (process.platform !== "linux") return null;
  const libc = dlopen("libc.so.6", {
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    bind: { args: ["i32", "ptr", "i32"], returns: "i32" },
    listen: { args: ["i32", "i32"], returns: "i32" },
    getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
    close: { args: ["i32"], returns: "i32" },
  });
  const { socket, bind, listen, getsockname, close } = libc.symbols;
  const [AF_INET, SOCK_STREAM] = [2, 1];
  const listener = socket(AF_INET, SOCK_STREAM, 0);
  const address = Buffer.from([AF_INET, 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  const length = new Int32Array([address.length]);
  if (bind(listener, ptr(address), address.length) !== 0 || listen(listener, 0) !== 0)
    throw new Error("no black hole");
  getsockname(listener, ptr(address), ptr(length));
  const port = address.readUInt16BE(2);
  // A backlog of 0 takes one connection; the second is already left in the dark.
  const first = net.connect(port, "127.0.0.1");
  await new Promise<void>((resolve) => first.once("connect", resolve));
  const second = net.connect(port, "127.0.0.1");
  for (const filler of [first, second]) filler.on("error", () => undefined);
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    stop() {
      first.destroy();
      second.destroy();
      close(listener);
      libc.close();
    },
  };
}
