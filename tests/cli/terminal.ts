import type { Environment } from "#boot/settings/environment.ts";
import { runCli } from "#cli/program.ts";
import { createSystemClock, type Clock } from "#kernel/clock.ts";
import { engineEnvironment } from "../support/engine.ts";
import "../support/loopback.ts";

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
  /** Text that a person types at a prompt; its presence makes the terminal interactive. */
  readonly typed?: string;
  /** True: stdout and stderr are screens. */
  readonly screens?: boolean;
  /** Width of the screen; as wide as it takes where this is not said. */
  readonly columns?: number;
  readonly clock?: Clock;
  /** Ends a command that runs until it is told to. */
  readonly end?: AbortSignal;
  /** Called with each piece of data as it is written. */
  readonly onData?: (text: string) => void;
  /** The same of what is no text. */
  readonly onBytes?: (bytes: Uint8Array) => void;
  /** The same of stderr. */
  readonly onMessage?: (text: string) => void;
}

/** One command line in this process, on a data folder. */
export async function runLocal(
  dataDir: string,
  line: readonly string[],
  input: CliInput = {},
): Promise<CliRun> {
  let data = "";
  let messages = "";
  const type = async (question: string) => {
    messages += question;
    return input.typed ?? "";
  };
  const writeData = (text: string) => {
    data += text;
    input.onData?.(text);
  };
  const isScreen = input.screens === true;
  const code = await runCli(line, {
    env: { PROXY_DATA_DIR: dataDir, ...(await engineEnvironment(dataDir)), ...input.env },
    clock: input.clock ?? createSystemClock(),
    columns: input.columns ?? null,
    interactive: input.typed !== undefined,
    screens: { data: isScreen, messages: isScreen },
    writeData,
    deliverData: async (text) => {
      writeData(text);
      return true;
    },
    writeMessage: (text) => {
      messages += text;
      input.onMessage?.(text);
    },
    writeBytes: async (bytes) => input.onBytes?.(bytes),
    readStdin: async () => input.stdin ?? "",
    ask: type,
    askHidden: type,
    watchEnd: () => input.end ?? new AbortController().signal,
    sayAtInterrupt: () => () => undefined,
  });
  return { code, data, messages };
}
