import net from "node:net";

/** Whoever has not said anything for so long has said all that it will. */
const SILENCE_MS = 60;
const TALK_MS_MAX = 5_000;

export interface Talk {
  /** Latin-1. */
  readonly received: string;
  /** True when the other side closed. */
  readonly isClosed: boolean;
}

/** Bytes on a connection of their own, and all that comes back. */
export function talk(port: number, bytes: string, silenceMs = SILENCE_MS): Promise<Talk> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = net.connect(port, "127.0.0.1");
    let isOver = false;
    const end = (isClosed: boolean) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(silence);
      clearTimeout(limit);
      // No connection stays behind in TIME_WAIT: there are some hundred thousand of them.
      socket.resetAndDestroy();
      resolve({ received: Buffer.concat(chunks).toString("latin1"), isClosed });
    };
    let silence = setTimeout(() => undefined, 0);
    const limit = setTimeout(() => end(false), TALK_MS_MAX);
    const wait = () => {
      clearTimeout(silence);
      silence = setTimeout(() => end(false), silenceMs);
    };
    socket.on("connect", () => {
      socket.write(Buffer.from(bytes, "latin1"));
      wait();
    });
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      wait();
    });
    socket.on("error", () => end(true));
    socket.on("close", () => end(true));
  });
}
