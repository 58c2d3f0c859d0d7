import type { Socket } from "bun";

interface Pair {
  upstream: Socket | null;
  readonly waiting: Uint8Array[];
}

/** A network between two programs on loopback, which can be cut: in silence, with resets, or by refusing. */
export interface TcpProxy {
  readonly port: number;
  /** The URL with this proxy's port in place of the server's. */
  toUrl(url: string): string;
  /** Nothing comes through any more, in both directions, and nothing says so; new connections are taken and stay silent. */
  silence(): void;
  /** What is open goes on to the server, and no answer comes back. */
  loseAnswers(): void;
  /** Ends what is open by a reset, and takes no new connection. */
  refuse(): void;
  /** Ends what is open by a reset; new connections come through. */
  reset(): void;
  /** New connections come through again; those that were open in the silence stay dead. */
  resume(): void;
  stop(): void;
}

export function createTcpProxy(port: number): TcpProxy {
  let state: "open" | "silent" | "refusing" = "open";
  const open = new Set<Socket<Pair>>();
  const dead = new WeakSet<Socket<Pair>>();
  const deaf = new WeakSet<Socket<Pair>>();
  const endAll = () => {
    for (const socket of open) socket.terminate();
  };
  const listener = Bun.listen<Pair>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      async open(socket) {
        socket.data = { upstream: null, waiting: [] };
        open.add(socket);
        if (state === "refusing") return socket.terminate();
        if (state === "silent") return void dead.add(socket);
        const upstream = await Bun.connect({
          hostname: "127.0.0.1",
          port,
          socket: {
            data: (_, bytes) => void (dead.has(socket) || deaf.has(socket) || socket.write(bytes)),
            close: () => void (dead.has(socket) || socket.end()),
          },
        }).catch(() => null);
        if (upstream === null) return socket.terminate();
        socket.data.upstream = upstream;
        for (const bytes of socket.data.waiting) upstream.write(bytes);
      },
      data(socket, bytes) {
        if (dead.has(socket)) return;
        if (socket.data.upstream === null) socket.data.waiting.push(Uint8Array.from(bytes));
        else socket.data.upstream.write(bytes);
      },
      close(socket) {
        open.delete(socket);
        socket.data.upstream?.end();
      },
    },
  });
  return {
    port: listener.port,
    toUrl: (url) => url.replace(`:${port}/`, `:${listener.port}/`),
    silence() {
      state = "silent";
      for (const socket of open) dead.add(socket);
    },
    loseAnswers() {
      for (const socket of open) deaf.add(socket);
    },
    refuse() {
      state = "refusing";
      endAll();
    },
    reset: endAll,
    resume() {
      state = "open";
    },
    stop() {
      endAll();
      listener.stop(true);
    },
  };
}
