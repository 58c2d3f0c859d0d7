import type { Subprocess } from "bun";
import { resolve } from "node:path";
import { untilListening } from "./peers.ts";

/** The built executable on a data folder, on all cores. */
export interface Server {
  readonly origin: string;
  readonly port: number;
  readonly pid: number;
  /** From the start of the process until a connection is accepted. */
  readonly listeningMs: number;
  stop(): Promise<void>;
}

export const BINARY = resolve(import.meta.dir, "../dist/lockport");

export async function serve(binary: string, dataDir: string, port: number): Promise<Server> {
  const env = {
    PATH: process.env["PATH"] ?? "",
    PROXY_DATA_DIR: dataDir,
    PROXY_PORT: String(port),
    PROXY_LOG: "warn",
  };
  const startedMs = performance.now();
  const child = endWithUs(Bun.spawn([binary, "serve"], { env, stdio: ["ignore", "ignore", "inherit"] }));
  await untilListening(port);
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    pid: child.pid,
    listeningMs: performance.now() - startedMs,
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}

/** A child that does not outlive the benchmark, also when that is interrupted. */
export function endWithUs<Child extends Subprocess>(child: Child): Child {
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  void child.exited.finally(() => process.removeListener("exit", end));
  return child;
}
