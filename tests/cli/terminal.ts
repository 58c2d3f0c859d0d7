import type { Environment } from "#boot/config.ts";
import { runCli } from "#cli/program.ts";

export interface CliRun {
  readonly code: number;
  /** stdout. */
  readonly data: string;
  /** stderr. */
  readonly messages: string;
}

export interface CliInput {
  readonly env?: Environment;
  readonly stdin?: string;
  /** What a person types at a hidden prompt; its presence makes the terminal interactive. */
  readonly typed?: string;
}

/** One command line in this process, on a data folder. */
export async function runLocal(
  dataDir: string,
  line: readonly string[],
  input: CliInput = {},
): Promise<CliRun> {
  let data = "";
  let messages = "";
  const code = await runCli(line, {
    env: { PROXY_DATA_DIR: dataDir, ...input.env },
    interactive: input.typed !== undefined,
    writeData: (text) => void (data += text),
    writeMessage: (text) => void (messages += text),
    readStdin: async () => input.stdin ?? "",
    askHidden: async (question) => {
      messages += question;
      return input.typed ?? "";
    },
  });
  return { code, data, messages };
}
