import { join } from "node:path";

const START_WAIT_MS_MAX = 20_000;

/** Lockport's command line, from source. */
export const LOCKPORT = [
  process.execPath,
  "--no-env-file",
  join(import.meta.dir, "../../src/main.ts"),
] as const;

export interface LockportProcess {
  /** Where it listens; rejects when it ends before that, or does not start in time. */
  readonly url: Promise<string>;
  readonly exited: Promise<number>;
  stop(): Promise<void>;
}

/** `lockport serve` on this data folder. Settings of the person who runs this are for their own server. */
export function startLockport({
  dataDir,
  port,
}: {
  readonly dataDir: string;
  readonly port: string;
}): LockportProcess {
  const child = Bun.spawn({
    cmd: [...LOCKPORT, "serve", "--port", port],
    env: toEnvironment(dataDir),
    stdout: "pipe",
    stderr: "inherit",
  });
  const listening = Promise.withResolvers<string>();
  const timer = setTimeout(() => listening.reject(new Error("lockport did not start")), START_WAIT_MS_MAX);
  void child.exited.then((code) => listening.reject(new Error(`lockport ended with code ${code}`)));
  void (async () => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of child.stdout) {
      text += decoder.decode(bytes, { stream: true });
      const found = /listens on (\S+)/.exec(text)?.[1];
      if (found !== undefined) listening.resolve(found);
    }
  })();
  const url = listening.promise.finally(() => clearTimeout(timer));
  // Heard at `await server.url`; until then nobody listens, which is no reason to end.
  url.catch(() => undefined);
  return {
    url,
    exited: child.exited,
    async stop() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

export function toEnvironment(dataDir: string): Record<string, string | undefined> {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("PROXY_"));
  return { ...Object.fromEntries(others), PROXY_DATA_DIR: dataDir, PROXY_LOG: "warn" };
}
