import net from "node:net";
import { toResponse } from "./support.ts";

/** One connection that stays open, as a browser's and an SDK's does: requests one after the other. */
interface OpenConnection extends Disposable {
  send(method: string, path: string, headers?: Record<string, string>, body?: string): Promise<Response>;
}

export async function connect(port: number): Promise<OpenConnection> {
  const socket = net.connect(port, "127.0.0.1");
  let received = "";
  let wake = () => {};
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
    wake();
  });
  socket.on("close", () => wake());
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  const isWhole = () => {
    const head = received.indexOf("\r\n\r\n");
    const length = /^content-length: *(\d+)/im.exec(received)?.[1];
    return head >= 0 && received.length >= head + 4 + Number(length ?? 0);
  };
  return {
    async send(method, path, headers = {}, body = "") {
      if (socket.destroyed) throw new Error("the connection was closed");
      received = "";
      const lines = Object.entries({
        host: `127.0.0.1:${port}`,
        ...(method !== "GET" && { "content-length": `${body.length}` }),
        ...headers,
      }).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
      while (!isWhole()) {
        if (socket.destroyed) throw new Error("the connection was closed");
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return toResponse(received);
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}
