import { cleanEnvironment } from "../../support/process.ts";

const RUN_MS_MAX = 20_000;

/** Pastes a text into a shell that knows these variables, and returns what came out; throws when it fails. */
export async function runInShell(
  text: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  if (Bun.which("curl") === null) throw new Error("no curl on this machine (apt-get install curl)");
  const shell = Bun.spawn(["sh", "-eu"], {
    env: cleanEnvironment(variables),
    stdin: Buffer.from(text),
    stdout: "pipe",
    stderr: "pipe",
    timeout: RUN_MS_MAX,
  });
  const [output, messages, code] = await Promise.all([
    new Response(shell.stdout).text(),
    new Response(shell.stderr).text(),
    shell.exited,
  ]);
  if (code !== 0) throw new Error(`the shell ended with ${code}: ${messages}`);
  return output;
}
