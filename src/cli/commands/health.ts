import { isJsonObject } from "#kernel/json.ts";
import { Option, type Command } from "commander";
import { findListeningUrl } from "#boot/folder/serving-address.ts";
import { addDataDirOption, readOrigin } from "#cli/input/options.ts";
import { addExamples } from "#cli/screen/help.ts";
import { configWith } from "#boot/settings/config.ts";
import { findServerUrl, type InstallationOptions } from "#cli/installation/open.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { writeJson } from "#cli/screen/output.ts";
import { type Terminal, collectText } from "#cli/screen/terminal.ts";

/** A server that takes longer is not well. */
const ANSWER_MS_MAX = 3_000;
/** An answer is 15 bytes long. */
const ANSWER_BYTES_MAX = 4_000;

/** For a container without a shell and an HTTP client: asks `/healthz`, and says it with the exit code. */
export function addCommands(program: Command, terminal: Terminal): void {
  const command = addDataDirOption(
    program.command("health").description("ask a server whether it is up: exit 0, or 69"),
  )
    .addOption(
      new Option("--url <origin>", "which server (else the one of the data folder, or of PROXY_PORT)")
        .argParser((text) => readOrigin(text, "--url"))
        .conflicts("dataDir"),
    )
    .option("--json", "print JSON")
    .action(async (options: InstallationOptions) => {
      const origin = findServerUrl(terminal, options) ?? findServer(terminal, options);
      const isUp = await asksUp(origin);
      if (options.json === true) writeJson(terminal, { status: isUp ? "ok" : "unreachable" });
      else if (isUp) terminal.writeData("ok\n");
      if (!isUp)
        throw new CommandError("unreachable", `${origin} does not say that it is up: is it running?`);
    });
  addExamples(command, ["lockport health", "lockport health --url http://127.0.0.1:4000"]);
}

function findServer({ env }: Terminal, { dataDir }: InstallationOptions): string {
  const config = configWith(env, { PROXY_DATA_DIR: dataDir });
  const url = findListeningUrl(config, env);
  if (url !== null) return url;
  throw new CommandError(
    "usage",
    `No server is known to run from ${config.dataDir}, and PROXY_PORT is 0: name the server with --url.`,
  );
}

async function asksUp(origin: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const response = await fetch(`${origin}/healthz`, { redirect: "manual", signal });
    // Anything may answer 200 there: only this server says it in these words (specification, section 4.1).
    if (response.status !== 200 || response.body === null) return false;
    const name = `The answer of ${origin}`;
    const body: unknown = JSON.parse(await collectText(response.body, { name, bytesMax: ANSWER_BYTES_MAX }));
    return isJsonObject(body) && body["status"] === "ok";
  } catch {
    return false;
  }
}
