import { connect, createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

/** A network in which a connection breaks around its next COMMIT. */
export interface CommitCutter extends AsyncDisposable {
  toUrl(url: string): string;
  /** `before`: the server never gets the COMMIT. `after`: it makes the commit, and its answer is lost. */
  cutNext(when: "before" | "after"): void;
  /** The number of times that it happened. */
  readonly cuts: number;
}

const COMMIT = "COMMIT";

export function createCommitCutter(serverPort: number): CommitCutter {
  let next: "before" | "after" | null = null;
  let cuts = 0;
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const server = connect(serverPort, "127.0.0.1");
    let isCut = false;
    const end = () => {
      client.destroy();
      server.destroy();
      sockets.delete(client);
    };
    sockets.add(client);
    client.on("data", (bytes) => {
      if (next === null || !bytes.includes(COMMIT)) {
        server.write(bytes);
        return;
      }
      const when = next;
      next = null;
      cuts += 1;
      if (when === "before") return end();
      isCut = true;
      server.write(bytes);
    });
    server.on("data", (bytes) => {
      // The server has answered, so that the commit is made.
      if (isCut) end();
      else client.write(bytes);
    });
    for (const socket of [client, server]) socket.on("close", end).on("error", end);
  });
  listener.listen(0, "127.0.0.1");
  const port = () => {
    const address = listener.address();
    return isAddress(address) ? address.port : 0;
  };
  return {
    toUrl: (url) => url.replace(`:${serverPort}/`, `:${port()}/`),
    cutNext(when) {
      next = when;
    },
    get cuts() {
      return cuts;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      listener.close();
    },
  };
}

function isAddress(address: AddressInfo | string | null): address is AddressInfo {
  return address !== null && typeof address !== "string";
}
