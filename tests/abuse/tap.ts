import net from "node:net";

/** One connection as it went by, Latin-1. */
export interface Passage {
  toServer: string;
  fromServer: string;
}

export interface Tap {
  readonly port: number;
  readonly passages: readonly Passage[];
  stop(): Promise<void>;
}

/** Passes bytes on to a port and back, and keeps them. */
export async function startTap(serverPort: number): Promise<Tap> {
  const passages: Passage[] = [];
  const sockets = new Set<net.Socket>();
  const tap = net.createServer((front) => {
    const passage: Passage = { toServer: "", fromServer: "" };
    passages.push(passage);
    const server = net.connect(serverPort, "127.0.0.1");
    for (const [socket, other] of [
      [front, server],
      [server, front],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        other.end();
      });
      socket.on("data", (bytes: Buffer) => {
        if (socket === front) passage.toServer += bytes.toString("latin1");
        else passage.fromServer += bytes.toString("latin1");
        other.write(bytes);
      });
    }
  });
  await new Promise<void>((resolve) => tap.listen(0, "127.0.0.1", resolve));
  const address = tap.address();
  if (address === null || typeof address === "string") throw new Error("the tap does not listen");
  return {
    port: address.port,
    passages,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => tap.close(resolve));
    },
  };
}
