import type { Socket } from "bun";

/** A stream upstream and raw clients in one process, so that both ends read one clock. */

const STREAM_HEAD =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
const OK_LINE = Buffer.from("HTTP/1.1 200");
const MARK = Buffer.from('"content":"');

export interface StreamUpstream {
  readonly port: number;
  /** Streams that are open now. */
  readonly open: () => number;
  /** Sends one event, stamped with the clock, on every open stream. */
  sendAll(): void;
  /** The same on one stream, each in its turn. */
  sendNext(): void;
  /** Sends the usage event and `[DONE]` and ends every stream. */
  finishAll(): void;
  stop(): void;
}

export function startStreamUpstream(): StreamUpstream {
  const sockets = new Set<Socket<{ head: string }>>();
  let turn = 0;
  const listener = Bun.listen<{ head: string }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = { head: "" };
      },
      data(socket, bytes) {
        if (sockets.has(socket)) return;
        socket.data.head += bytes.toString("latin1");
        if (!isRequestComplete(socket.data.head)) return;
        socket.write(STREAM_HEAD);
        sockets.add(socket);
      },
      close(socket) {
        sockets.delete(socket);
      },
    },
  });
  return {
    port: listener.port,
    open: () => sockets.size,
    sendAll() {
      for (const socket of sockets) socket.write(toChunk(toEvent(performance.now().toFixed(4))));
    },
    sendNext() {
      turn += 1;
      const open = [...sockets];
      open[turn % open.length]?.write(toChunk(toEvent(performance.now().toFixed(4))));
    },
    finishAll() {
      const usage = `data: {"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":21,"completion_tokens":8}}\n\ndata: [DONE]\n\n`;
      for (const socket of sockets) {
        socket.write(`${toChunk(usage)}0\r\n\r\n`);
        socket.data.head = "";
      }
      sockets.clear();
    },
    stop: () => listener.stop(true),
  };
}

function isRequestComplete(head: string): boolean {
  const end = head.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  return head.length >= end + 4 + length;
}

function toEvent(content: string): string {
  return `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench-upstream","choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]}\n\n`;
}

function toChunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

export interface StreamClient {
  readonly events: () => number;
  close(): void;
}

/** Opens one stream and reports the delay of each event in milliseconds. Its head may come only with its first event. */
export async function openStream(
  request: string,
  port: number,
  onDelay: (delayMs: number) => void,
): Promise<StreamClient> {
  let events = 0;
  let sawHead = false;
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data(_, bytes) {
        const nowMs = performance.now();
        if (!sawHead) {
          sawHead = true;
          if (!bytes.subarray(0, 12).equals(OK_LINE)) throw new Error(bytes.toString("latin1", 0, 400));
        }
        for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + MARK.length)) {
          events += 1;
          onDelay(
            nowMs - Number.parseFloat(bytes.toString("latin1", at + MARK.length, at + MARK.length + 24)),
          );
        }
      },
    },
  });
  socket.write(request);
  return { events: () => events, close: () => socket.terminate() };
}

export function toRequest(host: string, authorization: string, body: string): string {
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: ${host}\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** One keep-alive connection that answers one unary request at a time, with the time each took. */
export async function openUnary(
  port: number,
): Promise<{ send(request: string): Promise<number>; close(): void }> {
  let pending: PromiseWithResolvers<number> | null = null;
  let sentAt = 0;
  let received = "";
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data(_, bytes) {
        received += bytes.toString("latin1");
        if (!isRequestComplete(received)) return;
        const done = pending;
        pending = null;
        const ok = received.startsWith("HTTP/1.1 200");
        const text = received;
        received = "";
        if (ok) done?.resolve(performance.now() - sentAt);
        else done?.reject(new Error(text.slice(0, 400)));
      },
      close() {
        pending?.reject(new Error("connection closed"));
      },
    },
  });
  return {
    send(request) {
      pending = Promise.withResolvers<number>();
      sentAt = performance.now();
      socket.write(request);
      return pending.promise;
    },
    close: () => socket.terminate(),
  };
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
