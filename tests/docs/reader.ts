import { cpSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { startModelServer } from "../../contrib/demo/model-server.ts";
import { makeFolder } from "../support/folder.ts";
import { sharedPostgres } from "../support/postgres.ts";
import type { Block } from "./pages.ts";

const START_MS_MAX = 30_000;
const WRITTEN_MS_MAX = 10_000;
const WRITTEN_POLL_MS = 20;

/** Names of the provider's models in the pages. */
const MODELS = { chatModels: ["gpt-5-mini", "gpt-5"], embeddingModels: ["text-embedding-3-small"] };

/** A reader who follows one page, in an empty folder with only the executable. */
export interface Reader {
  /** A block of values of the reader's own: says which there are, and takes those of this machine. */
  fillIn(block: Block): Promise<void>;
  /** Runs the block in the reader's terminal, where variables stay; its output on both streams. Throws when a command fails. */
  run(block: Block): Promise<string>;
  /** Ctrl-C for what serves, then `run`. */
  runStopped(block: Block): Promise<string>;
  /** Ctrl-C for what serves, and this one in its place; what it says until it listens. */
  serve(block: Block): Promise<string>;
  /** Another server beside it. */
  serveAnother(block: Block): Promise<string>;
  /** Puts the values of this machine in place of those that the page shows. */
  localise(text: string): string;
  /** Remembers everything as it is now, for `goBack`. */
  remember(): Promise<void>;
  goBack(): Promise<void>;
  leave(): Promise<void>;
}

export async function createReader(lockport: string): Promise<Reader> {
  const folder = makeFolder();
  const [work, home, bin, scripts, kept] = ["work", "home", "bin", "scripts", "kept"].map((name) => {
    const path = join(folder.path, name);
    mkdirSync(path);
    return path;
  }) as [string, string, string, string, string];
  symlinkSync(lockport, join(bin, "lockport"));
  const models = await startModelServer({ port: 0, wordPauseMs: 1, ...MODELS });
  const url = `http://127.0.0.1:${findFreePort()}`;
  await Bun.write(join(home, "provider-key.txt"), "sk-for-the-documentation\n");
  const env = {
    PATH: `${bin}:${process.env["PATH"] ?? ""}`,
    HOME: home,
    LANG: "C.UTF-8",
    PROXY_PORT: new URL(url).port,
  };
  const local: { readonly [name: string]: () => string | Promise<string> } = {
    BASE_URL: () => url,
    PROVIDER_URL: () => models.baseUrl,
    PROVIDER_KEY_FILE: () => join(home, "provider-key.txt"),
    DATABASE_URL: async () => (await sharedPostgres()).url,
    SECOND_PORT: () => String(findFreePort()),
  };
  /** A value that a page shows → this machine's value. */
  const shown = new Map<string, string>();
  const variables = join(kept, "variables");
  let terminal = startTerminal({ work, scripts, env });
  let servers: ReturnType<typeof startServer>[] = [];
  /** The server of now, and that of `remember`. */
  const served: { now: string | null; before: string | null } = { now: null, before: null };
  const stopServers = async (): Promise<void> => {
    const stopped = servers;
    servers = [];
    for (const { child } of stopped) child.kill("SIGINT");
    for (const { child } of stopped) {
      const code = await child.exited;
      if (code !== 0) throw new Error(`after Ctrl-C a server ended with ${code}`);
    }
  };
  const localise = (text: string) =>
    [...shown].reduce((each, [value, own]) => each.replaceAll(value, own), text);
  const start = (command: string): Promise<string> => {
    const server = startServer(command, { work, env });
    servers.push(server);
    return server.listening;
  };
  const run = async ({ text }: Block): Promise<string> => {
    const output = await terminal.run(text);
    if (servers.length > 0) await usageWritten(url);
    return output;
  };

  return {
    async fillIn({ text }) {
      for (const [, name = "", value = ""] of text.matchAll(/^export (\w+)=(\S+)/gm)) {
        const own = await local[name]?.();
        if (own === undefined)
          throw new Error(`${name} is no value that this test has: reader.ts names them`);
        shown.set(value, own);
        await terminal.run(`export ${name}='${own}'`);
      }
    },
    run,
    async runStopped(block) {
      await stopServers();
      return run(block);
    },
    async serve({ text }) {
      await stopServers();
      served.now = text;
      return start(text);
    },
    serveAnother: ({ text }) => start(localise(text)),
    localise,
    async remember() {
      await stopServers();
      served.before = served.now;
      await terminal.run(`export -p > ${variables}`);
      for (const path of [work, home]) cpSync(path, join(kept, basename(path)), { recursive: true });
    },
    async goBack() {
      await stopServers();
      await terminal.end();
      for (const path of [work, home]) {
        rmSync(path, { recursive: true });
        cpSync(join(kept, basename(path)), path, { recursive: true });
      }
      terminal = startTerminal({ work, scripts, env });
      await terminal.run(`. ${variables}`);
      if (served.before !== null) await start(served.before);
    },
    async leave() {
      await stopServers().catch(() => undefined);
      await terminal.end();
      await models.stop();
      folder.remove();
    },
  };
}

interface Place {
  readonly work: string;
  readonly env: Record<string, string>;
}

/** One shell for the whole page. Each block is read from a file, so that its commands have no script for their stdin. */
function startTerminal({ work, scripts, env }: Place & { readonly scripts: string }) {
  const child = Bun.spawn({
    cmd: ["bash", "--norc", "--noprofile", "-s"],
    cwd: work,
    env,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  const lines = child.stdout.getReader();
  const decoder = new TextDecoder();
  let output = "";
  let count = 0;
  void child.stdin.write("exec 2>&1; set -eu -o pipefail\n");
  return {
    async run(text: string): Promise<string> {
      count += 1;
      const script = join(scripts, `${count}.sh`);
      const end = `-- end of block ${count} --`;
      await Bun.write(script, text);
      output = "";
      void child.stdin.write(`. ${script} </dev/null; echo; echo '${end}'\n`);
      await child.stdin.flush();
      for (;;) {
        if (output.includes(`${end}\n`)) return output.slice(0, output.indexOf(end));
        const { done, value } = await lines.read();
        if (done) throw new Error(`a command failed:\n${text}\nIt said:\n${output}`);
        output += decoder.decode(value, { stream: true });
      }
    },
    async end() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

function startServer(command: string, { work, env }: Place) {
  const child = Bun.spawn({
    cmd: ["bash", "--norc", "--noprofile", "-c", command],
    cwd: work,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const listening = Promise.withResolvers<string>();
  let output = "";
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      output += decoder.decode(bytes, { stream: true });
      // The last line of what it says at its start.
      if (/^Next: .*\n/m.test(output)) listening.resolve(output);
    }
  };
  const ended = Promise.all([read(child.stdout), read(child.stderr)]);
  const fail = (why: string) => listening.reject(new Error(`${command}: ${why}\n${output}`));
  void ended.then(() => fail("it ended"));
  const timer = setTimeout(() => fail("it did not start in time"), START_MS_MAX);
  const clear = () => clearTimeout(timer);
  void listening.promise.then(clear, clear);
  return { child, listening: listening.promise };
}

/** A person types more slowly than usage is written; the next block may ask for it. */
async function usageWritten(url: string): Promise<void> {
  const end = Date.now() + WRITTEN_MS_MAX;
  for (;;) {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    if (/^proxy_journal_uncommitted_bytes 0$/m.test(metrics)) return;
    if (Date.now() > end) throw new Error("the usage of a block was not written in time");
    await Bun.sleep(WRITTEN_POLL_MS);
  }
}

function findFreePort(): number {
  const probe = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { port } = probe;
  void probe.stop(true);
  if (port === undefined) throw new Error("the probe has no port");
  return port;
}
