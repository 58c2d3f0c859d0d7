import net from "node:net";
import type { Answer } from "../invariants/answers.ts";

const ANSWER_MS_MAX = 30_000;

/** One connection that is kept, and made anew where it was closed: one request after the other, as raw bytes. */
export class Lane {
  readonly #port: number;
  #socket: net.Socket | null = null;
  #received = "";
  #onChange: () => void = () => undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** The answer; null when the connection was closed without a whole one. */
  async ask(request: Buffer, isHead = false): Promise<Answer | null> {
    const socket = this.#socket ?? this.#connect();
    this.#received = "";
    socket.write(request);
    const { promise, resolve, reject } = Promise.withResolvers<Answer | null>();
    const timer = setTimeout(
      () => reject(new Error(`no answer to ${request.toString("latin1").slice(0, 300)}`)),
      ANSWER_MS_MAX,
    );
    this.#onChange = () => {
      const answer = toAnswer(this.#received, isHead);
      if (answer !== null || this.#socket !== socket) resolve(answer);
    };
    try {
      const answer = await promise;
      if (answer?.headers.get("connection") === "close") this.close();
      return answer;
    } finally {
      clearTimeout(timer);
      this.#onChange = () => undefined;
    }
  }

  close(): void {
    this.#socket?.resetAndDestroy();
    this.#socket = null;
  }

  #connect(): net.Socket {
    const socket = net.connect(this.#port, "127.0.0.1");
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => {
      this.#received += bytes.toString("latin1");
      this.#onChange();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      this.#onChange();
    });
    this.#socket = socket;
    return socket;
  }
}

/** The answer that stands at the beginning, once it is whole. */
function toAnswer(received: string, isHead: boolean): Answer | null {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return null;
  const [statusLine = "", ...lines] = received.slice(0, headEnd).split("\r\n");
  const status = Number(statusLine.split(" ")[1]);
  if (status < 200) return toAnswer(received.slice(headEnd + 4), isHead);
  const headers = new Map(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  );
  const body = received.slice(headEnd + 4);
  if (isHead || status === 204 || status === 304) return { status, headers, body: "" };
  if (headers.get("transfer-encoding") === "chunked")
    return body.endsWith("0\r\n\r\n") ? { status, headers, body } : null;
  const length = Number(headers.get("content-length") ?? 0);
  return body.length < length ? null : { status, headers, body: body.slice(0, length) };
}
