import type { Socket, SocketHandler } from "bun";

interface Pair {
  upstream: Writer | null;
  /** Back to the client. */
  readonly back: Writer;
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
  /** What the connection sends that sent last is held back from the server, until what is returned is called. */
  holdLatest(): () => void;
  /** Ends what is open by a reset, and takes no new connection. */
  refuse(): void;
  /** Ends what is open by a reset; new connections come through. */
  reset(): void;
  /** New connections come through again; those that were open in the silence stay dead. */
  resume(): void;
  stop(): void;
}

export function createTcpProxy(port: number): TcpProxy {
  let isSilent = false;
  const open = new Set<Socket<Pair>>();
  const dead = new WeakSet<Socket<Pair>>();
  const deaf = new WeakSet<Socket<Pair>>();
  let latest: Socket<Pair> | null = null;
  let held: Socket<Pair> | null = null;
  const endAll = () => {
    for (const socket of open) socket.terminate();
  };
  const listen = (at: number) => Bun.listen<Pair>({ hostname: "127.0.0.1", port: at, socket: handlers });
  const handlers: SocketHandler<Pair> = {
    async open(socket) {
      const back = createWriter(socket);
      socket.data = { upstream: null, back, waiting: [] };
      open.add(socket);
      if (isSilent) return void dead.add(socket);
      const upstream = await connect(port, {
        data: (bytes) => void (dead.has(socket) || deaf.has(socket) || back.write(bytes)),
        close: () => void (dead.has(socket) || socket.end()),
      });
      if (upstream === null) return socket.terminate();
      // Left while the server took nobody: its side would stay open for ever.
      if (!open.has(socket)) return upstream.end();
      socket.data.upstream = upstream;
      for (const bytes of socket.data.waiting.splice(0)) upstream.write(bytes);
    },
    data(socket, bytes) {
      if (dead.has(socket)) return;
      latest = socket;
      const { upstream, waiting } = socket.data;
      if (upstream === null || socket === held) waiting.push(Uint8Array.from(bytes));
      else upstream.write(bytes);
    },
    drain: (socket) => socket.data.back.flush(),
    close(socket) {
      open.delete(socket);
      socket.data.upstream?.end();
    },
  };
  let listener = listen(0);
  const own = listener.port;
  return {
    port: own,
    toUrl: (url) => url.replace(`:${port}/`, `:${own}/`),
    silence() {
      isSilent = true;
      for (const socket of open) dead.add(socket);
    },
    loseAnswers() {
      for (const socket of open) deaf.add(socket);
    },
    holdLatest() {
      held = latest;
      return () => {
        const { upstream = null, waiting = [] } = held?.data ?? {};
        held = null;
        for (const bytes of waiting.splice(0)) upstream?.write(bytes);
      };
    },
    refuse() {
      listener.stop(true);
      endAll();
    },
    reset: endAll,
    resume() {
      isSilent = false;
      listener.stop(true);
      listener = listen(own);
    },
    stop() {
      endAll();
      listener.stop(true);
    },
  };
}

interface Writer {
  write(bytes: Uint8Array): void;
  flush(): void;
  end(): void;
}

/** A socket takes what the system has room for, and leaves the rest to its caller. */
function createWriter(socket: Pick<Socket, "write" | "end">): Writer {
  const rest: Uint8Array[] = [];
  const flush = () => {
    for (let first = rest[0]; first !== undefined; first = rest[0]) {
      const written = socket.write(first);
      if (written < first.length) {
        rest[0] = first.subarray(Math.max(written, 0));
        return;
      }
      rest.shift();
    }
  };
  return {
    write(bytes) {
      // The driver of the socket uses its memory again.
      rest.push(Uint8Array.from(bytes));
      if (rest.length === 1) flush();
    },
    flush,
    end: () => void socket.end(),
  };
}

interface Ear {
  readonly data: (bytes: Uint8Array) => void;
  readonly close: () => void;
}

async function connect(port: number, { data, close }: Ear): Promise<Writer | null> {
  let writer: Writer | null = null;
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: { data: (_, bytes) => data(bytes), close, drain: () => writer?.flush() },
  }).catch(() => null);
  return (writer = socket === null ? null : createWriter(socket));
}
