import type { Command } from "commander";
import { addExamples, configWith, readOrigin } from "./command.ts";
import { CommandError } from "./failure.ts";
import { findOrigin } from "./origin.ts";
import { writeJson, type OutputOptions } from "./output.ts";
import type { Terminal } from "./terminal.ts";
import { collectText } from "./text-limit.ts";
import { isWireObject } from "./wire.ts";

/** A server that takes longer is not well. */
const ANSWER_MS_MAX = 3_000;
/** Of what it answers; the answer has 15. */
const ANSWER_BYTES_MAX = 4_000;

interface HealthOptions extends OutputOptions {
  readonly url?: string;
}

/** For a container without a shell and an HTTP client: asks `/healthz`, and says it with the exit code. */
export function addHealthCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("health")
    .description("ask a server whether it is up: exit 0, or 69")
    .option("--url <origin>", "which server (else the one of these settings)", (text) =>
      readOrigin(text, "--url"),
    )
    .option("--json", "print JSON")
    .action(async (options: HealthOptions) => {
      const origin = options.url ?? findBoundOrigin(terminal);
      const isUp = await asksUp(origin);
      if (options.json === true) writeJson(terminal, { status: isUp ? "ok" : "unreachable" });
      else if (isUp) terminal.writeData("ok\n");
      if (!isUp)
        throw new CommandError("unreachable", `${origin} does not say that it is up: is it running?`);
    });
  addExamples(command, ["lockport health", "lockport health --url http://127.0.0.1:4000"]);
}

/** Past a reverse proxy: the address that the server is bound to. */
function findBoundOrigin({ env }: Terminal): string {
  const origin = findOrigin({ ...configWith(env, {}), publicUrl: null });
  if (origin === null)
    throw new CommandError("usage", "PROXY_PORT is 0, any free port: name the server with --url.");
  return origin;
}

async function asksUp(origin: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const response = await fetch(`${origin}/healthz`, { redirect: "manual", signal });
    // Anything may answer 200 there: only this server says it in these words (specification, section 4.1).
    if (response.status !== 200 || response.body === null) return false;
    const name = `The answer of ${origin}`;
    const body: unknown = JSON.parse(await collectText(response.body, { name, bytesMax: ANSWER_BYTES_MAX }));
    return isWireObject(body) && body["status"] === "ok";
  } catch {
    return false;
  }
}
