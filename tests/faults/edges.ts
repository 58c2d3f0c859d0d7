import { readFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { openBlackHole, startUpstream } from "../support/upstream.ts";
import { refused, type Limit, type UpstreamError } from "./behaviour.ts";

/** An address of which no request gets as far as an upstream. */
export interface Edge {
  readonly name: string;
  readonly expect: ReturnType<typeof refused>;
  readonly limit: Limit;
  /** Null where the system has no such thing. */
  open(): Promise<Opened | null>;
}

export interface Opened {
  readonly baseUrl: string;
  stop(): unknown;
}

const fixture = (name: string) => readFileSync(join(import.meta.dir, "../fixtures/tls", name), "utf8");

const PLAIN = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";

/** A listener that does this with each connection. */
async function listen(scheme: "http" | "https", onSocket: (socket: net.Socket) => unknown): Promise<Opened> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("nothing listens");
  return {
    baseUrl: `${scheme}://127.0.0.1:${address.port}/v1`,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const edge = (
  name: string,
  open: Edge["open"],
  error: UpstreamError = "connection_error",
  limit: Limit = null,
): Edge => ({ name, expect: refused(error), limit, open });

export const EDGES: readonly Edge[] = [
  edge("refuses connections", async () => {
    const closed = await listen("http", () => undefined);
    closed.stop();
    return { baseUrl: closed.baseUrl, stop: () => undefined };
  }),
  edge("answers no attempt to connect", openBlackHole, "timeout", "connect"),
  edge("closes each connection at once", () => listen("http", (socket) => socket.destroy())),
  edge("says nothing to a TLS handshake", () => listen("https", () => undefined), "timeout", "connect"),
  edge("closes in the TLS handshake", () =>
    listen("https", (socket) => socket.on("data", () => socket.destroy())),
  ),
  edge("speaks HTTP where TLS is expected", () =>
    listen("https", (socket) => socket.on("data", () => socket.end(PLAIN))),
  ),
  edge("has a certificate that nobody trusts", () =>
    startUpstream({ tls: { key: fixture("upstream.key.pem"), cert: fixture("upstream.cert.pem") } }),
  ),
];
