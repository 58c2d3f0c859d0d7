import { join } from "node:path";

const START_WAIT_MS_MAX = 20_000;

/** Lockport's command line, from source. */
const LOCKPORT = [process.execPath, "--no-env-file", join(import.meta.dir, "../../src/main.ts")] as const;

export interface LockportProcess {
  /** Its address; rejects when it ends before it listens, or does not start in time. */
  readonly url: Promise<string>;
  readonly exited: Promise<number>;
  stop(): Promise<void>;
}

/** `lockport serve` on this data folder. Settings of the person who runs this are for their own server. */
export function startLockport({
  dataDir,
  port,
  settings = {},
}: {
  readonly dataDir: string;
  readonly port: string;
  readonly settings?: Readonly<Record<string, string>>;
}): LockportProcess {
  const child = Bun.spawn({
    cmd: [...LOCKPORT, "serve", "--port", port],
    env: { ...toEnvironment(dataDir), ...settings },
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
  // Handled at `await server.url`; until then a rejection must not end the process.
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

/** Runs a command on this data folder and returns what it printed on stdout. Throws what it said when it fails. */
export function runLockport(dataDir: string, args: readonly string[]): string {
  const done = Bun.spawnSync({
    cmd: [...LOCKPORT, ...args],
    env: toEnvironment(dataDir),
    stdout: "pipe",
    stderr: "pipe",
  });
  if (done.exitCode !== 0) throw new Error(`lockport ${args[0]} failed: ${done.stderr.toString().trim()}`);
  return done.stdout.toString().trim();
}

function toEnvironment(dataDir: string): Record<string, string | undefined> {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("PROXY_"));
  return { ...Object.fromEntries(others), PROXY_DATA_DIR: dataDir, PROXY_LOG: "warn" };
}
