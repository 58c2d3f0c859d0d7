import net from "node:net";
import type { Answer } from "../invariants/answers.ts";

/** What came back on a connection of its own, until it was closed. */
export interface RawAnswer extends Answer {
  /** True when the body came to the end that its head told of. */
  readonly isWhole: boolean;
}

export interface Asking {
  readonly method?: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface AskOptions {
  /** The caller leaves once it has received so many bytes. */
  readonly leaveAfterBytes?: number;
}

const WAIT_MS_MAX = 320_000;

export function toRequestBytes({ method = "POST", path, headers, body }: Asking): Buffer {
  const lines = Object.entries({
    host: "127.0.0.1",
    connection: "close",
    "content-type": "application/json",
    ...headers,
    "content-length": String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
}

/** One request on a connection of its own, with nothing of a client's between a test and the wire. */
export async function askRaw(
  port: number,
  asking: Asking,
  { leaveAfterBytes }: AskOptions = {},
): Promise<RawAnswer> {
  const chunks: Buffer[] = [];
  let receivedBytes = 0;
  const socket = net.connect(port, "127.0.0.1");
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no end of ${asking.path}`)), WAIT_MS_MAX);
    socket.on("connect", () => socket.write(toRequestBytes(asking)));
    socket.on("data", (bytes: Buffer) => {
      chunks.push(bytes);
      receivedBytes += bytes.length;
      if (leaveAfterBytes !== undefined && receivedBytes >= leaveAfterBytes) socket.destroy();
    });
    // A reset after the answer is how a server ends that has not read all.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
  return toRawAnswer(Buffer.concat(chunks).toString("latin1"));
}

/** The body as Latin-1 text: one character for each byte. */
function toRawAnswer(received: string): RawAnswer {
  const headEnd = received.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = received.slice(0, headEnd).split("\r\n");
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const status = Number(statusLine.split(" ")[1] ?? 0);
  const rest = received.slice(headEnd + 4);
  if (headers.get("transfer-encoding") === "chunked") return { status, headers, ...dechunk(rest) };
  const length = Number(headers.get("content-length") ?? (status === 204 || status === 304 ? 0 : NaN));
  return { status, headers, body: rest, isWhole: rest.length === length };
}

function dechunk(text: string): { body: string; isWhole: boolean } {
  const chunks: string[] = [];
  for (let at = 0; ;) {
    const lineEnd = text.indexOf("\r\n", at);
    const size = lineEnd < 0 ? NaN : Number.parseInt(text.slice(at, lineEnd), 16);
    if (size === 0) return { body: chunks.join(""), isWhole: text.slice(lineEnd) === "\r\n\r\n" };
    if (Number.isNaN(size)) return { body: chunks.join(""), isWhole: false };
    chunks.push(text.slice(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 4 + size;
  }
}
