import { tmpdir } from "node:os";
import "./loopback.ts";

const START_WAIT_MS_MAX = 30_000;

export interface Spawning {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}

export interface Starting extends Spawning {
  /** Default 0, which takes a free one. */
  readonly port?: number;
}

/** Runs a command line to its end. Nothing of this process's environment reaches it but where it finds programs. */
export async function runProcess(cmd: readonly string[], { env = {}, cwd = tmpdir() }: Spawning = {}) {
  const child = Bun.spawn({
    cmd: [...cmd],
    cwd,
    env: cleanEnvironment(env),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [data, messages, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, data, messages };
}

export interface RunningProcess {
  readonly url: string;
  readonly pid: number;
  readonly exited: Promise<number>;
  /** Its output so far, on both streams. */
  output(): string;
  /** Its output on stderr alone: its log. */
  messages(): string;
  /** Closes our end of its stdout. */
  closeStdout(): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** SIGTERM, and the exit code. */
  stop(): Promise<number>;
}

/** Starts `<command> serve` and waits until it says where it listens. */
export async function startProcess(
  command: readonly string[],
  { env = {}, cwd = tmpdir(), port = 0 }: Starting = {},
): Promise<RunningProcess> {
  const child = Bun.spawn({
    cmd: [...command, "serve", "--port", String(port)],
    cwd,
    env: cleanEnvironment(env),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let output = "";
  let messages = "";
  const listening = Promise.withResolvers<string>();
  const stdout = child.stdout.getReader();
  const read = async (
    reader: { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }> },
    isLog: boolean,
  ) => {
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const text = decoder.decode(value, { stream: true });
      output += text;
      if (isLog) messages += text;
      const url = /listens on (\S+)/.exec(output)?.[1];
      if (url !== undefined) listening.resolve(url);
    }
  };
  const reading = Promise.all([
    read(stdout, false).catch(() => undefined),
    read(child.stderr.getReader(), true),
  ]);
  void child.exited
    .then(() => reading)
    .then(() => listening.reject(new Error(`it did not start: ${output}`)));
  const timer = setTimeout(
    () => listening.reject(new Error(`it did not start in time: ${output}`)),
    START_WAIT_MS_MAX,
  );
  try {
    const url = await listening.promise;
    return {
      url,
      pid: child.pid,
      exited: child.exited,
      output: () => output,
      messages: () => messages,
      closeStdout: () => stdout.cancel(),
      signal: (name) => child.kill(name),
      stop: () => {
        child.kill("SIGTERM");
        return child.exited;
      },
    };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Line by line, as they come; what follows the last line feed is no line. */
export async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

/** What the errors of a server's log say. Throws where a line is none of JSON, as all are where stderr is no terminal. */
export function errorsOf(messages: string): readonly string[] {
  return messages.split("\n").flatMap((line) => {
    if (line === "") return [];
    const { level, message }: { readonly level: string; readonly message: string } = JSON.parse(line);
    return level === "error" ? [message] : [];
  });
}

/** The environment of a process here: nothing of this one's environment but where programs are found. */
export function cleanEnvironment(env: Record<string, string>): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", HOME: tmpdir(), ...env };
}
