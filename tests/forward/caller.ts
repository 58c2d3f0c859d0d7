import net from "node:net";

/** A caller on a raw connection, for what `fetch` hides: how a response is framed, and how its connection ends. */
export interface RawCaller {
  received(): string;
  /** More bytes of a request that was begun with `raw`. */
  send(bytes: string): void;
  /** The bytes of a response's body, once it has come to its end; rejects when the connection closes before. */
  body(): Promise<string>;
  /** Fulfilled when what was received contains the text; rejects when the connection closes before. */
  waitFor(text: string): Promise<void>;
  /** Stops reading, so that the server's writes fill up. */
  stopReading(): void;
  readOn(): void;
  /** Closes the connection without waiting for anything. */
  hangUp(): void;
  /** Closes the connection with RST. */
  reset(): void;
  /** Sends FIN and goes on reading. */
  halfClose(): void;
  /** How the connection ended: `clean` when the last chunk or a whole content-length came before. */
  readonly ended: Promise<"clean" | "broken">;
}

export interface RawRequest {
  readonly port: number;
  readonly body?: unknown;
  readonly path?: string;
  readonly headers?: readonly string[];
  readonly method?: string;
  /** Sent as it is, in place of all the others. */
  readonly raw?: string;
}

const LAST_CHUNK = "\r\n0\r\n\r\n";

export async function openCaller({
  port,
  body = "",
  path = "/chat",
  headers = [],
  method = "POST",
  raw,
}: RawRequest): Promise<RawCaller> {
  const socket = net.connect(port, "127.0.0.1");
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  const pieces: string[] = [];
  let receivedBytes = 0;
  let closed = false;
  // Looks at what is new and at a little before it: looking at everything each time would take all day with 100 MB.
  const checks = new Set<(news: string) => void>();
  const recheck = (news: string) => {
    for (const check of checks) check(news);
  };
  let recent = "";
  socket.on("data", (bytes: Buffer) => {
    const piece = bytes.toString("latin1");
    pieces.push(piece);
    receivedBytes += piece.length;
    recheck(recent + piece);
    recent = piece.slice(-1_000);
  });
  socket.on("error", () => undefined);
  const received = () => {
    if (pieces.length > 1) pieces.splice(0, pieces.length, pieces.join(""));
    return pieces[0] ?? "";
  };
  const ended = new Promise<"clean" | "broken">((resolve) => {
    socket.on("close", () => {
      closed = true;
      recheck("");
      resolve(received().endsWith("0\r\n\r\n") ? "clean" : "broken");
    });
  });
  const waitFor = (wanted: string) => waitUntil((news) => news.includes(wanted), wanted);
  const waitUntil = (isThere: (news: string) => boolean, wanted: string) =>
    new Promise<void>((resolve, reject) => {
      const check = (news: string) => {
        if (isThere(news)) resolve();
        else if (closed) reject(new Error(`the connection closed before ${wanted} came`));
        else return;
        checks.delete(check);
      };
      checks.add(check);
      check(received());
    });
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    "host: localhost",
    "content-type: application/json",
    ...headers,
  ];
  socket.write(raw ?? `${lines.join("\r\n")}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  return {
    received,
    send: (bytes) => void socket.write(bytes),
    async body() {
      await waitFor("\r\n\r\n");
      const bodyAt = received().indexOf("\r\n\r\n") + 4;
      const length = /\r\ncontent-length: (\d+)\r\n/i.exec(received().slice(0, bodyAt))?.[1];
      if (length === undefined) return waitFor(LAST_CHUNK).then(() => dechunk(received()));
      await waitUntil(() => receivedBytes >= bodyAt + Number(length), "all of the body");
      return received().slice(bodyAt);
    },
    waitFor,
    stopReading: () => void socket.pause(),
    readOn: () => void socket.resume(),
    hangUp: () => void socket.destroy(),
    reset: () => void socket.resetAndDestroy(),
    halfClose: () => void socket.end(),
    ended,
  };
}

function dechunk(response: string): string {
  const chunks: string[] = [];
  for (let at = response.indexOf("\r\n\r\n") + 4; ;) {
    const lineEnd = response.indexOf("\r\n", at);
    const size = Number.parseInt(response.slice(at, lineEnd), 16);
    if (size === 0) return chunks.join("");
    if (lineEnd < 0 || Number.isNaN(size)) throw new Error("the response is not chunked to its end");
    chunks.push(response.slice(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 4 + size;
  }
}

/** Nothing tells from outside that an upstream's head was taken while no byte of its body has come: time enough for it, on a busy machine too. */
export const headTaken = () => Bun.sleep(250);
